//! DirectML descriptions: a list of `DML_OPERATOR_SLICE` and `DML_OPERATOR_SLICE1` operators that are
//! connected by tensor names.
//!
//! A tensor that no operator writes is an input, and a tensor that no operator reads is an output. The reader
//! checks all rules that the API has at the feature level of the description.

use std::collections::{HashMap, HashSet};

use snick_directml::{FeatureLevel, element_type};
use snick_ir::ops::movement::identity::Identity;
use snick_ir::ops::slice::primitive::Slice;
use snick_ir::ops::source::parameter::Parameter;
use snick_ir::ops::source::result::GraphResult;
use snick_ir::{Attrs, Declared, Graph, Loc, Located, Monitor, Node, Op, OpError, Output, Value};
use snick_shape::{AxisSlice, DimSpec, Interval, ShapeSpec};
use snick_tensor::{ElementType, SmallVector};

use crate::json::{Json, Object};
use crate::{Read, ReadError};

/// The supported version of the description format.
const VERSION: i64 = 1;

/// The two operators that are supported.
#[derive(Copy, Clone, PartialEq, Eq)]
enum OperatorKind {
    /// `DML_OPERATOR_SLICE`: has positive strides. `Sizes` are the dimensions of the output.
    Slice,
    /// `DML_OPERATOR_SLICE1`: slices a window with positive or negative strides. The output tensor gives the
    /// output sizes.
    Slice1,
}

impl OperatorKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Slice => "DML_OPERATOR_SLICE",
            Self::Slice1 => "DML_OPERATOR_SLICE1",
        }
    }

    /// The names of the fields for start, extent and step.
    const fn fields(self) -> [&'static str; 3] {
        match self {
            Self::Slice => ["Offsets", "Sizes", "Strides"],
            Self::Slice1 => ["InputWindowOffsets", "InputWindowSizes", "InputWindowStrides"],
        }
    }
}

/// A tensor of an operator.
#[derive(Clone, PartialEq, Eq)]
struct Tensor {
    name: String,
    element_type: ElementType,
    sizes: Vec<i64>,
}

/// An operator as described in the file.
struct Operator<'d> {
    kind: OperatorKind,
    json: Json<'d>,
    input: Tensor,
    output: Tensor,
    dimensions: i64,
    /// The lists of starts, extents and steps, in the order of [`OperatorKind::fields`].
    lists: [Vec<i64>; 3],
}

/// Reads a description. The monitor may stop it.
pub(crate) fn read(root: &Object, source: &str, monitor: &mut Monitor) -> Result<Read, ReadError> {
    let version = root.require("directml")?;
    if version.int()? != VERSION {
        return Err(version.error(format!("unsupported version {}; expected {VERSION}", version.raw())));
    }
    let json = root.require("feature_level")?;
    let level: FeatureLevel = json.text()?.parse().map_err(|error| json.error(format!("{error}")))?;
    let mut operators = Vec::new();
    for json in root.require("ops")?.array()? {
        let operator = Operator::read(json)?;
        if !monitor.read_layer(operators.len() + 1, &operator.output.name) {
            return Err(json.error("reading was stopped"));
        }
        operators.push(operator);
    }
    let mut graph = Graph::new("directml");
    graph.set_source(source);
    let mut builder = DescriptionBuilder { graph, errors: Vec::new(), tensors: HashMap::new(), level };
    builder.add_all(&operators)?;
    Ok(Read {
        graph: builder.graph,
        errors: builder.errors,
        notes: Vec::new(),
        files: Vec::new(),
        missing: Vec::new(),
        optional_inputs: Vec::new(),
    })
}

impl<'d> Operator<'d> {
    fn read(json: Json<'d>) -> Result<Self, ReadError> {
        let object = json.object()?;
        let place = object.require("type")?;
        let name = place.text()?;
        let kind = match name.strip_prefix("DML_OPERATOR_").unwrap_or(&name) {
            "SLICE" => OperatorKind::Slice,
            "SLICE1" => OperatorKind::Slice1,
            _ => {
                return Err(place.error(format!("operator `{name}` is not supported; use SLICE or SLICE1")));
            }
        };
        let desc = object.require("desc")?.object()?;
        let known = ["InputTensor", "OutputTensor", "DimensionCount"];
        refuse_unknown(&desc, |name| known.contains(&name) || kind.fields().contains(&name))?;
        let [start, extent, step] = kind.fields();
        Ok(Self {
            kind,
            json,
            input: Tensor::read(desc.require("InputTensor")?)?,
            output: Tensor::read(desc.require("OutputTensor")?)?,
            dimensions: desc.require("DimensionCount")?.int()?,
            lists: [desc.require(start)?.ints()?, desc.require(extent)?.ints()?, desc.require(step)?.ints()?],
        })
    }

