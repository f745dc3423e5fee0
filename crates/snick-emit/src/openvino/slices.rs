//! The `slice` primitive in ops that OpenVINO has: Slice-8, or StridedSlice-1.
//!
//! Where a number is known at run time only, the elements are taken in ascending order, and what was descending is
//! turned round by a second slice of the whole axis: the runtime's shape inference is wrong for `start:stop:step`
//! with a negative step and a stop that it does not know (`0:stop:-3` gives no element, whatever the stop).

use std::sync::Arc;

use snick_ir::ops::slice::primitive::{Axis, Part, Slice};
use snick_ir::ops::source::constant::Constant;
use snick_ir::{AttrValue, Attrs, Graph, Located, Node, NodeId, Op, OpError, RawNode, Value, Version};
use snick_tensor::Tensor;

/// The op that a primitive is written as.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum SliceAs {
    /// Slice-8: names the axes it slices.
    #[default]
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
    Ok(())
}

/// A number of a range: known, or a value of shape `[1]`.
#[derive(Copy, Clone)]
enum Number {
    Known(i64),
    Value(Value),
}

/// `start:stop:step` of one axis as the runtime's ops understand it: negative numbers count from the end.
struct Range {
    axis: usize,
    start: Number,
    /// `None` for all there is in the direction of the step.
    stop: Option<Number>,
    step: Number,
}

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
        let (mut ranges, mut turns) = (Vec::new(), Vec::new());
        for axis in &slice.axes {
            if let Some(range) = fixed(axis) {
                ranges.push(range);
                continue;
            }
            let (range, turn) = self.ascending(axis, &mut inputs)?;
            ranges.push(range);
            turns.extend(turn);
        }
        let mut sliced = self.slice(data, &ranges)?;
        if !turns.is_empty() {
            sliced = self.slice(sliced, &turns)?;
        }
        self.land(sliced);
        Ok(())
    }

    /// The elements of an axis in ascending order, and what turns them round if they were descending.
    fn ascending(
        &mut self,
        axis: &Axis,
        operands: &mut impl Iterator<Item = Value>,
    ) -> Result<(Range, Option<Range>), OpError> {
        let mut numbers = [Number::Known(0); 3];
        for (number, part) in numbers.iter_mut().zip([axis.start, axis.len, axis.step]) {
            *number = match part {
                Part::Static(known) => Number::Known(known),
                Part::Operand(_) => {
                    let scalar = operands.next().ok_or(OpError::NotConnected { port: 1 })?;
                    let wide =
                        self.add("Convert", 1, Attrs::new().with("destination_type", "i64"), &[scalar])?;
                    let shape = self.constant(&[1], vec![1])?;
                    Number::Value(self.add(
                        "Reshape",
                        1,
                        Attrs::new().with("special_zero", false),
                        &[wide, shape],
                    )?)
                }
            };
        }
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
            Way::Down => {
                Some(Range { axis: axis.axis, start: Number::Known(-1), stop: None, step: Number::Known(-1) })
            }
            Way::Unknown(up) => {
                let mut choose =
                    |up_number, down| self.choose(up, Number::Known(up_number), Number::Known(down));
                Some(Range {
                    axis: axis.axis,
                    start: choose(0, -1)?,
                    stop: Some(choose(i64::MAX, i64::MIN)?),
                    step: choose(1, -1)?,
                })
            }
        };
        Ok((Range { axis: axis.axis, start, stop: Some(stop), step: stride }, turn))
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
        let (step, zero) = (self.value(step)?, self.constant(&[1], vec![0])?);
        Ok(Way::Unknown(self.add("Greater", 1, Attrs::new(), &[step, zero])?))
    }

    /// The step's size. The least integer has none; its slices have one element at most, for which any will do.
    fn stride(&mut self, step: Number, way: &Way) -> Result<Number, OpError> {
        match (step, way) {
            (Number::Known(step), _) => Ok(Number::Known(step.saturating_abs())),
            (Number::Value(_), Way::Up) => Ok(step),
            (Number::Value(step), _) => {
                let size = Number::Value(self.add("Abs", 1, Attrs::new(), &[step])?);
                self.arithmetic("Maximum", size, Number::Known(1))
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
            Number::Known(known) => self.constant(&[1], vec![known]),
            Number::Value(value) => Ok(value),
        }
    }

    /// One op for ranges of ascending axes.
    fn slice(&mut self, data: Value, ranges: &[Range]) -> Result<Value, OpError> {
        match self.slice_as {
            SliceAs::Slice => {
                let starts = self.vector(ranges.iter().map(|range| range.start))?;
                let stops = self.vector(ranges.iter().map(|range| range.stop.unwrap_or(range.end())))?;
                let steps = self.vector(ranges.iter().map(|range| range.step))?;
                let axes = self.vector(ranges.iter().map(|range| Number::Known(range.axis as i64)))?;
                self.add("Slice", 8, Attrs::new(), &[data, starts, stops, steps, axes])
            }
            SliceAs::StridedSlice => {
                let places = ranges.last().map_or(0, |range| range.axis + 1);
                let at = |axis: usize| ranges.iter().find(|range| range.axis == axis);
                let begin = (0..places).map(|axis| at(axis).map_or(Number::Known(0), |range| range.start));
                let end =
                    (0..places).map(|axis| at(axis).and_then(|range| range.stop).unwrap_or(Number::Known(0)));
                let strides = (0..places).map(|axis| at(axis).map_or(Number::Known(1), |range| range.step));
                let operands = [data, self.vector(begin)?, self.vector(end)?, self.vector(strides)?];
                let mask = |bit: &dyn Fn(Option<&Range>) -> bool| {
                    AttrValue::Ints((0..places).map(|axis| i64::from(bit(at(axis)))).collect())
                };
                let attrs = Attrs::new()
                    .with("begin_mask", mask(&|range| range.is_none()))
                    .with("end_mask", mask(&|range| range.is_none_or(|range| range.stop.is_none())))
                    .with("new_axis_mask", mask(&|_| false))
                    .with("shrink_axis_mask", mask(&|_| false))
                    .with("ellipsis_mask", mask(&|_| false));
                self.add("StridedSlice", 1, attrs, &operands)
            }
        }
    }

    /// The numbers as one tensor of rank 1.
    fn vector(&mut self, numbers: impl Iterator<Item = Number>) -> Result<Value, OpError> {
        let numbers: Vec<Number> = numbers.collect();
        let known: Option<Vec<i64>> = numbers.iter().map(|number| number.known()).collect();
        if let Some(known) = known {
            return self.constant(&[known.len()], known);
        }
        let parts: Vec<Value> =
            numbers.into_iter().map(|number| self.value(number)).collect::<Result<_, _>>()?;
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

impl Number {
    fn known(self) -> Option<i64> {
        match self {
            Self::Known(known) => Some(known),
            Self::Value(_) => None,
        }
    }
}

impl Range {
    /// The stop that leaves nothing out.
    fn end(&self) -> Number {
        Number::Known(if self.step.known().is_some_and(|step| step < 0) { i64::MIN } else { i64::MAX })
    }
}

/// The range of a static slice. One that descends to the first element has no stop: -1 would be the last.
fn fixed(axis: &Axis) -> Option<Range> {
    let slice = axis.as_static()?;
    let stop = slice.start.checked_add(slice.len.checked_mul(slice.step)?)?;
    Some(Range {
        axis: axis.axis,
        start: Number::Known(slice.start),
        stop: (stop >= 0).then_some(Number::Known(stop)),
        step: Number::Known(slice.step),
    })
}
