//! The `slice` primitive as OpenVINO has it: Slice-8.
//!
//! `start:stop:step` counts negative numbers from the end, so a `stop` before the first element must stay out of
//! reach: a static one is the least integer; one known only at run time is written as seen from the end.

use std::sync::Arc;

use snick_ir::ops::slice::primitive::{Axis, Part, Slice};
use snick_ir::ops::source::constant::Constant;
use snick_ir::{Attrs, Graph, Located, Node, NodeId, Op, OpError, RawNode, Value, Version};
use snick_tensor::Tensor;

/// The graph with every primitive replaced, bodies included.
pub(crate) fn legalise(graph: &Graph) -> Result<Graph, Box<Located>> {
    let mut graph = graph.clone();
    replace_all(&mut graph)?;
    Ok(graph)
}

fn replace_all(graph: &mut Graph) -> Result<(), Box<Located>> {
    let mut result = Ok(());
    graph.for_each_body(|body| {
        if result.is_ok() {
            result = replace_all(body);
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
        let replaced = Builder { graph, root: id }.replace(&slice);
        replaced.map_err(|error| graph.located(id, error))?;
    }
    graph.sweep();
    Ok(())
}

/// Builds what replaces one primitive.
struct Builder<'g> {
    graph: &'g mut Graph,
    root: NodeId,
}

impl Builder<'_> {
    fn replace(mut self, slice: &Slice) -> Result<(), OpError> {
        let inputs: Option<Vec<Value>> = self.graph.inputs(self.root).into_iter().collect();
        let mut inputs = inputs.ok_or(OpError::NotConnected { port: 0 })?.into_iter();
        let mut data = inputs.next().ok_or(OpError::NotConnected { port: 0 })?;
        let fixed: Option<Vec<[i64; 4]>> = slice.axes.iter().map(fixed).collect();
        if let Some(axes) = fixed {
            let vectors = [0, 1, 2, 3].map(|i| axes.iter().map(|entry| entry[i]).collect::<Vec<_>>());
            let mut operands = vec![data];
            for vector in vectors {
                operands.push(self.constant(&[vector.len()], vector)?);
            }
            data = self.add("Slice", 8, Attrs::new(), &operands)?;
        } else {
            for axis in &slice.axes {
                data = self.slice_axis(data, axis, &mut inputs)?;
            }
        }
        self.land(data);
        Ok(())
    }

    /// One axis, of which some number is known at run time only.
    fn slice_axis(
        &mut self,
        data: Value,
        axis: &Axis,
        operands: &mut impl Iterator<Item = Value>,
    ) -> Result<Value, OpError> {
        let mut parts = [data; 3];
        for (value, part) in parts.iter_mut().zip([axis.start, axis.len, axis.step]) {
            *value = match part {
                Part::Static(number) => self.constant(&[1], vec![number])?,
                Part::Operand(_) => {
                    let scalar = operands.next().ok_or(OpError::NotConnected { port: 1 })?;
                    let wide =
                        self.add("Convert", 1, Attrs::new().with("destination_type", "i64"), &[scalar])?;
                    let shape = self.constant(&[1], vec![1])?;
                    self.add("Reshape", 1, Attrs::new().with("special_zero", false), &[wide, shape])?
                }
            };
        }
        let [start, len, step] = parts;
        let (low, high) = match axis.step {
            Part::Static(step) => (step, step),
            Part::Operand(interval) => (interval.lo(), interval.hi()),
        };
        let way = self.add("Multiply", 1, Attrs::new(), &[len, step])?;
        let mut stop = self.add("Add", 1, Attrs::new(), &[start, way])?;
        if high < 0 {
            let at = self.constant(&[1], vec![axis.axis as i64])?;
            let zero = self.constant(&[], vec![0])?;
            let dims = self.add("ShapeOf", 3, Attrs::new().with("output_type", "i64"), &[data])?;
            let dim = self.add("Gather", 8, Attrs::new().with("batch_dims", 0i64), &[dims, at, zero])?;
            stop = self.add("Subtract", 1, Attrs::new(), &[stop, dim])?;
        } else if low <= 0 {
            return Err(OpError::unsupported(
                "a slice whose direction is known at run time only, in an OpenVINO IR,",
            ));
        }
        let axes = self.constant(&[1], vec![axis.axis as i64])?;
        self.add("Slice", 8, Attrs::new(), &[data, start, stop, step, axes])
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

/// `[start, stop, step, axis]` of a static slice.
fn fixed(axis: &Axis) -> Option<[i64; 4]> {
    let slice = axis.as_static()?;
    let stop = slice.start.checked_add(slice.len.checked_mul(slice.step)?)?;
    Some([slice.start, if stop < 0 { i64::MIN } else { stop }, slice.step, axis.axis as i64])
}
