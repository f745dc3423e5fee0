//! The context in which a row of the operator table converts a node: the inputs and attributes of the ONNX
//! node, and a [`GraphBuilder`].

use std::ops::{Deref, DerefMut};

use snick_ir::ops::{self, Reshape};
use snick_ir::{AttrValue, Attrs, BuildMode, Graph, GraphBuilder, Op, OpError, Operand, Value};
use snick_tensor::ElementType;

/// Builds the layers of one ONNX node. The rows of the operator table may rely on ranks, element types and
/// constants, but not on sizes, because the user may still change these. Inference errors are reported later,
/// when the whole graph is inferred.
pub(super) struct NodeBuilder<'g> {
    pub(super) builder: GraphBuilder<'g>,
    /// The name of the node.
    pub(super) name: &'g str,
    /// The version of the operator set that defines the operator.
    pub(super) since: i64,
    /// The inputs; `None` for an omitted input.
    pub(super) inputs: Vec<Option<Value>>,
    /// For each output, whether it has a name. Outputs without a name are unused.
    pub(super) wanted: Vec<bool>,
    /// The attributes.
    pub(super) attrs: Attrs<'static>,
}

impl<'g> Deref for NodeBuilder<'g> {
    type Target = GraphBuilder<'g>;

    fn deref(&self) -> &Self::Target {
        &self.builder
    }
}

impl DerefMut for NodeBuilder<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.builder
    }
}

/// A result whose value defaults to [`Value`] and whose error defaults to [`OpError`].
pub(super) type Result<T = Value, E = OpError> = std::result::Result<T, E>;

impl<'g> NodeBuilder<'g> {
    /// A builder that adds layers to `graph` and prefixes their names with the node's name.
    pub(super) fn new(graph: &'g mut Graph, name: &'g str) -> Self {
        Self {
            builder: GraphBuilder::on(graph).mode(BuildMode::Lenient).scope(name),
            name,
            since: 0,
            inputs: Vec::new(),
            wanted: Vec::new(),
            attrs: Attrs::new(),
        }
    }

    /// Input `i`.
    pub(super) fn input(&self, i: usize) -> Result {
        self.optional(i).ok_or(OpError::NotConnected { port: i })
    }

    /// Input `i`, if present.
    pub(super) fn optional(&self, i: usize) -> Option<Value> {
        self.inputs.get(i).copied().flatten()
    }

    /// All inputs; an omitted input is an error.
    pub(super) fn all(&self) -> Result<Vec<Value>> {
        (0..self.inputs.len()).map(|i| self.input(i)).collect()
    }

    /// Whether output `i` has a name.
    pub(super) fn wants(&self, i: usize) -> bool {
        self.wanted.get(i).copied().unwrap_or(false)
    }

    /// Rejects a node that uses output `i` or a later output.
    pub(super) fn outputs_below(&self, i: usize) -> Result<()> {
        match (i..self.wanted.len()).find(|&i| self.wants(i)) {
            Some(i) => Err(OpError::unsupported(format!("output {i}"))),
            None => Ok(()),
        }
    }

    /// An integer attribute.
    pub(super) fn int_attr(&self, name: &'static str, default: i64) -> Result<i64> {
        Ok(self.attrs.int(name)?.unwrap_or(default))
    }

    /// A required integer attribute.
    pub(super) fn required_int(&self, name: &'static str) -> Result<i64> {
        self.attrs.int(name)?.ok_or(OpError::MissingAttribute { name })
    }

    /// A boolean attribute, which is stored as an integer.
    pub(super) fn flag_attr(&self, name: &'static str, default: bool) -> Result<bool> {
        Ok(self.int_attr(name, i64::from(default))? != 0)
    }

    /// A float attribute.
    pub(super) fn float_attr(&self, name: &'static str, default: f64) -> Result<f64> {
        Ok(self.attrs.float(name)?.unwrap_or(default))
    }

    /// A string attribute.
    pub(super) fn text_attr(&self, name: &'static str, default: &'static str) -> Result<&str> {
        Ok(self.attrs.text(name)?.unwrap_or(default))
    }

