//! Graph to better graph: the canonical pipeline.