    /// The slice of each axis. Fails if the operator violates a rule of the API.
    fn slices(&self, level: FeatureLevel) -> Result<Vec<AxisSlice>, OpError> {
        let name = self.kind.name();
        if self.kind == OperatorKind::Slice1 && !level.has_slice1() {
            let what = format!("{name} at feature level {level} (since {})", FeatureLevel::V2_1);
            return Err(OpError::unsupported(what));
        }
        let (et, out) = (self.input.element_type, self.output.element_type);
        if !level.slices(et) {
            return Err(OpError::unsupported(format!("{name} of {et} at feature level {level}")));
        }
        if et != out {
            return Err(OpError::element_type("OutputTensor", out, format!("{et}, as InputTensor")));
        }
        self.expect_counts(level)?;
        for (name, sizes) in
            [("InputTensor.Sizes", &self.input.sizes), ("OutputTensor.Sizes", &self.output.sizes)]
        {
            sizes.iter().enumerate().try_for_each(|(axis, &size)| unsigned(name, axis, size, 1))?;
        }
        (0..self.input.sizes.len()).map(|axis| self.slice(axis)).collect()
    }

    fn expect_counts(&self, level: FeatureLevel) -> Result<(), OpError> {
        let allowed = level.dimension_counts();
        let count = usize::try_from(self.dimensions).ok().filter(|count| allowed.contains(count));
        let Some(count) = count else {
            let expected = format!("{} to {} at feature level {level}", allowed.start(), allowed.end());
            return Err(OpError::out_of_range("DimensionCount", self.dimensions, expected));
        };
        let names = ["InputTensor.Sizes", "OutputTensor.Sizes"].into_iter().chain(self.kind.fields());
        let lists = [&self.input.sizes, &self.output.sizes].into_iter().chain(&self.lists);
        for (name, list) in names.zip(lists) {
            if list.len() != count {
                let expected = format!("{count}, the DimensionCount");
                return Err(OpError::mismatch(format!("the length of `{name}`"), list.len(), expected));
            }
        }
        Ok(())
    }

    /// The slice of one axis. Each list must have an item for this axis.
    fn slice(&self, axis: usize) -> Result<AxisSlice, OpError> {
        let [offset, extent, stride] = [0, 1, 2].map(|list| self.lists[list][axis]);
        let (input, output) = (self.input.sizes[axis], self.output.sizes[axis]);
        let [offset_name, extent_name, stride_name] = self.kind.fields();
        unsigned(offset_name, axis, offset, 0)?;
        unsigned(extent_name, axis, extent, 1)?;
        let past = |what: &str, last: i64| {
            OpError::out_of_range(format!("{what} of axis {axis}"), last, format!("below the size, {input}"))
        };
        let start = match self.kind {
            OperatorKind::Slice => {
                unsigned(stride_name, axis, stride, 1)?;
                if extent != output {
                    let expected = format!("Sizes[{axis}] = {extent}");
                    return Err(OpError::mismatch(format!("OutputTensor.Sizes[{axis}]"), output, expected));
                }
                // The three numbers have 32 bits each, so this cannot overflow.
                let last = offset + (extent - 1) * stride;
                if last >= input {
                    return Err(past("the last element", last));
                }
                offset
            }
            OperatorKind::Slice1 => {
                if stride == 0 || i32::try_from(stride).is_err() {
                    let what = format!("{stride_name}[{axis}]");
                    return Err(OpError::out_of_range(what, stride, "an integer of 32 bits other than 0"));
                }
                let last = offset + extent - 1;
                if last >= input {
                    return Err(past("the last element of the window", last));
                }
                let room = 1 + (extent - 1) / stride.abs();
                if output > room {
                    let what = format!("OutputTensor.Sizes[{axis}]");
                    let expected = format!("at most {room}, the number of elements in the window");
                    return Err(OpError::out_of_range(what, output, expected));
                }
                // A backward slice starts at the end of the window, which need not be the end of the axis.
                if stride > 0 { offset } else { last }
            }
        };
        Ok(AxisSlice { start, len: output, step: if output == 1 { 1 } else { stride } })
    }
}

/// Checks that a value is an unsigned 32-bit integer of at least `least`.
fn unsigned(name: &str, axis: usize, value: i64, least: u32) -> Result<(), OpError> {
    match u32::try_from(value) {
        Ok(number) if number >= least => Ok(()),
        _ => {
            let expected = format!("{least} to {}", u32::MAX);
            Err(OpError::out_of_range(format!("{name}[{axis}]"), value, expected))
        }
    }
}

/// Rejects unknown fields, because they could change the meaning of known fields.
fn refuse_unknown(object: &Object, known: impl Fn(&str) -> bool) -> Result<(), ReadError> {
    match object.iter().find(|(name, json)| !json.is_null() && !known(name)) {
        Some((name, json)) => Err(json.error(format!("field `{name}` is not supported"))),
        None => Ok(()),
    }
}

impl Tensor {
    fn read(json: Json) -> Result<Self, ReadError> {
        let object = json.object()?;
        refuse_unknown(&object, |name| ["name", "DataType", "Sizes", "DimensionCount"].contains(&name))?;
        let data_type = object.require("DataType")?;
        let name = data_type.text()?;
        let element_type = element_type(&name)
            .ok_or_else(|| data_type.error(format!("data type `{name}` is not supported by slices")))?;
        let name = object.require("name")?;
        let tensor = Self { name: name.text()?, element_type, sizes: object.require("Sizes")?.ints()? };
        if tensor.name.is_empty() {
            return Err(name.error("the name of a tensor is empty"));
        }
        if let Some(count) = object.get("DimensionCount")
            && usize::try_from(count.int()?).ok() != Some(tensor.sizes.len())
        {
            return Err(count.error(format!(
                "DimensionCount is {}, but Sizes has {} entries",
                count.raw(),
                tensor.sizes.len()
            )));
        }
        Ok(tensor)
    }

