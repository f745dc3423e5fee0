//! The `slice` primitive in ops that OpenVINO has: Slice-8, or StridedSlice-1.
//!
//! A slice by `bounds` is written with the range that those clamp, for the op clamps it likewise. Where a number is
//! computed in another way and known at run time only, the elements are taken in ascending order, and what was
//! descending is turned round by a second slice of the whole axis: the runtime's shape inference is wrong for
//! `start:stop:step` with a negative step and a stop that it does not know (`0:stop:-3` gives no element, whatever
//! the stop).

mod ascending;
mod guard;
mod range;

use std::sync::Arc;

use snick_ir::ops::slice::dyn_axis_slice::DynAxisSlice;
use snick_ir::ops::slice::primitive::{Axis, Part, Slice};
use snick_ir::ops::slice::scalar::Scalar;
use snick_ir::ops::source::constant::Constant;
use snick_ir::rewrite::{self, RewriteOptions, RewriteResult, Rule};
use snick_ir::{AttrValue, Attrs, Graph, Located, Node, NodeId, Op, OpDef, OpError, RawNode, Value, Version};
use snick_tensor::Tensor;

use self::range::SliceRange;

/// The op that a primitive is written as.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum SliceAs {
    /// Slice-8, but StridedSlice-1 for a bound of which nothing is known before the graph runs: there the runtime
    /// infers more of StridedSlice.
    #[default]
    Either,
    /// Slice-8: names the axes it slices.
    Slice,
    /// StridedSlice-1, of opset1: for readers that are older than opset8.
    StridedSlice,
}

/// The graph with every primitive replaced, bodies included.
pub(crate) fn legalise(graph: &Graph, slice_as: SliceAs) -> Result<Graph, Box<Located>> {
    let mut graph = graph.clone();
    replace_all(&mut graph, slice_as)?;
    Ok(graph)
}

fn replace_all(graph: &mut Graph, slice_as: SliceAs) -> Result<(), Box<Located>> {
    let mut result = Ok(());
    graph.for_each_body(|body| {
        if result.is_ok() {
            result = replace_all(body, slice_as);
        }
    });
    result?;
    let primitives: Vec<(NodeId, Slice)> = graph
        .ids()
        .filter_map(|id| match &graph.node(id).op {
            Op::Slice(slice) => Some((id, (**slice).clone())),
            _ => None,
        })
        .collect();
    if primitives.is_empty() {
        return Ok(());
    }
    for (id, slice) in primitives {
        let replaced = SliceReplacer { graph, root: id, slice_as }.replace(&slice);
        replaced.map_err(|error| graph.located(id, error))?;
    }
    graph.remove_dead_nodes();
    let trace = rewrite::apply(graph, &[BOUNDS], RewriteOptions::default());
    graph.remove_dead_nodes();
    trace.complete()
}

/// The `bounds` that are still read, as arithmetic.
const BOUNDS: Rule = Rule::exact("lower-bounds", |patch| match patch.node().op {
    Op::Bounds(bounds) => bounds.lower(patch),
    _ => Ok(RewriteResult::NoMatch),
});

/// What replaces one primitive: an op for each list of ranges, in this order, and then the pins. The lists are apart by
/// what is known of the numbers before the graph runs: in one list an unknown number hides those that are known.
#[derive(Default)]
struct Steps {
    /// All numbers known.
    known: Vec<SliceRange>,
    /// As the model had them, some numbers given when it runs.
    as_read: Vec<SliceRange>,
    /// By arithmetic, ascending.
    computed: Vec<SliceRange>,
    /// What was descending, turned round.
    turned: Vec<SliceRange>,
    /// Cut to the most that a computed length can be.
    capped: Vec<SliceRange>,
    /// Sizes that axes have to have in the end.
    size_asserts: Vec<(usize, i64)>,
}

/// Builds what replaces one primitive.
struct SliceReplacer<'g> {
    graph: &'g mut Graph,
    root: NodeId,
    slice_as: SliceAs,
}

