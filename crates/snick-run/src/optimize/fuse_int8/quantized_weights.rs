//! Finds quantized weights: constant codes, and the layers that unpack them.

use snick_ir::ops::elementwise::auto_broadcast::AutoBroadcast;
use snick_ir::ops::source::constant::Constant;
use snick_ir::{Graph, NodeId, Op, Value};
use snick_tensor::Tensor;
use snick_tensor::kernels::{BinaryOp, QuantizedFilters, Unpacking};

use crate::half_precision::HalfPrecision;
use crate::optimize::constant_values::ConstantValues;

/// The quantized weights of a convolution.
pub(super) struct QuantizedWeights {
    pub codes: Tensor,
    form: OwnedUnpacking,
    /// The layers that unpack the codes.
    pub layers: Vec<NodeId>,
}

/// An [`Unpacking`] that owns its tensors.
#[expect(clippy::large_enum_variant, reason = "there is one, while a convolution is made")]
enum OwnedUnpacking {
    Scale { zeros: Option<Tensor>, scales: Tensor },
    Quantize { ranges: [Tensor; 4], levels: usize },
}

impl QuantizedWeights {
    /// Finds the quantized weights from which a value is unpacked: by a `Convert`, optionally a `Subtract`,
    /// and a `Multiply`; or by a `Convert` and a `FakeQuantize`. A `Reshape` and a `Convert` may follow.
    pub(super) fn of(
        value: Value,
        graph: &Graph,
        constants: &ConstantValues,
        half_precision: &HalfPrecision,
    ) -> Option<Self> {
        let op = |node: NodeId| graph.node(node).op();
        let input = |node: NodeId| Some(graph.node(node).input(0)?.node);
        let dims = graph.fact(value)?.shape.as_static()?;
        let (mut layers, mut at) = (Vec::new(), value.node);
        while matches!(op(at), Op::Convert(_) | Op::Reshape(_)) && layers.len() < 2 {
            layers.push(at);
            at = input(at)?;
        }
        layers.push(at);
        let form = match op(at) {
            Op::FakeQuantize(op) if op.broadcast == AutoBroadcast::Numpy => {
                let levels = usize::try_from(op.levels).ok()?;
                OwnedUnpacking::Quantize { ranges: constants.ranges(at, &mut layers)?, levels }
            }
            Op::Arithmetic(scaling) if scaling.function == BinaryOp::Mul => {
                let scales = constants.floats(at, 1, &mut layers)?;
                let mut zeros = None;
                let before = input(at)?;
                if matches!(op(before), Op::Arithmetic(op) if op.function == BinaryOp::Sub) {
                    at = before;
                    layers.push(at);
                    zeros = Some(constants.floats(at, 1, &mut layers)?);
                }
                OwnedUnpacking::Scale { zeros, scales }
            }
            _ => return None,
        };
        at = input(at)?;
        let is_float =
            matches!(op(at), Op::Convert(op) if half_precision.computes_in_f32(op.destination_type));
        let source = input(at)?;
        let Op::Const(Constant::Here(codes)) = op(source) else { return None };
        // Requires one number for all filters, or one per filter. A tensor of lower rank is rejected even if
        // its length equals the number of filters, because broadcasting would align it with the last axes.
        let is_by_filter = |tensor: &Tensor| tensor.len() == 1 || tensor.rank() == codes.rank();
        if !is_float || !form.tensors().all(is_by_filter) {
            return None;
        }
        layers.extend([at, source]);
        Some(QuantizedWeights { codes: codes.reshape(&dims).ok()?, form, layers })
    }

    /// Weights `[K, N]` as `[N, K]`.
    pub(super) fn transposed(self) -> Option<Self> {
        let transposed = |tensor: Tensor| match tensor.len() {
            1 => Some(tensor),
            _ => Some(tensor.permute(&[1, 0]).ok()?.contiguous()),
        };
        let form = match self.form {
            OwnedUnpacking::Scale { zeros, scales } => OwnedUnpacking::Scale {
                zeros: match zeros {
                    Some(zeros) => Some(transposed(zeros)?),
                    None => None,
                },
                scales: transposed(scales)?,
            },
            OwnedUnpacking::Quantize { ranges: [a, b, c, d], levels } => OwnedUnpacking::Quantize {
                ranges: [transposed(a)?, transposed(b)?, transposed(c)?, transposed(d)?],
                levels,
            },
        };
        Some(QuantizedWeights { codes: transposed(self.codes)?, form, layers: self.layers })
    }

    /// The weights as the filters of a convolution or the transposed right side of a product.
    pub(super) fn filters(&self) -> QuantizedFilters<'_> {
        let unpacking = match &self.form {
            OwnedUnpacking::Scale { zeros, scales } => Unpacking::Scale { zeros: zeros.as_ref(), scales },
            OwnedUnpacking::Quantize { ranges, levels } => {
                Unpacking::Quantize { ranges: ranges.each_ref(), levels: *levels }
            }
        };
        QuantizedFilters { codes: &self.codes, unpacking }
    }
}

impl OwnedUnpacking {
    fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        match self {
            Self::Scale { zeros, scales } => zeros.iter().chain(std::slice::from_ref(scales)),
            Self::Quantize { ranges, .. } => None.iter().chain(ranges.as_slice()),
        }
    }
}