    /// Looks up a string attribute in a table. If the attribute is missing, selects the first entry.
    pub(super) fn choice<T: Copy>(&self, name: &'static str, table: &[(&str, T)]) -> Result<T> {
        let text = self.attrs.text(name)?;
        let found = table.iter().find(|(word, _)| text.is_none_or(|text| text == *word));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<&str> = table.iter().map(|(word, _)| *word).collect();
            self.attrs.bad(name, &words.join(" or "))
        })
    }

    /// A list of integers, if present.
    pub(super) fn ints_attr(&self, name: &'static str) -> Result<Option<Vec<i64>>> {
        Ok(self.attrs.ints(name)?.map(|v| v.to_vec()))
    }

    /// The element type in an attribute, which contains the number of the type in ONNX.
    pub(super) fn type_attr(&self, name: &'static str) -> Result<Option<ElementType>> {
        let Some(number) = self.attrs.int(name)? else { return Ok(None) };
        let found = i32::try_from(number).ok().and_then(snick_onnx::from_number);
        found.map(Some).ok_or_else(|| OpError::unsupported(format!("ONNX data type {number}")))
    }

    /// The integers of a short constant.
    pub(super) fn known_ints(&self, value: Value) -> Option<Vec<i64>> {
        self.constant_value(value)?;
        self.fact(value).ok()?.ints().map(|v| v.to_vec())
    }

    /// The sizes of a value, if all are known.
    pub(super) fn dims(&self, value: Value) -> Option<Vec<usize>> {
        self.fact(value).ok()?.shape.as_static().map(|dims| dims.to_vec())
    }

    /// The size of a value along an axis, if known.
    pub(super) fn fixed_size(&self, value: Value, axis: usize) -> Option<i64> {
        self.fact(value).ok()?.shape.dims()?.get(axis)?.as_const()
    }

    /// Whether two values are known to have the same size along an axis.
    pub(super) fn same_size(&self, x: Value, y: Value, axis: usize) -> bool {
        let size = |value| self.fact(value).ok()?.shape.dims()?.get(axis).cloned();
        size(x).is_some_and(|x| Some(x) == size(y))
    }

    /// Converts an axis to a nonnegative number.
    pub(super) fn axis(&self, axis: i64, rank: usize) -> Result<usize> {
        snick_ir::normalize_axis(axis, rank)
    }

    /// Adds the op with this name and these attributes in OpenVINO IR.
    pub(super) fn ir_op(&mut self, op_type: &str, attrs: Attrs, inputs: &[Value]) -> Result {
        self.add_op(Op::by_name(op_type, attrs)?, inputs)
    }

    /// [`NodeBuilder::ir_op`] with several outputs.
    pub(super) fn ir_op_with_outputs(
        &mut self,
        op_type: &str,
        attrs: Attrs,
        inputs: &[Value],
        outputs: usize,
    ) -> Result<Vec<Value>> {
        self.add_op_with_outputs(Op::by_name(op_type, attrs)?, inputs, outputs)
    }

    /// Computes `x / y` as in ONNX, which truncates the quotients of integers towards zero.
    pub(super) fn divide(&mut self, x: impl Into<Operand>, y: impl Into<Operand>) -> Result {
        let [x, y] = self.operands(x, y)?;
        let function = snick_tensor::kernels::BinaryOp::Div;
        self.add_op(ops::Arithmetic { function, broadcast: ops::AutoBroadcast::Numpy }, &[x, y])
    }

    /// Converts a value to an element type. Strings are not supported.
    pub(super) fn convert(&mut self, value: Value, element_type: ElementType) -> Result {
        let types = [Ok(element_type), self.element_type(value)];
        if types[0] != types[1] && types.contains(&Ok(ElementType::String)) {
            return Err(OpError::unsupported("conversion from or to text"));
        }
        self.builder.convert(value, element_type)
    }

    /// Reshapes a value. A target size of 0 copies the size of the same axis.
    pub(super) fn reshape_copying(&mut self, value: Value, sizes: Value) -> Result {
        self.add_op(Reshape { special_zero: true }, &[value, sizes])
    }
}

/// A list of integers as an attribute value.
pub(super) fn list(values: &[i64]) -> AttrValue<'static> {
    AttrValue::Ints(values.into())
}
