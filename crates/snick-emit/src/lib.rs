//! Graph to file formats.