impl SliceReplacer<'_> {
    fn replace(mut self, slice: &Slice) -> Result<(), OpError> {
        let inputs: Option<Vec<Value>> = self.graph.inputs(self.root).into_iter().collect();
        let mut inputs = inputs.ok_or(OpError::NotConnected { port: 0 })?.into_iter();
        let data = inputs.next().ok_or(OpError::NotConnected { port: 0 })?;
        let mut steps = Steps::default();
        for axis in &slice.axes {
            let cut = DynAxisSlice::of(axis, &mut inputs).ok_or(OpError::NotConnected { port: 1 })?;
            let as_it_was = SliceRange::of_bounds(self.graph, data, axis.axis, &cut)?;
            if let Some(range) = as_it_was.filter(|r| r.has_numbers() || self.slice_as != SliceAs::Slice) {
                let list = if range.is_known() { &mut steps.known } else { &mut steps.as_read };
                list.push(range);
                continue;
            }
            // The ops take what there is; the primitive fails where its elements are not all there.
            if let (Part::Static(len @ 1..), false) = (axis.len, self.is_within(data, axis)) {
                steps.size_asserts.push((axis.axis, len));
            }
            if let Some(range) = SliceRange::fixed(axis.axis, &cut) {
                steps.known.push(range);
                continue;
            }
            let (range, turn) = self.ascending(axis, &cut)?;
            steps.computed.push(range);
            steps.turned.extend(turn);
            steps.capped.extend(self.cap(data, axis));
        }
        let mut sliced = data;
        for ranges in [steps.known, steps.as_read, steps.computed, steps.turned, steps.capped] {
            if !ranges.is_empty() {
                sliced = self.slice(sliced, &ranges)?;
            }
        }
        if !steps.size_asserts.is_empty() {
            sliced = self.pinned(sliced, &steps.size_asserts)?;
        }
        if sliced == data {
            // The layer keeps its name, and so does what it reads.
            sliced = self.slice(data, &[])?;
        }
        self.commit(sliced);
        Ok(())
    }

    /// The most elements that a computed length can be, as a range, where the runtime would not know it of the data.
    fn cap(&self, data: Value, axis: &Axis) -> Option<SliceRange> {
        let Part::Operand(lens) = axis.len else { return None };
        let dim = self.graph.fact(data)?.shape.dims()?.get(axis.axis)?;
        let most = lens.has_upper().then_some(lens.hi())?;
        let says_more = most < self.graph.symbols().interval(dim).hi();
        let stop = Some(Scalar::Number(most));
        says_more.then_some(SliceRange { axis: axis.axis, start: None, stop, step: Scalar::Number(1) })
    }

    /// Whether every size that the axis may have holds the elements of a static slice.
    fn is_within(&self, data: Value, axis: &Axis) -> bool {
        let Some(slice) = axis.as_static() else { return false };
        let last = slice.start.saturating_add((slice.len - 1).max(0).saturating_mul(slice.step));
        let dim = self.graph.fact(data).and_then(|fact| fact.shape.dims()?.get(axis.axis));
        dim.is_some_and(|dim| slice.start.max(last) < self.graph.symbols().interval(dim).lo())
            || slice.len == 0
    }

    /// The same, with these sizes of axes written down: another size fails when the graph runs.
    fn pinned(&mut self, value: Value, size_asserts: &[(usize, i64)]) -> Result<Value, OpError> {
        let Some(rank) = self.graph.fact(value).and_then(|fact| fact.shape.rank()) else { return Ok(value) };
        let size = |axis: usize| size_asserts.iter().find(|pin| pin.0 == axis).map_or(0, |pin| pin.1);
        let sizes = self.constant(&[rank], (0..rank).map(size).collect())?;
        self.add("Reshape", 1, Attrs::new().with("special_zero", true), &[value, sizes])
    }

    fn choose(&mut self, condition: Value, yes: Scalar, no: Scalar) -> Result<Scalar, OpError> {
        let (yes, no) = (self.value(yes)?, self.value(no)?);
        Ok(Scalar::Value(self.add("Select", 1, Attrs::new(), &[condition, yes, no])?))
    }

    /// An elementwise op, unless both numbers are known or nothing changes.
    fn arithmetic(&mut self, op: &str, a: Scalar, b: Scalar) -> Result<Scalar, OpError> {
        let known = match (op, a, b) {
            ("Add", Scalar::Number(a), Scalar::Number(b)) => a.checked_add(b),
            ("Subtract", Scalar::Number(a), Scalar::Number(b)) => a.checked_sub(b),
            ("Multiply", Scalar::Number(a), Scalar::Number(b)) => a.checked_mul(b),
            ("Add", other, Scalar::Number(0)) | ("Multiply", other, Scalar::Number(1)) => return Ok(other),
            ("Add", Scalar::Number(0), other) | ("Multiply", Scalar::Number(1), other) => return Ok(other),
            _ => None,
        };
        if let Some(known) = known {
            return Ok(Scalar::Number(known));
        }
        let (a, b) = (self.value(a)?, self.value(b)?);
        Ok(Scalar::Value(self.add(op, 1, Attrs::new(), &[a, b])?))
    }

    fn value(&mut self, number: Scalar) -> Result<Value, OpError> {
        match number {
            Scalar::Number(known) => self.constant(&[], vec![known]),
            Scalar::Value(value) => Ok(value),
        }
    }

    /// One op for ranges of ascending axes.
    fn slice(&mut self, data: Value, ranges: &[SliceRange]) -> Result<Value, OpError> {
        let is_unknown =
            |range: &SliceRange| range.numbers().any(|number| range::is_unknown(self.graph, number));
        // An unknown step hides those of the axes before it, which StridedSlice has to name.
        let names_no_others = || ranges.iter().enumerate().all(|(i, range)| range.axis == i);
        let steps_are_known = || ranges.iter().all(|range| range.step.known().is_some());
        let is_tighter = ranges.iter().any(is_unknown) && (steps_are_known() || names_no_others());
        match self.slice_as {
            SliceAs::StridedSlice => self.strided_slice(data, ranges),
            SliceAs::Either if is_tighter => self.strided_slice(data, ranges),
            SliceAs::Either | SliceAs::Slice => self.slice8(data, ranges),
        }
    }

    fn slice8(&mut self, data: Value, ranges: &[SliceRange]) -> Result<Value, OpError> {
        let starts = self.vector(ranges.iter().map(|range| range.start.unwrap_or(range.first())))?;
        let stops = self.vector(ranges.iter().map(|range| range.stop.unwrap_or(range.last())))?;
        let steps = self.vector(ranges.iter().map(|range| range.step))?;
        let axes = self.vector(ranges.iter().map(|range| Scalar::Number(range.axis as i64)))?;
        self.add("Slice", 8, Attrs::new(), &[data, starts, stops, steps, axes])
    }

    fn strided_slice(&mut self, data: Value, ranges: &[SliceRange]) -> Result<Value, OpError> {
        let places = ranges.last().map_or(0, |range| range.axis + 1);
        let at = |axis: usize| ranges.iter().find(|range| range.axis == axis);
        let zero = Scalar::Number(0);
        let begin = (0..places).map(|axis| at(axis).and_then(|range| range.start).unwrap_or(zero));
        let end = (0..places).map(|axis| at(axis).and_then(|range| range.stop).unwrap_or(zero));
        let strides = (0..places).map(|axis| at(axis).map_or(Scalar::Number(1), |range| range.step));
        let operands = [data, self.vector(begin)?, self.vector(end)?, self.vector(strides)?];
        let mask = |bit: &dyn Fn(Option<&SliceRange>) -> bool| {
            AttrValue::Ints((0..places).map(|axis| i64::from(bit(at(axis)))).collect())
        };
        let attrs = Attrs::new()
            .with("begin_mask", mask(&|range| range.is_none_or(|range| range.start.is_none())))
            .with("end_mask", mask(&|range| range.is_none_or(|range| range.stop.is_none())))
            .with("new_axis_mask", mask(&|_| false))
            .with("shrink_axis_mask", mask(&|_| false))
            .with("ellipsis_mask", mask(&|_| false));
        self.add("StridedSlice", 1, attrs, &operands)
    }

    /// The numbers as one tensor of rank 1.
    fn vector(&mut self, numbers: impl Iterator<Item = Scalar>) -> Result<Value, OpError> {
        let numbers: Vec<Scalar> = numbers.collect();
        let known: Option<Vec<i64>> = numbers.iter().map(|number| number.known()).collect();
        if let Some(known) = known {
            return self.constant(&[known.len()], known);
        }
        let mut parts = Vec::new();
        for number in numbers {
            parts.push(match number {
                Scalar::Number(known) => self.constant(&[1], vec![known])?,
                Scalar::Value(scalar) => {
                    let wide =
                        self.add("Convert", 1, Attrs::new().with("destination_type", "i64"), &[scalar])?;
                    let shape = self.constant(&[1], vec![1])?;
                    self.add("Reshape", 1, Attrs::new().with("special_zero", false), &[wide, shape])?
                }
            });
        }
        match parts[..] {
            [one] => Ok(one),
            _ => self.add("Concat", 1, Attrs::new().with("axis", 0i64), &parts),
        }
    }

    fn constant(&mut self, dims: &[usize], values: Vec<i64>) -> Result<Value, OpError> {
        let tensor = Tensor::from_vec(dims, values)?;
        self.node(Node::new(self.name("Const"), Op::from(Constant::new(Arc::new(tensor)))), &[])
    }

    fn add(&mut self, op: &str, opset: u8, attrs: Attrs, inputs: &[Value]) -> Result<Value, OpError> {
        let version = Version::Opset(opset);
        let mut node =
            Node::new(self.name(op), Op::parse(&mut RawNode::openvino(op, version.clone(), attrs, 1))?);
        node.version = version;
        self.node(node, inputs)
    }

    fn name(&self, op: &str) -> String {
        format!("{}/{op}", self.graph.node(self.root).name)
    }

    fn node(&mut self, mut node: Node, inputs: &[Value]) -> Result<Value, OpError> {
        node.loc = self.graph.node(self.root).loc;
        let id = self.graph.add_wired(node, inputs);
        self.graph.infer_node(id).map_err(|located| located.error)?;
        Ok(Value { node: id, port: 0 })
    }

    /// Puts `value` in the place of the primitive, with its name, its tensor names and what was inferred of it.
    fn commit(self, value: Value) {
        let old = self.graph.node(self.root).clone();
        self.graph.replace_uses(Value { node: self.root, port: 0 }, value);
        let node = self.graph.node_mut(value.node);
        (node.name, node.outs, node.details) = (old.name, old.outs, old.details);
    }
}
