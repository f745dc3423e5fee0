//! The table of a format: a row an op, with what writes the op and for which layers.

use std::collections::HashMap;

use snick_ir::{Graph, NodeId};
use snick_pass::legalize::is_rounded_formula;
use snick_tensor::ElementType;

use crate::layer::Layer;

/// Element types that an operator of the format lacks, and the wider type that has the same result once it is
/// converted back; `None`: there is none.
pub(crate) type TypeGap = (&'static [ElementType], Option<ElementType>);

/// How the layers of one op are written.
#[derive(Copy, Clone)]
pub(crate) struct OpRow<R> {
    /// The op's type name.
    pub(crate) op: &'static str,
    /// What writes it.
    pub(crate) rule: R,
    floats_only: bool,
    gaps: &'static [TypeGap],
    every_type: bool,
    only: Option<fn(&Layer) -> bool>,
}

impl<R> OpRow<R> {
    /// All layers of the op are written by `rule`.
    pub(crate) const fn new(op: &'static str, rule: R) -> Self {
        Self { op, rule, floats_only: false, gaps: &[], every_type: false, only: None }
    }

    /// The operator takes no integers.
    pub(crate) const fn floats(mut self) -> Self {
        self.floats_only = true;
        self
    }

    /// Element types that the operator lacks.
    #[cfg(feature = "onnx")]
    pub(crate) const fn lacks(mut self, gaps: &'static [TypeGap]) -> Self {
        self.gaps = gaps;
        self
    }

    /// The operator has all element types of the format, also those that others lack: most of these only move elements.
    #[cfg(feature = "onnx")]
    pub(crate) const fn every_type(mut self) -> Self {
        self.every_type = true;
        self
    }

    /// The operator does what only these layers do; others are decomposed.
    pub(crate) const fn only(mut self, is_written: fn(&Layer) -> bool) -> Self {
        self.only = Some(is_written);
        self
    }

    /// `common` are types that all operators lack but those of every type, also where only an input is of them.
    fn gap(&self, layer: &Layer, common: &[TypeGap]) -> Option<Option<ElementType>> {
        let own = layer.node.outs().first()?.fact.element_type;
        let of_row = self.gaps.iter().find(|(types, _)| types.contains(&own));
        let is_of = |types: &[ElementType]| {
            let mut inputs = (0..layer.len()).filter_map(|i| Some(layer.fact(i).ok()?.element_type));
            types.contains(&own) || inputs.any(|input| types.contains(&input))
        };
        let of_all = || common.iter().find(|(types, _)| !self.every_type && is_of(types));
        of_row.or_else(of_all).map(|(_, wide)| *wide)
    }

    fn writes(&self, layer: &Layer, common: &[TypeGap]) -> bool {
        let is_integer = || {
            let element_type = layer.fact(0).map(|fact| fact.element_type);
            element_type.is_ok_and(|one| one.is_integer() || one == ElementType::Boolean)
        };
        self.gap(layer, common).is_none()
            && !(self.floats_only && is_integer())
            && !is_rounded_formula(layer.graph, layer.id)
            && self.only.is_none_or(|is_written| is_written(layer))
            && layer.word("auto_broadcast").is_ok_and(|mode| mode != "pdpd")
    }
}

/// All rows of a format.
pub(crate) struct Table<R: 'static> {
    rows: HashMap<&'static str, &'static OpRow<R>>,
    /// What operators lack unless their row says that they have every type.
    common: &'static [TypeGap],
}

impl<R: Copy> Table<R> {
    pub(crate) fn new(families: &[&'static [OpRow<R>]], common: &'static [TypeGap]) -> Self {
        Self { rows: families.iter().copied().flatten().map(|row| (row.op, row)).collect(), common }
    }

    /// The ops that have a row, sorted.
    #[cfg(feature = "onnx")]
    pub(crate) fn ops(&self) -> Vec<&'static str> {
        let mut ops: Vec<&str> = self.rows.keys().copied().collect();
        ops.sort_unstable();
        ops
    }

    fn row(&self, layer: &Layer) -> Option<&'static OpRow<R>> {
        let op = layer.node.op();
        self.rows.get(op.type_name()).copied().filter(|_| op.is_builtin())
    }

    /// What writes a layer; `None` if the format has no operator for it.
    pub(crate) fn rule(&self, layer: &Layer) -> Option<R> {
        self.row(layer).filter(|row| row.writes(layer, self.common)).map(|row| row.rule)
    }

    /// Whether a layer is written as it is, or as the constant that it computes.
    pub(crate) fn can_write(&self, graph: &Graph, id: NodeId) -> bool {
        Layer::new(graph, id).is_ok_and(|layer| self.rule(&layer).is_some() || layer.is_constant())
    }

    /// The wider element type that a layer must be computed in.
    pub(crate) fn computes_in(&self, graph: &Graph, id: NodeId) -> Option<ElementType> {
        let layer = Layer::new(graph, id).ok()?;
        self.row(&layer)?.gap(&layer, self.common)?
    }
}
