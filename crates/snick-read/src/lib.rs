//! Bytes to graph: OpenVINO IR and the other formats snick reads.
