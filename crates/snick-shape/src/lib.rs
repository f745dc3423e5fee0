//! Abstract data: intervals, symbolic expressions, shapes and the arithmetic of slicing one axis.
