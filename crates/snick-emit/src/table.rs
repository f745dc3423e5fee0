//! A row of a format's table: the function that writes an operation, and the layers that it covers.

use snick_ir::ops::{Arithmetic, AutoBroadcast, Bitwise, Compare, FakeQuantize, Logical, Select, Xor};
use snick_ir::{Op, OpError};
use snick_pass::legalize::is_rounded_formula;
use snick_tensor::ElementType;

use crate::layer::Layer;

/// Element types that an operator of the format lacks, and a wider type. Computing in the wider type and
/// converting the result back is equivalent to computing in the original type. `None` if there is no such
/// wider type.
pub(crate) type TypeGap = (&'static [ElementType], Option<ElementType>);

/// Writes a layer with the emitter `E`.
type Write<'g, E> = Box<dyn FnOnce(&mut E) -> Result<(), OpError> + 'g>;

/// How a format expresses an operation.
pub(crate) struct OpRow<'g, E> {
    pub(crate) write: Write<'g, E>,
    floats_only: bool,
    gaps: &'static [TypeGap],
    every_type: bool,
    only: Box<dyn Fn(&Layer) -> bool + 'g>,
}

impl<'g, E> OpRow<'g, E> {
    /// A row that writes all layers of the operation with `write`.
    pub(crate) fn new(write: impl FnOnce(&mut E) -> Result<(), OpError> + 'g) -> Self {
        let only = Box::new(|_: &Layer| true);
        Self { write: Box::new(write), floats_only: false, gaps: &[], every_type: false, only }
    }

    /// Restricts the row to floats.
    pub(crate) fn floats(mut self) -> Self {
        self.floats_only = true;
        self
    }

    /// Declares the element types that the operator does not support.
    #[cfg(feature = "onnx")]
    pub(crate) fn lacks(mut self, gaps: &'static [TypeGap]) -> Self {
        self.gaps = gaps;
        self
    }

    /// Marks the operator as accepting all element types of the format, even those that most other operators
    /// lack (the `common` gaps in [`OpRow::gap`]). Most of these operators only move elements.
    #[cfg(feature = "onnx")]
    pub(crate) fn every_type(mut self) -> Self {
        self.every_type = true;
        self
    }

    /// Whether the operator accepts all element types of the format.
    #[cfg(feature = "onnx")]
    pub(crate) fn moves(&self) -> bool {
        self.every_type
    }

    /// Restricts the row to the layers for which `is_written` holds; all others are decomposed.
    pub(crate) fn only(mut self, is_written: impl Fn(&Layer) -> bool + 'g) -> Self {
        self.only = Box::new(is_written);
        self
    }

    /// The wider type in which to compute a layer if the operator lacks one of its types. The result is
    /// `None` if the operator lacks no type, and `Some(None)` if it lacks a type and no wider type works. The
    /// `common` gaps apply to the output and all inputs, unless the operator accepts every type.
    pub(crate) fn gap(&self, layer: &Layer, common: &[TypeGap]) -> Option<Option<ElementType>> {
        let own = layer.node.outs().first()?.fact.element_type;
        let of_row = self.gaps.iter().find(|(types, _)| types.contains(&own));
        let is_of = |types: &[ElementType]| {
            let mut inputs = (0..layer.len()).filter_map(|i| Some(layer.fact(i).ok()?.element_type));
            types.contains(&own) || inputs.any(|input| types.contains(&input))
        };
        let of_all = || common.iter().find(|(types, _)| !self.every_type && is_of(types));
        of_row.or_else(of_all).map(|(_, wide)| *wide)
    }

    /// Whether the operator can express a layer.
    pub(crate) fn writes(&self, layer: &Layer, common: &[TypeGap]) -> bool {
        let is_integer = || {
            let element_type = layer.fact(0).map(|fact| fact.element_type);
            element_type.is_ok_and(|one| one.is_integer() || one == ElementType::Boolean)
        };
        self.gap(layer, common).is_none()
            && !(self.floats_only && is_integer())
            && !is_rounded_formula(layer.graph, layer.id)
            && (self.only)(layer)
            && !is_pdpd(layer.node.op())
    }
}

/// Whether the operation uses broadcast mode `pdpd`, which no format supports.
fn is_pdpd(op: &Op) -> bool {
    let (Op::Arithmetic(Arithmetic { broadcast, .. })
    | Op::Bitwise(Bitwise { broadcast, .. })
    | Op::Compare(Compare { broadcast, .. })
    | Op::FakeQuantize(FakeQuantize { broadcast, .. })
    | Op::Logical(Logical { broadcast, .. })
    | Op::Select(Select { broadcast, .. })
    | Op::Xor(Xor { broadcast, .. })) = op
    else {
        return false;
    };
    matches!(broadcast, AutoBroadcast::Pdpd { .. })
}
