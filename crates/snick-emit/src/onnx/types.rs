//! Element types that operators of ONNX do not have.

use snick_ir::OpError;
use snick_tensor::ElementType::{self, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

/// Ops, the types that an operator they are written with does not have in operator set 21, and the one to compute in
/// instead: it gives the same once it is brought back. Where there is none, ONNX cannot say it.
type TypeGap = (&'static [&'static str], &'static [ElementType], Option<ElementType>);

const TYPE_GAPS: &[TypeGap] = &[
    (
        &["Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Round", "Sin", "Sinh", "Tan"],
        &[BF16],
        Some(F32),
    ),
    // HSwish is HardSwish, and HSigmoid HardSigmoid.
    (
        &["Elu", "HSigmoid", "HSwish", "HardSigmoid", "Mish", "Selu", "SoftPlus", "SoftSign"],
        &[BF16],
        Some(F32),
    ),
    (
        &["AvgPool", "Einsum", "GridSample", "MaxPool", "ROIAlign", "ROIPooling", "ReverseSequence", "TopK"],
        &[BF16],
        Some(F32),
    ),
    (CONVOLUTIONS, &[BF16], Some(F32)),
    (RECURRENT, &[BF16], Some(F32)),
    // Those of integers round, or wrap, in ways of their own.
    (CONVOLUTIONS, INTEGERS, None),
    (RECURRENT, INTEGERS, None),
    (&["AvgPool", "GroupNormalization"], INTEGERS, None),
    (&["MaxPool"], &[I16, U16, I32], Some(F64)),
    (&["MaxPool"], &[I64, U32, U64], None),
    (&["CumSum", "MatMul", "Power"], &[I8, U8, I16, U16], Some(I32)),
    (&["Power"], &[U32, U64], Some(I64)),
    (&["EmbeddingBagPacked", "EmbeddingBagPackedSum"], &[I8, U8, I16, U16], Some(I32)),
    (&["ReduceL1", "ReduceL2", "ReduceMean", "ReduceProd", "ReduceSum"], &[I8, U8, I16, U16], Some(I32)),
    (&["ReduceMax", "ReduceMin"], &[I16, U16], Some(I32)),
];

const CONVOLUTIONS: &[&str] =
    &["Convolution", "ConvolutionBackpropData", "GroupConvolution", "GroupConvolutionBackpropData"];

const RECURRENT: &[&str] = &["GRUCell", "GRUSequence", "LSTMCell", "LSTMSequence", "RNNCell", "RNNSequence"];

const INTEGERS: &[ElementType] = &[I8, U8, I16, U16, I32, U32, I64, U64];

/// The type to compute an op in whose first output is of type `own`, if its operator has no such type.
///
/// # Errors
/// ONNX has no operator for it, of this type or a wider one.
pub(super) fn wider(op: &str, own: ElementType) -> Result<Option<ElementType>, OpError> {
    match TYPE_GAPS.iter().find(|(ops, types, _)| ops.contains(&op) && types.contains(&own)) {
        None => Ok(None),
        Some((_, _, Some(wide))) => Ok(Some(*wide)),
        Some((_, _, None)) => Err(OpError::unsupported(format!("`{op}` of {own} in ONNX"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_integers_are_summed_in_larger_ones() {
        assert_eq!(wider("ReduceSum", I8), Ok(Some(I32)));
        assert_eq!(wider("ReduceSum", I64), Ok(None));
        assert_eq!(wider("Cos", BF16), Ok(Some(F32)));
        assert_eq!(wider("Add", BF16), Ok(None));
        assert!(wider("LSTMCell", I32).is_err());
    }

    #[test]
    fn an_op_of_a_type_has_one_row() {
        let pairs = |(ops, types, _): &TypeGap| -> Vec<_> {
            ops.iter().flat_map(|op| types.iter().map(move |et| (*op, *et))).collect()
        };
        let mut all: Vec<_> = TYPE_GAPS.iter().flat_map(pairs).collect();
        let rows = all.len();
        all.sort_unstable_by_key(|(op, et)| (*op, et.name()));
        all.dedup();
        assert_eq!(all.len(), rows);
    }
}
