//! Graph and inputs to outputs: the interpreter.
