//! The graph IR: ops, facts, inference, text form and rewriting.
