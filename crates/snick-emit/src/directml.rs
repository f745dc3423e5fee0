//! DirectML descriptions: each `slice` of a canonical graph becomes a `DML_OPERATOR_SLICE`, or a
//! `DML_OPERATOR_SLICE1` if a step is negative.
//!
//! DirectML has fewer types and ranks than OpenVINO. The writer picks types that copy the same bits: bytes
//! for booleans, 16-bit integers for bf16, and pairs of 32-bit integers along an extra axis for 64-bit
//! elements. Tensors of too low a rank get leading dimensions of 1.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use snick_directml::{FeatureLevel, data_type};
use snick_ir::ops::slice::primitive::Slice;
use snick_ir::rewrite::{CUSTOM_OPS, apply_throughout};
use snick_ir::{Graph, Located, NodeId, Op, OpError, Value};
use snick_pass::lower_slices;
use snick_shape::AxisSlice;
use snick_tensor::ElementType;

use crate::json::json;

/// Writes the slices of an inferred, canonical graph, including slices in bodies and in decomposed custom
/// ops. Other layers are not described.
///
/// # Errors
/// Names the layer that cannot be described at this feature level: a slice of unknown size, an empty slice, a
/// slice of an element type that the level lacks, or a slice that is not in canonical form. If the graph has
/// no slice at all, names the first layer that computes something.
pub fn directml(graph: &Graph, level: FeatureLevel) -> Result<String, Box<Located>> {
    let mut writer = Writer { level, names: Names::default(), operators: Vec::new(), other: None };
    if has_custom_ops(graph) {
        let mut graph = graph.clone();
        apply_throughout(&mut graph, &[CUSTOM_OPS])?;
        if let Some(error) = lower_slices(&mut graph).errors.into_iter().next() {
            return Err(error.into());
        }
        writer.graph(&graph)?;
    } else {
        writer.graph(graph)?;
    }
    if let (Some(other), true) = (writer.other, writer.operators.is_empty()) {
        return Err(other);
    }
    let list: Vec<String> =
        writer.operators.iter().map(|operator| format!("\n  {}", json(operator))).collect();
    let end = if list.is_empty() { "" } else { "\n" };
    Ok(format!("{{\"directml\":1,\"feature_level\":\"{level}\",\"ops\":[{}{end}]}}\n", list.join(",")))
}

fn has_custom_ops(graph: &Graph) -> bool {
    graph.ids().map(|id| graph.node(id).op()).any(|op| {
        matches!(op, Op::Custom(_)) || op.bodies().into_iter().any(|(_, body)| has_custom_ops(body))
    })
}

