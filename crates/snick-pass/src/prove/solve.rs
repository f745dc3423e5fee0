//! Decides whether integer inequalities contradict each other.
