//! The `slice` primitive in ops that OpenVINO has: Slice-8, or StridedSlice-1.
//!
//! A slice by `bounds` is written with the range that those clamp, for the op clamps it likewise. Where a number is
//! computed in another way and known at run time only, the elements are taken in ascending order, and what was descending is
//! turned round by a second slice of the whole axis: the runtime's shape inference is wrong for `start:stop:step`
//! with a negative step and a stop that it does not know (`0:stop:-3` gives no element, whatever the stop).

mod range;

use std::sync::Arc;

use snick_ir::ops::slice::primitive::{Axis, Part, Slice};
use snick_ir::ops::source::constant::Constant;
use snick_ir::rewrite::{self, How, Lowered, Rule};
use snick_ir::{AttrValue, Attrs, Graph, Located, Node, NodeId, Op, OpDef, OpError, RawNode, Value, Version};
use snick_tensor::Tensor;

use self::range::{Number, Range};

/// No axis is longer; steps are cut to it so that sums with them stay in i64.
const FAR: i64 = 1 << 62;

/// The op that a primitive is written as.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum SliceAs {
    /// Slice-8, but StridedSlice-1 for a bound of which nothing is known before the graph runs: there the runtime
    /// infers more of StridedSlice.
    #[default]
    Tighter,
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
        let replaced = Builder { graph, root: id, slice_as }.replace(&slice);
        replaced.map_err(|error| graph.located(id, error))?;
    }
    graph.sweep();
    let trace = rewrite::apply(graph, &[BOUNDS], How::default());
    graph.sweep();
    trace.errors.into_iter().next().map_or(Ok(()), |error| Err(error.into()))
}

/// The `bounds` that are still read, as arithmetic.
const BOUNDS: Rule = Rule::exact("lower-bounds", |patch| match patch.node().op {
    Op::Bounds(bounds) => bounds.lower(patch),
    _ => Ok(Lowered::Keep),
});

/// Where a step points.
enum Way {
    Up,
    Down,
    /// Whether it is up: a value.
    Unknown(Value),
}

/// Builds what replaces one primitive.
struct Builder<'g> {
    graph: &'g mut Graph,
    root: NodeId,
    slice_as: SliceAs,
}

