//! Element types that operators of ONNX do not have.

use snick_tensor::ElementType::{self, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

/// Ops whose operators have no bf16 in operator set 21.
const WITHOUT_BF16: &[&str] = &[
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "AvgPool",
    "Convolution",
    "ConvolutionBackpropData",
    "Cos",
    "Cosh",
    "Elu",
    "GRUCell",
    "GRUSequence",
    "GridSample",
    "GroupConvolution",
    "GroupConvolutionBackpropData",
    "HSigmoid",
    "HSwish",
    "HardSigmoid",
    "LSTMCell",
    "LSTMSequence",
    "MaxPool",
    "Mish",
    "RNNCell",
    "RNNSequence",
    "ROIAlign",
    "ROIPooling",
    "Round",
    "Selu",
    "Sin",
    "Sinh",
    "SoftPlus",
    "SoftSign",
    "Tan",
];

/// The type that an op whose first output is of type `own` is written in, if its operator has no such type: one that
/// gives the same once it is brought back.
pub(super) fn wider(op: &str, own: ElementType) -> Option<ElementType> {
    match (op, own) {
        (_, BF16) => WITHOUT_BF16.contains(&op).then_some(F32),
        ("CumSum" | "MatMul", I8 | U8 | I16 | U16) => Some(I32),
        ("Power", I8 | U8 | I16 | U16) => Some(I32),
        ("Power", U32 | U64) => Some(I64),
        ("MaxPool", I16 | U16 | I32) => Some(F64),
        ("ReduceL1" | "ReduceL2" | "ReduceMean" | "ReduceProd" | "ReduceSum", I8 | U8 | I16 | U16)
        | ("ReduceMax" | "ReduceMin", I16 | U16) => Some(I32),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_integers_are_summed_in_larger_ones() {
        assert_eq!(wider("ReduceSum", I8), Some(I32));
        assert_eq!(wider("ReduceSum", I64), None);
        assert_eq!(wider("Cos", BF16), Some(F32));
        assert_eq!(wider("Add", BF16), None);
        assert!(WITHOUT_BF16.is_sorted());
    }
}
