//! The integration tests of the workspace.
