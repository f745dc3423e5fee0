//! Scatters with a reduction, for targets whose scatters only replace elements.

use std::collections::HashSet;

use snick_ir::ops::control::port_map::{PortLink, PortMap};
use snick_ir::ops::control::subgraph::{SubGraph, SubGraphKind};
use snick_ir::ops::movement::scatter_reduction::ScatterReduction;
use snick_ir::ops::{GatherNd, ScatterElementsUpdate, ScatterNdUpdate};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Graph, GraphBuilder, Op, Value, normalize_axis};
use snick_tensor::ElementType;

use super::helpers::{Result, Size, at_run_time, known, known_size, reshape};

pub(crate) const ELEMENTS: Rule =
    Rule::exact("decompose-scatter-elements", elements).may_round_within(1e-5, 0.0);
pub(crate) const ND: Rule = Rule::exact("decompose-scatter-nd", nd).may_round_within(1e-5, 0.0);

/// Adds one update after the other, because several may have the same place.
fn nd(p: &mut Patch) -> Result<RewriteResult> {
    let Op::ScatterNdUpdate(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let (data, mut indices, mut updates) = (p.input(0)?, p.input(1)?, p.input(2)?);
    if op.reduction == ScatterReduction::None || p.element_type(data)? == ElementType::Boolean {
        return Ok(RewriteResult::NoMatch);
    }
    let behind = p.rank(indices)?.saturating_sub(1);
    let Some(tuple) = known_size(p, indices, behind)? else { return Ok(at_run_time("the size of indices")) };
    let is_distinct = p.constant_value(indices).is_some_and(|tensor| {
        let mut places = HashSet::new();
        let numbers = tensor.to_i64_vec().unwrap_or_default();
        numbers.chunks(usize::try_from(tuple).unwrap_or(0).max(1)).all(|place| places.insert(place))
    });
    if behind != 1 && !is_distinct {
        indices = p.reshape(indices, &[-1, tuple])?;
        let sizes = (behind..p.rank(updates)?).map(Size::of);
        updates = reshape(p, updates, &[Size::Known(-1)].into_iter().chain(sizes).collect::<Vec<_>>())?;
    }
    let scatter = Scatter { place: Place::Tuples, reduction: op.reduction };
    scatter.build(p, [data, indices, updates], is_distinct)
}

/// Visits the positions along the axis one after the other. At one position, no two updates have the same place.
fn elements(p: &mut Patch) -> Result<RewriteResult> {
    let Op::ScatterElementsUpdate(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let (mut data, indices, updates) = (p.input(0)?, p.input(1)?, p.input(2)?);
    let own = p.element_type(data)?;
    if op.reduction == ScatterReduction::None || own == ElementType::Boolean {
        return Ok(RewriteResult::NoMatch);
    }
    let Some(axis) = known(p, 3)?.and_then(|axes| axes.first().copied()) else {
        return Ok(at_run_time("the axis"));
    };
    let axis = normalize_axis(axis, p.rank(data)?)?;
    if op.reduction == ScatterReduction::Mean {
        return match own.is_float() {
            true => mean(p, &op),
            false => Ok(RewriteResult::declined("means of integers")),
        };
    }
    if let (Some(mut sizes), Some(mut of_indices)) = (p.dims(data)?, p.dims(indices)?) {
        sizes.remove(axis);
        of_indices.remove(axis);
        if sizes != of_indices {
            return Ok(RewriteResult::declined("indices of other sizes than the data"));
        }
    }
    if !op.use_init_val {
        let first = match op.reduction {
            ScatterReduction::Prod => 1.0,
            ScatterReduction::Min if own.is_float() => f64::INFINITY,
            ScatterReduction::Max if own.is_float() => f64::NEG_INFINITY,
            ScatterReduction::Min | ScatterReduction::Max => {
                return Ok(RewriteResult::declined("use_init_val=false for integers"));
            }
            _ => -0.0,
        };
        let first = p.broadcast_to(p.scalar_like(data, first)?, p.shape_of(indices)?)?;
        data = p.scatter_elements(data, indices, first, axis as i64)?;
    }
    let size = p.size_of(p.input(0)?, axis as i64)?;
    let size = p.convert(size, p.element_type(indices)?)?;
    let from_start = p.select(p.less(indices, 0.0)?, p.add(indices, size)?, indices)?;
    let scatter = Scatter { place: Place::Axis(axis), reduction: op.reduction };
    scatter.build(p, [data, from_start, updates], false)
}

/// Divides the sum of the updates by their number.
fn mean(p: &mut Patch, op: &ScatterElementsUpdate) -> Result<RewriteResult> {
    let [data, indices, updates, axis] = [p.input(0)?, p.input(1)?, p.input(2)?, p.input(3)?];
    let sum = ScatterElementsUpdate { reduction: ScatterReduction::Sum, ..op.clone() };
    let filled = |like: Value, with: bool| {
        p.broadcast_to(p.scalar_like(data, f64::from(u8::from(with)))?, p.shape_of(like)?)
    };
    let count = ScatterElementsUpdate { use_init_val: true, ..sum.clone() };
    let count = p.add_op(count, &[filled(data, op.use_init_val)?, indices, filled(updates, true)?, axis])?;
    let sum = p.add_op(sum, &[data, indices, updates, axis])?;
    p.divide(sum, p.maximum(count, 1.0)?).map(RewriteResult::one)
}

/// What an update replaces.
#[derive(Copy, Clone)]
enum Place {
    /// The slice that a row of indices names.
    Tuples,
    /// An element, by its position on this axis.
    Axis(usize),
}

struct Scatter {
    place: Place,
    reduction: ScatterReduction,
}

impl Scatter {
    /// Combines `inputs`, which are data, indices and updates, at once if all places are known to be distinct,
    /// and else in a TensorIterator.
    fn build(&self, p: &mut Patch, inputs: [Value; 3], is_distinct: bool) -> Result<RewriteResult> {
        let [data, indices, updates] = inputs;
        let own = p.element_type(data)?;
        let wide = if own.is_half() { ElementType::F32 } else { own };
        let (data, updates) = (p.convert(data, wide)?, p.convert(updates, wide)?);
        let axis = match self.place {
            Place::Tuples => 0,
            Place::Axis(axis) => axis,
        };
        let count = p.dims(indices)?.map(|dims| p.interval(&dims[axis]));
        let y = match is_distinct || count.is_some_and(|count| count.hi() == 1 && count.lo() == 1) {
            true => self.step(p, data, indices, updates, None)?,
            false => {
                self.iterate(p, axis, [data, indices, updates], count.is_none_or(|count| count.lo() < 1))?
            }
        };
        p.convert(y, own).map(RewriteResult::one)
    }

    /// Combines the updates at distinct places with the data. Where `is_update` is false, the data stays.
    fn step(
        &self,
        b: &GraphBuilder,
        data: Value,
        indices: Value,
        updates: Value,
        is_update: Option<Value>,
    ) -> Result<Value> {
        let old = match self.place {
            Place::Tuples => b.add_op(GatherNd { batch_dims: 0, flattens_batch: false }, &[data, indices])?,
            Place::Axis(axis) => b.gather_elements(data, indices, axis as i64)?,
        };
        let mut new = match self.reduction {
            ScatterReduction::Sub => b.subtract(old, updates)?,
            ScatterReduction::Prod => b.multiply(old, updates)?,
            ScatterReduction::Min => b.minimum(old, updates)?,
            ScatterReduction::Max => b.maximum(old, updates)?,
            _ => b.add(old, updates)?,
        };
        if let Some(is_update) = is_update {
            new = b.select(is_update, new, old)?;
        }
        match self.place {
            Place::Tuples => b.add_op(ScatterNdUpdate::default(), &[data, indices, new]),
            Place::Axis(axis) => b.scatter_elements(data, indices, new, axis as i64),
        }
    }

    /// A loop over an axis of the indices and updates. A TensorIterator needs at least one iteration, so one
    /// without effect precedes the others if there may be none.
    fn iterate(&self, p: &mut Patch, axis: usize, inputs: [Value; 3], may_be_empty: bool) -> Result<Value> {
        let [data, mut indices, mut updates] = inputs;
        let mut cut = Vec::new();
        if may_be_empty {
            let size = p.size_of(indices, axis as i64)?;
            cut.push((p.greater(p.count_to(p.add(size, 1)?)?, 0.0)?, 0));
            for value in [&mut indices, &mut updates] {
                let (rank, none) = (p.rank(*value)?, p.scalar_like(*value, 0.0)?);
                let begin: Vec<i64> = (0..rank).map(|i| i64::from(i == axis)).collect();
                *value = p.pad(*value, &begin, &vec![0; rank], none)?;
            }
        }
        cut.extend([(indices, axis), (updates, axis)]);
        let first = cut.len();
        let mut body = Graph::new("body");
        body.source = p.source();
        let b = GraphBuilder::on(&mut body);
        let mut inside = Vec::new();
        for (i, (value, axis)) in
            cut.iter().map(|&(value, axis)| (value, Some(axis))).chain([(data, None)]).enumerate()
        {
            let size = |at: usize| known_size(p, value, at);
            let mut shape = Vec::new();
            for at in 0..p.rank(value)? {
                let size = if axis == Some(at) { Some(1) } else { size(at)? };
                shape.push(size.map_or("?".into(), |size| size.to_string()));
            }
            inside.push(b.parameter(&i.to_string(), p.element_type(value)?, &shape.join(","))?);
        }
        let is_update = may_be_empty.then(|| inside[0]);
        let y = self.step(&b, inside[first], inside[first - 2], inside[first - 1], is_update)?;
        b.result("result", y)?;
        drop(b);
        let cuts = cut.iter().enumerate().map(|(i, &(_, axis))| PortLink::each(i, i, axis as i64));
        let map = PortMap {
            inputs: cuts.chain([PortLink::whole(first, first)]).collect(),
            outputs: vec![PortLink::whole(0, 0)],
            back_edges: vec![(0, first)],
        };
        let op = SubGraph::new(SubGraphKind::TensorIterator, vec![body], vec![map])?;
        let inputs: Vec<Value> = cut.into_iter().map(|(value, _)| value).chain([data]).collect();
        p.add_op(op, &inputs)
    }
}