/// An operator with DirectML's field names.
#[derive(Serialize)]
#[serde(tag = "type", content = "desc", rename_all_fields = "PascalCase")]
enum Operator {
    #[serde(rename = "DML_OPERATOR_SLICE")]
    Slice {
        input_tensor: TensorDescription,
        output_tensor: TensorDescription,
        dimension_count: usize,
        offsets: Vec<u32>,
        sizes: Vec<u32>,
        strides: Vec<u32>,
    },
    #[serde(rename = "DML_OPERATOR_SLICE1")]
    Slice1 {
        input_tensor: TensorDescription,
        output_tensor: TensorDescription,
        dimension_count: usize,
        input_window_offsets: Vec<u32>,
        input_window_sizes: Vec<u32>,
        input_window_strides: Vec<i32>,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct TensorDescription {
    #[serde(rename = "name")]
    name: String,
    data_type: &'static str,
    sizes: Vec<u32>,
}

struct Writer {
    level: FeatureLevel,
    names: Names,
    operators: Vec<Operator>,
    /// The first layer that is neither a slice nor a reshape.
    other: Option<Box<Located>>,
}

impl Writer {
    fn graph(&mut self, graph: &Graph) -> Result<(), Box<Located>> {
        let order = graph.order()?;
        self.names.enter();
        for id in order {
            match graph.node(id).op() {
                Op::Slice(slice) => {
                    let operator = self.operator(graph, id, slice);
                    self.operators.push(operator.map_err(|error| graph.located(id, error))?);
                }
                Op::Slice8(_) | Op::StridedSlice(_) | Op::Split(_) | Op::VariadicSplit(_) => {
                    let what = "a slice that is not in canonical form in DirectML";
                    return Err(graph.located(id, OpError::unsupported(what)).into());
                }
                Op::Parameter(_)
                | Op::Const(_)
                | Op::Result(_)
                | Op::Reshape(_)
                | Op::Squeeze(_)
                | Op::Unsqueeze(_) => {}
                op => {
                    self.other.get_or_insert_with(|| {
                        let (what, format) = ("this operation".into(), "DirectML");
                        graph.located(id, OpError::CannotWrite { what, format }).into()
                    });
                    for (_, body) in op.bodies() {
                        // The nesting depth is limited by the reader, so this recursion is bounded.
                        self.graph(body)?;
                        self.names.enter();
                    }
                }
            }
        }
        Ok(())
    }

    fn operator(&mut self, graph: &Graph, id: NodeId, slice: &Slice) -> Result<Operator, OpError> {
        let data = graph.inputs(id).first().copied().flatten().ok_or(OpError::NotConnected { port: 0 })?;
        let fact = graph.fact(data).ok_or(OpError::NotConnected { port: 0 })?;
        let dims = fact.shape.as_static().ok_or_else(|| {
            let shape = fact.shape.display_intervals(graph.symbols());
            OpError::unsupported(format!("a slice of dynamic shape {shape} in DirectML"))
        })?;
        let mut axes = all_axes(&dims, slice)?;
        let data_type = self.fit(fact.element_type, &mut axes)?;
        let sizes = |pick: fn(&(i64, AxisSlice)) -> i64, what: &str| -> Result<Vec<u32>, OpError> {
            let sizes = axes.iter().map(pick);
            sizes.map(|size| u32::try_from(size).map_err(|_| too_large(what, size))).collect()
        };
        let (input, output) =
            (sizes(|axis| axis.0, "a dimension")?, sizes(|axis| axis.1.len, "a dimension")?);
        let backward = axes.iter().any(|(_, slice)| slice.step < 0);
        if backward && !self.level.has_slice1() {
            let (level, since) = (self.level, FeatureLevel::V2_1);
            let what =
                format!("a slice with a negative step at feature level {level} of DirectML (since {since})");
            return Err(OpError::unsupported(what));
        }
        let dimension_count = axes.len();
        let tensors = [(data, input), (Value { node: id, port: 0 }, output.clone())];
        let [input_tensor, output_tensor] = tensors.map(|(value, sizes)| {
            let name = self.names.of(graph, value).to_string();
            TensorDescription { name, data_type, sizes }
        });
        if !backward {
            let offsets = sizes(|axis| axis.1.start, "an offset")?;
            let strides = sizes(|axis| axis.1.step, "a stride")?;
            let sizes = output;
            return Ok(Operator::Slice {
                input_tensor,
                output_tensor,
                dimension_count,
                offsets,
                sizes,
                strides,
            });
        }
        let strides = axes.iter().map(|axis| axis.1.step);
        let strides = strides.map(|step| i32::try_from(step).map_err(|_| too_large("a stride", step)));
        Ok(Operator::Slice1 {
            input_tensor,
            output_tensor,
            dimension_count,
            input_window_offsets: sizes(|axis| window(axis.1).0, "an offset")?,
            input_window_sizes: sizes(|axis| window(axis.1).1, "a window")?,
            input_window_strides: strides.collect::<Result<_, _>>()?,
        })
    }

    /// A DirectML data type for elements with the same bits. Adjusts `axes` to this type, and to the ranks
    /// that the feature level supports.
    fn fit(
        &self,
        element_type: ElementType,
        axes: &mut Vec<(i64, AxisSlice)>,
    ) -> Result<&'static str, OpError> {
        let rank = axes.len();
        let copied = match element_type {
            ElementType::Boolean => ElementType::U8,
            ElementType::BF16 => ElementType::U16,
            ElementType::F64 | ElementType::I64 | ElementType::U64 if !self.level.slices(element_type) => {
                axes.push((2, AxisSlice::whole(2)));
                ElementType::U32
            }
            other => other,
        };
        let name = data_type(copied).filter(|_| self.level.slices(copied)).ok_or_else(|| {
            let level = self.level;
            OpError::unsupported(format!("a slice of {element_type} at feature level {level} of DirectML"))
        })?;
        let counts = self.level.dimension_counts();
        if axes.len() > *counts.end() {
            let pairs = if axes.len() > rank { " (one for the halves of elements)" } else { "" };
            let (count, level) = (axes.len(), self.level);
            let what = format!("a slice of {count} dimensions{pairs} at feature level {level} of DirectML");
            return Err(OpError::unsupported(what));
        }
        let missing = counts.start().saturating_sub(axes.len());
        axes.splice(0..0, std::iter::repeat_n((1, AxisSlice::whole(1)), missing));
        Ok(name)
    }
}

/// For each axis of data with dims `dims`: the size of the axis, and the slice along it. An axis that is not
/// sliced is selected as a whole.
fn all_axes(dims: &[usize], slice: &Slice) -> Result<Vec<(i64, AxisSlice)>, OpError> {
    let mut axes: Vec<(i64, AxisSlice)> = Vec::with_capacity(dims.len());
    for &dim in dims {
        let dim = i64::try_from(dim).map_err(|_| too_large("a dimension", i64::MAX))?;
        axes.push((dim, AxisSlice::whole(dim)));
    }
    for &(at, slice) in &slice.axes {
        let fixed = slice
            .as_static()
            .ok_or_else(|| OpError::unsupported("a slice with bounds known only at run time in DirectML"))?;
        let rank = axes.len();
        let place = axes.get_mut(at);
        let expected = || OpError::out_of_range("axis", at as i64, format!("below rank {rank}"));
        place.ok_or_else(expected)?.1 = fixed;
    }
    if axes.iter().any(|(_, slice)| slice.len == 0) {
        return Err(OpError::unsupported("an empty output in DirectML"));
    }
    Ok(axes)
}

/// The offset and size of the smallest window that contains a slice. A backward slice starts at the end of
/// its window.
fn window(slice: AxisSlice) -> (i64, i64) {
    let reach = (slice.len - 1).saturating_mul(slice.step);
    (slice.start.saturating_add(reach.min(0)), reach.saturating_abs().saturating_add(1))
}

fn too_large(what: &str, value: i64) -> OpError {
    OpError::out_of_range(what, value, "a 32-bit integer")
}

/// Unique names of tensors, one per value.
#[derive(Default)]
struct Names {
    /// The names of values in the graph being written.
    by_value: HashMap<Value, String>,
    taken: HashSet<String>,
}

impl Names {
    /// Starts the next graph, whose values get names of their own.
    fn enter(&mut self) {
        self.by_value.clear();
    }

