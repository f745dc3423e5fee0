//! Read, infer, canonicalise, run and emit OpenVINO IR models: the library facade and the command line.