    fn shown(&self) -> String {
        format!("{}{:?}", self.element_type, self.sizes)
    }
}

struct DescriptionBuilder {
    graph: Graph,
    errors: Vec<Located>,
    /// The tensors by name, each with the graph value that contains its elements.
    tensors: HashMap<String, (Tensor, Value)>,
    level: FeatureLevel,
}

impl DescriptionBuilder {
    fn add_all(&mut self, operators: &[Operator]) -> Result<(), ReadError> {
        let written: HashSet<&str> = operators.iter().map(|op| op.output.name.as_str()).collect();
        let read: HashSet<&str> = operators.iter().map(|op| op.input.name.as_str()).collect();
        // Adds the inputs first, in the order of first use, which defines the signature of the graph.
        for operator in operators.iter().filter(|op| !written.contains(op.input.name.as_str())) {
            if !self.tensors.contains_key(&operator.input.name) {
                self.parameter(operator);
            }
        }
        let mut results = Vec::new();
        for operator in operators {
            let name = &operator.input.name;
            let Some((tensor, data)) = self.tensors.get(name).cloned() else {
                let message = format!("tensor `{name}` is read before it is written");
                return Err(operator.json.error(message));
            };
            let output = &operator.output;
            if self.tensors.contains_key(&output.name) {
                return Err(operator.json.error(format!("tensor `{}` is written twice", output.name)));
            }
            let value = self.operator(operator, &tensor, data);
            self.tensors.insert(output.name.clone(), (output.clone(), value));
            if !read.contains(output.name.as_str()) {
                results.push((output.name.as_str(), value, operator.json.loc()));
            }
        }
        for (name, value, loc) in results {
            self.layer(name, Op::from(GraphResult), loc, &[value]);
        }
        Ok(())
    }

    fn parameter(&mut self, operator: &Operator) {
        let tensor = &operator.input;
        // Clamps negative sizes instead of reporting them, because the checks of the operator report all
        // invalid sizes.
        let dims = tensor.sizes.iter().map(|&size| DimSpec::Interval(Interval::exact(size.max(0))));
        let op = Parameter { element_type: tensor.element_type, shape: ShapeSpec::Dims(dims.collect()) };
        let value = self.layer(&tensor.name, op.into(), operator.json.loc(), &[]);
        self.name(value, &tensor.name);
        self.tensors.insert(tensor.name.clone(), (tensor.clone(), value));
    }

    /// Adds the primitive. If a rule is violated, adds an opaque layer and records the error.
    fn operator(&mut self, operator: &Operator, source: &Tensor, data: Value) -> Value {
        let slices = if *source == operator.input {
            operator.slices(self.level)
        } else {
            let what = format!("tensor `{}`", source.name);
            Err(OpError::mismatch(what, operator.input.shown(), format!("{}, as before", source.shown())))
        };
        let (name, loc) = (&operator.output.name, operator.json.loc());
        let value = match slices {
            Ok(slices) => {
                let axes = slices.into_iter().zip(&operator.input.sizes).enumerate();
                let partial = axes.filter(|(_, (slice, size))| !slice.is_whole(**size));
                let slice = Slice::fixed(partial.map(|(axis, (slice, _))| (axis, slice)));
                let op = if slice.axes.is_empty() { Op::from(Identity) } else { Op::from(slice) };
                self.layer(name, op, loc, &[data])
            }
            Err(error) => {
                let value =
                    self.layer(name, Op::opaque(operator.kind.name(), operator.attrs()), loc, &[data]);
                self.errors.push(self.graph.located(value.node, error));
                value
            }
        };
        self.name(value, name);
        let dims: Option<SmallVector<i64, 4>> =
            operator.output.sizes.iter().map(|&size| (size >= 0).then_some(size)).collect();
        let declared = Declared { element_type: operator.output.element_type, dims };
        self.graph.declare(value, declared);
        value
    }

    fn layer(&mut self, name: &str, op: Op, loc: Loc, inputs: &[Value]) -> Value {
        let mut layer = Node::new(name, op);
        layer.loc = loc;
        layer.outs.push(Output::unknown());
        Value { node: self.graph.add_wired(layer, inputs), port: 0 }
    }

    fn name(&mut self, value: Value, name: &str) {
        self.graph.set_tensor_names(value, vec![name.to_string()]);
    }
}

impl Operator<'_> {
    fn attrs(&self) -> Attrs<'static> {
        let fields = self.kind.fields().into_iter().zip(&self.lists);
        fields.fold(Attrs::new(), |attrs, (name, list)| {
            attrs.with(name, snick_ir::AttrValue::Ints(list.as_slice().into()))
        })
    }
}