    /// The first tensor name of a value, or the name of its layer. If the name is taken, appends a number.
    fn of(&mut self, graph: &Graph, value: Value) -> &str {
        let taken = &mut self.taken;
        self.by_value.entry(value).or_insert_with(|| {
            let node = graph.node(value.node);
            let tensor = graph.output(value).and_then(|out| out.names().first()).cloned();
            let wanted = tensor.unwrap_or_else(|| match value.port {
                0 => node.name().to_string(),
                port => format!("{}:{port}", node.name()),
            });
            let numbered = (2u64..).map(|number| format!("{wanted}#{number}"));
            let free = std::iter::once(wanted.clone()).chain(numbered).find(|name| !taken.contains(name));
            let name = free.unwrap_or(wanted);
            taken.insert(name.clone());
            name
        })
    }
}

#[cfg(test)]
mod tests {
    use snick_ir::{infer, text};

    use super::*;

    /// The description of one slice of a Parameter.
    fn described(parameter: &str, slice: &str, level: &str) -> Result<String, String> {
        let (et, shape) = parameter.split_once('[').unwrap();
        let shape = shape.trim_end_matches(']');
        let text = format!(
            "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: {et}, shape: \"{shape}\"}}\n  \
             %y = slice(%x) {{{slice}}}\n  %r = Result-1(%y)\n}}\n"
        );
        let mut graph = text::parse(&text, None).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(infer(&mut graph), []);
        directml(&graph, level.parse().unwrap()).map_err(|error| error.to_string())
    }