impl Builder<'_> {
    fn replace(mut self, slice: &Slice) -> Result<(), OpError> {
        let inputs: Option<Vec<Value>> = self.graph.inputs(self.root).into_iter().collect();
        let mut inputs = inputs.ok_or(OpError::NotConnected { port: 0 })?.into_iter();
        let data = inputs.next().ok_or(OpError::NotConnected { port: 0 })?;
        // By what the runtime knows of the bounds: in one list of numbers an unknown one hides those that are known.
        let (mut known, mut given, mut computed) = (Vec::new(), Vec::new(), Vec::new());
        let (mut turns, mut caps, mut pins) = (Vec::new(), Vec::new(), Vec::new());
        for axis in &slice.axes {
            let parts = range::parts(axis, &mut inputs)?;
            let as_it_was = Range::of_bounds(self.graph, data, axis.axis, parts)?;
            if let Some(range) = as_it_was.filter(|r| r.has_numbers() || self.slice_as != SliceAs::Slice) {
                if range.is_known() {
                    known.push(range)
                } else {
                    given.push(range)
                }
                continue;
            }
            // The runtime's ops take what there is; the primitive fails where its elements are not all there.
            if let (Part::Static(len), false) = (axis.len, self.is_within(data, axis)) {
                pins.push((axis.axis, len));
            }
            if let Some(range) = Range::fixed(axis) {
                known.push(range);
                continue;
            }
            let (range, turn) = self.ascending(axis, parts)?;
            computed.push(range);
            turns.extend(turn);
            caps.extend(self.cap(data, axis));
        }
        let mut sliced = data;
        for ranges in [known, given, computed, turns, caps] {
            if !ranges.is_empty() {
                sliced = self.slice(sliced, &ranges)?;
            }
        }
        if pins.iter().any(|&(_, len)| len > 0) {
            sliced = self.pinned(sliced, &pins)?;
        }
        if sliced == data {
            // The layer keeps its name, and so does what it reads.
            sliced = self.slice(data, &[])?;
        }
        self.land(sliced);
        Ok(())
    }

    /// The most elements that a computed length can be, as a range, where the runtime would not know it of the data.
    fn cap(&self, data: Value, axis: &Axis) -> Option<Range> {
        let Part::Operand(lens) = axis.len else { return None };
        let dim = self.graph.fact(data)?.shape.dims()?.get(axis.axis)?;
        let most = lens.has_upper().then_some(lens.hi())?;
        let says_more = most < self.graph.symbols().interval(dim).hi();
        let stop = Some(Number::Known(most));
        says_more.then_some(Range { axis: axis.axis, start: None, stop, step: Number::Known(1) })
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
    fn pinned(&mut self, value: Value, pins: &[(usize, i64)]) -> Result<Value, OpError> {
        let Some(rank) = self.graph.fact(value).and_then(|fact| fact.shape.rank()) else { return Ok(value) };
        let size = |axis: usize| pins.iter().find(|pin| pin.0 == axis).map_or(0, |pin| pin.1);
        let sizes = self.constant(&[rank], (0..rank).map(size).collect())?;
        self.add("Reshape", 1, Attrs::new().with("special_zero", true), &[value, sizes])
    }

    /// The elements of an axis in ascending order, and what turns them round if they were descending.
    fn ascending(&mut self, axis: &Axis, numbers: [Number; 3]) -> Result<(Range, Option<Range>), OpError> {
        let [start, len, step] = numbers;
        let way = self.way(axis, step)?;
        let stride = self.stride(step, &way)?;
        let start = match way {
            Way::Up => start,
            Way::Down => self.last(start, len, step)?,
            Way::Unknown(up) => {
                let last = self.last(start, len, step)?;
                self.choose(up, start, last)?
            }
        };
        let length = self.arithmetic("Multiply", len, stride)?;
        let stop = self.arithmetic("Add", start, length)?;
        let turn = match way {
            Way::Up => None,
            Way::Down => Some(Range { axis: axis.axis, start: None, stop: None, step: Number::Known(-1) }),
            Way::Unknown(up) => {
                let mut choose =
                    |up_number, down| self.choose(up, Number::Known(up_number), Number::Known(down));
                Some(Range {
                    axis: axis.axis,
                    start: Some(choose(0, -1)?),
                    stop: Some(choose(i64::MAX, i64::MIN)?),
                    step: choose(1, -1)?,
                })
            }
        };
        Ok((Range { axis: axis.axis, start: Some(start), stop: Some(stop), step: stride }, turn))
    }

    fn way(&mut self, axis: &Axis, step: Number) -> Result<Way, OpError> {
        let (low, high) = match axis.step {
            Part::Static(step) => (step, step),
            Part::Operand(interval) => (interval.lo(), interval.hi()),
        };
        if low >= 0 {
            return Ok(Way::Up);
        }
        if high <= 0 {
            return Ok(Way::Down);
        }
        let (step, zero) = (self.value(step)?, self.constant(&[], vec![0])?);
        Ok(Way::Unknown(self.add("Greater", 1, Attrs::new(), &[step, zero])?))
    }

    /// The step's size, at most [`FAR`]: of one element any step will do, and more have none that large.
    fn stride(&mut self, step: Number, way: &Way) -> Result<Number, OpError> {
        match (step, way) {
            (Number::Known(step), _) => Ok(Number::Known(step.saturating_abs().min(FAR))),
            (Number::Value(_), Way::Up) => self.arithmetic("Minimum", step, Number::Known(FAR)),
            (Number::Value(_), _) => {
                // The least integer has no size.
                let near = self.arithmetic("Maximum", step, Number::Known(-FAR))?;
                let near = self.value(near)?;
                let size = Number::Value(self.add("Abs", 1, Attrs::new(), &[near])?);
                let size = self.arithmetic("Maximum", size, Number::Known(1))?;
                self.arithmetic("Minimum", size, Number::Known(FAR))
            }
        }
    }

    /// The index of the last element: `start + (len - 1) * step`.
    fn last(&mut self, start: Number, len: Number, step: Number) -> Result<Number, OpError> {
        let before = self.arithmetic("Subtract", len, Number::Known(1))?;
        let distance = self.arithmetic("Multiply", before, step)?;
        self.arithmetic("Add", start, distance)
    }

    fn choose(&mut self, condition: Value, yes: Number, no: Number) -> Result<Number, OpError> {
        let (yes, no) = (self.value(yes)?, self.value(no)?);
        Ok(Number::Value(self.add("Select", 1, Attrs::new(), &[condition, yes, no])?))
    }

    /// An elementwise op, unless both numbers are known or nothing changes.
    fn arithmetic(&mut self, op: &str, a: Number, b: Number) -> Result<Number, OpError> {
        let known = match (op, a, b) {
            ("Add", Number::Known(a), Number::Known(b)) => a.checked_add(b),
            ("Subtract", Number::Known(a), Number::Known(b)) => a.checked_sub(b),
            ("Multiply", Number::Known(a), Number::Known(b)) => a.checked_mul(b),
            ("Add", other, Number::Known(0)) | ("Multiply", other, Number::Known(1)) => return Ok(other),
            ("Add", Number::Known(0), other) | ("Multiply", Number::Known(1), other) => return Ok(other),
            _ => None,
        };
        if let Some(known) = known {
            return Ok(Number::Known(known));
        }
        let (a, b) = (self.value(a)?, self.value(b)?);
        Ok(Number::Value(self.add(op, 1, Attrs::new(), &[a, b])?))
    }

    fn value(&mut self, number: Number) -> Result<Value, OpError> {
        match number {
            Number::Known(known) => self.constant(&[], vec![known]),
            Number::Value(value) => Ok(value),
        }
    }

    /// One op for ranges of ascending axes.
    fn slice(&mut self, data: Value, ranges: &[Range]) -> Result<Value, OpError> {
        let is_unknown = |range: &Range| range.numbers().any(|number| number.is_unknown(self.graph));
        // An unknown step hides those of the axes before it, which StridedSlice has to name.
        let names_no_others = || ranges.iter().enumerate().all(|(i, range)| range.axis == i);
        let steps_are_known = || ranges.iter().all(|range| range.step.known().is_some());
        let is_tighter = ranges.iter().any(is_unknown) && (steps_are_known() || names_no_others());
        match self.slice_as {
            SliceAs::StridedSlice => self.strided_slice(data, ranges),
            SliceAs::Tighter if is_tighter => self.strided_slice(data, ranges),
            SliceAs::Tighter | SliceAs::Slice => self.slice8(data, ranges),
        }
    }

    fn slice8(&mut self, data: Value, ranges: &[Range]) -> Result<Value, OpError> {
        let starts = self.vector(ranges.iter().map(|range| range.start.unwrap_or(range.first())))?;
        let stops = self.vector(ranges.iter().map(|range| range.stop.unwrap_or(range.last())))?;
        let steps = self.vector(ranges.iter().map(|range| range.step))?;
        let axes = self.vector(ranges.iter().map(|range| Number::Known(range.axis as i64)))?;
        self.add("Slice", 8, Attrs::new(), &[data, starts, stops, steps, axes])
    }

    fn strided_slice(&mut self, data: Value, ranges: &[Range]) -> Result<Value, OpError> {
        let places = ranges.last().map_or(0, |range| range.axis + 1);
        let at = |axis: usize| ranges.iter().find(|range| range.axis == axis);
        let zero = Number::Known(0);
        let begin = (0..places).map(|axis| at(axis).and_then(|range| range.start).unwrap_or(zero));
        let end = (0..places).map(|axis| at(axis).and_then(|range| range.stop).unwrap_or(zero));
        let strides = (0..places).map(|axis| at(axis).map_or(Number::Known(1), |range| range.step));
        let operands = [data, self.vector(begin)?, self.vector(end)?, self.vector(strides)?];
        let mask = |bit: &dyn Fn(Option<&Range>) -> bool| {
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
    fn vector(&mut self, numbers: impl Iterator<Item = Number>) -> Result<Value, OpError> {
        let numbers: Vec<Number> = numbers.collect();
        let known: Option<Vec<i64>> = numbers.iter().map(|number| number.known()).collect();
        if let Some(known) = known {
            return self.constant(&[known.len()], known);
        }
        let mut parts = Vec::new();
        for number in numbers {
            parts.push(match number {
                Number::Known(known) => self.constant(&[1], vec![known])?,
                Number::Value(scalar) => {
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
    fn land(self, value: Value) {
        let old = self.graph.node(self.root).clone();
        self.graph.replace_uses(Value { node: self.root, port: 0 }, value);
        let node = self.graph.node_mut(value.node);
        (node.name, node.outs, node.details) = (old.name, old.outs, old.details);
    }
}