    const FORWARD: &str = "axes: [0], start: [1], len: [2], step: [3]";
    const BACKWARD: &str = "axes: [0], start: [7], len: [3], step: [-3]";

    #[test]
    fn forward_and_backward() {
        let forward = described("f32[5,2]", FORWARD, "3.0").unwrap();
        assert_eq!(
            forward,
            "{\"directml\":1,\"feature_level\":\"3.0\",\"ops\":[\n  {\"type\":\"DML_OPERATOR_SLICE\",\"desc\":{\
             \"InputTensor\":{\"name\":\"x\",\"DataType\":\"FLOAT32\",\"Sizes\":[5,2]},\
             \"OutputTensor\":{\"name\":\"y\",\"DataType\":\"FLOAT32\",\"Sizes\":[2,2]},\"DimensionCount\":2,\
             \"Offsets\":[1,0],\"Sizes\":[2,2],\"Strides\":[3,1]}}\n]}\n"
        );
        let backward = described("f32[9]", BACKWARD, "3.0").unwrap();
        let window = "\"InputWindowOffsets\":[1],\"InputWindowSizes\":[7],\"InputWindowStrides\":[-3]";
        assert!(backward.contains("DML_OPERATOR_SLICE1") && backward.contains(window), "{backward}");
        assert!(
            described("f32[9]", BACKWARD, "2.0")
                .unwrap_err()
                .contains("a negative step at feature level 2.0")
        );
    }

    #[test]
    fn types_and_ranks_that_the_level_has() {
        let padded = described("boolean[5]", FORWARD, "2.1").unwrap();
        assert!(padded.contains("\"DataType\":\"UINT8\",\"Sizes\":[1,1,1,5]"), "{padded}");
        let halves = described("i64[5]", FORWARD, "2.1").unwrap();
        assert!(halves.contains("\"DataType\":\"UINT32\",\"Sizes\":[1,1,5,2]"), "{halves}");
        assert!(halves.contains("\"Offsets\":[0,0,1,0]"), "{halves}");
        assert!(described("i64[5]", FORWARD, "4.1").unwrap().contains("\"INT64\",\"Sizes\":[5]"));
        assert!(described("bf16[5]", FORWARD, "2.1").unwrap().contains("UINT16"));
        for (parameter, level, what) in [
            ("i8[5]", "2.0", "a slice of i8 at feature level 2.0"),
            ("f8e4m3[5]", "6.4", "a slice of f8e4m3"),
            ("i64[5,1,1,1,1]", "2.1", "6 dimensions (one for the halves"),
            ("f32[5,1,1,1,1,1,1,1,1]", "6.4", "9 dimensions"),
            ("f32[5..7]", "6.4", "dynamic shape"),
            ("f32[5,4294967296]", "6.4", "a 32-bit integer"),
        ] {
            let error = described(parameter, FORWARD, level).unwrap_err();
            assert!(error.contains("layer `y` (slice)") && error.contains(what), "{error}");
        }
        let empty = described("f32[5]", "axes: [0], start: [0], len: [0], step: [1]", "6.4").unwrap_err();
        assert!(empty.contains("an empty output"), "{empty}");
    }
}
