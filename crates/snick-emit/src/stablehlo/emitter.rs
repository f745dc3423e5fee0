//! The context of a table row: one layer, and helpers that write operations for it.

use std::ops::Deref;
use std::slice;
use std::sync::Arc;

use snick_ir::{Fact, Graph, NodeId, OpError, Value};
use snick_shape::SymExpr;
use snick_tensor::{ElementType, Tensor};

use super::hlo::{self, Op, Region};
pub(super) use super::hlo::{OpKind, Operand};
use super::literal::{self, Literal};
use super::module::{Argument, ArgumentData, Module, Port};
use super::precision::Precision;
use super::scope::Scope;
use super::types::{Sizes, Type};
use super::weights::Weights;
use crate::layer::Layer;
use crate::legalized::Refusals;
use crate::unique_names::UniqueNames;

/// Maximum number of elements of a vector of sizes.
const MAX_ELEMENTS: usize = 16;

/// A result whose error defaults to [`OpError`].
pub(super) type Result<T = (), E = OpError> = std::result::Result<T, E>;

/// Builds the function of a module.
#[derive(Default)]
pub(super) struct FunctionBuilder {
    arguments: Vec<Argument>,
    function: hlo::Function,
    /// The layer that is being written, as an index into the places of the function.
    place: usize,
    /// The graph that is being written: 0 for the model, other numbers for its bodies.
    pub(super) graph: usize,
    /// The number of bodies so far.
    pub(super) bodies: usize,
    /// The operations of the innermost open region so far.
    pub(super) ops: Vec<Op>,
    /// Names of values and, separately, of arguments.
    names: UniqueNames,
    argument_names: UniqueNames,
    pub(super) scope: Scope,
    pub(super) refusals: Refusals,
    pub(super) precision: Precision,
    /// Whether sizes may depend on data.
    pub(super) sizes_from_data: bool,
    /// Large constants that become arguments; `None` to keep all constants in the text.
    pub(super) weights: Option<Weights>,
}

impl FunctionBuilder {
    pub(super) fn new(refusals: Refusals, precision: Precision, weights: Option<Weights>) -> Self {
        Self { refusals, precision, weights, ..Self::default() }
    }

    /// Begins a layer. Returns the place of the layer around it, for [`FunctionBuilder::leave`].
    pub(super) fn enter(&mut self, graph: &Graph, id: NodeId) -> usize {
        let node = graph.node(id);
        let (layer, op) = (node.name().to_string(), node.op().type_name().to_string());
        let place = hlo::Place { layer, op, loc: node.loc() };
        self.function.places.push(place);
        std::mem::replace(&mut self.place, self.function.places.len() - 1)
    }

    /// Ends a layer.
    pub(super) fn leave(&mut self, around: usize) {
        self.place = around;
    }

    /// Adds an argument and returns its value in the declared type.
    pub(super) fn argument(&mut self, name: &str, ty: Type, data: ArgumentData) -> Operand {
        let operand = self.value(name, ty);
        let own_name = self.argument_names.give(name.to_string(), '~', 1);
        let port = Port::new(own_name, &operand.ty);
        self.arguments.push(Argument { port, data, sharding: Vec::new() });
        self.function.body.arguments.push(operand.id);
        operand
    }

    /// The type in which a value is computed.
    pub(super) fn type_of(&self, fact: &Fact) -> Result<Type> {
        Ok(self.computed_type(Type::declared(fact)?))
    }

    /// The type in which values of type `ty` are computed.
    pub(super) fn computed_type(&self, ty: Type) -> Type {
        Type { element: self.precision.computed(ty.element), ..ty }
    }

    /// Adds an argument for a Parameter.
    pub(super) fn parameter(&mut self, graph: &Graph, id: NodeId) -> Result {
        let value = Value { node: id, port: 0 };
        let fact = graph.fact(value).ok_or(OpError::NotConnected { port: 0 })?;
        let name = graph.node(id).name();
        let operand = self.argument(name, Type::declared(fact)?, ArgumentData::Input);
        let computed = self.computed(name, operand);
        self.define(value, computed);
        Ok(())
    }

    /// Adds a result of the graph, converted to its declared type.
    pub(super) fn result(&mut self, graph: &Graph, id: NodeId) -> Result {
        let not_connected = || OpError::NotConnected { port: 0 };
        let value = graph.inputs(id).into_iter().flatten().next().ok_or_else(not_connected)?;
        let operand = self.scope.values.get(&value).cloned().ok_or_else(not_connected)?;
        let declared = graph.fact(value).ok_or_else(not_connected)?.element_type;
        let name = graph.node(id).name();
        let result = self.convert(name, operand, declared);
        self.scope.results.push(result);
        Ok(())
    }

    /// Converts the elements.
    pub(super) fn convert(&mut self, name: &str, x: Operand, element: ElementType) -> Operand {
        if x.ty.element == element {
            return x;
        }
        let ty = x.ty.with(element);
        self.op(name, OpKind::Mixed("convert"), &[&x], ty)
    }

    /// Converts a value to the type in which it is computed.
    pub(super) fn computed(&mut self, name: &str, x: Operand) -> Operand {
        let element = self.precision.computed(x.ty.element);
        self.convert(name, x, element)
    }

    /// Writes a layer whose outputs are all known as constants.
    pub(super) fn constants(&mut self, graph: &Graph, id: NodeId) -> Result {
        for (port, out) in (0..).zip(graph.node(id).outs()) {
            let Some(tensor) = out.fact.as_tensor() else { continue };
            let operand = self.constant(graph.node(id).name(), tensor)?;
            self.define(Value { node: id, port }, operand);
        }
        Ok(())
    }

    /// Binds a value of the graph to an operand.
    pub(super) fn define(&mut self, value: Value, operand: Operand) {
        for (axis, symbol) in operand.ty.dims.iter().map(SymExpr::as_symbol).enumerate() {
            if let Some(symbol) = symbol.filter(|symbol| !self.scope.sources.contains_key(symbol)) {
                self.scope.sources.insert(symbol, (operand.clone(), axis));
            }
        }
        self.scope.values.insert(value, operand);
    }

    /// A new value, under a unique name derived from `name`.
    pub(super) fn value(&mut self, name: &str, ty: Type) -> Operand {
        let (base, name) = self.fresh(name);
        self.named(base, name, ty)
    }

    /// New values for the results of an operation with several results: `name#0`, `name#1` and so on.
    pub(super) fn values(&mut self, name: &str, types: impl IntoIterator<Item = Type>) -> Vec<Operand> {
        let (base, name) = self.fresh(name);
        let types = types.into_iter().enumerate();
        types.map(|(at, ty)| self.named(base.clone(), format!("{name}#{at}"), ty)).collect()
    }

    /// A new value under this name, which must be unique; `base` is the name before it was made unique.
    pub(super) fn named(&mut self, base: String, name: String, ty: Type) -> Operand {
        let id = self.function.values.len();
        self.function.values.push(hlo::Value { name, base, ty: ty.clone(), graph: self.graph });
        Operand { id, ty }
    }

    /// An operation with one result.
    pub(super) fn op(&mut self, name: &str, kind: OpKind, operands: &[&Operand], ty: Type) -> Operand {
        let result = self.value(name, ty);
        self.push(kind, operands, slice::from_ref(&result), vec![]);
        result
    }

    /// Appends an operation to the open region.
    pub(super) fn push(
        &mut self,
        kind: OpKind,
        operands: &[&Operand],
        results: &[Operand],
        regions: Vec<Region>,
    ) {
        let operands = operands.iter().map(|operand| operand.id).collect();
        self.ops.push(Op { kind, operands, results: ids(results), regions, place: self.place });
    }

    /// Writes a constant, converted to the type in which it is computed.
    pub(super) fn constant(&mut self, name: &str, tensor: &Tensor) -> Result<Operand> {
        if let Some(stored) = self.stored(name, tensor)? {
            return Ok(stored);
        }
        let (part, axes) = tensor.without_repeats();
        if !axes.is_empty() && part.len() < tensor.len() && tensor.len() > literal::MAX_NUMBERS {
            let part = self.constant(name, &part)?;
            let ty = part.ty.sized(tensor.dims());
            return Ok(self.op(name, OpKind::BroadcastInDim(axes), &[&part], ty));
        }
        if !axes.is_empty()
            && literal::uniform(tensor)?.is_none()
            && let Some(folded) = self.folded(name, tensor)?
        {
            return Ok(folded);
        }
        let ty = Type::fixed_at(tensor.element_type(), tensor.dims())?;
        let operand = self.op(name, OpKind::Constant(Literal::of(tensor)?), &[], ty);
        Ok(self.computed(name, operand))
    }

    /// The name, as close to `name` as MLIR allows, and a unique name derived from it.
    pub(super) fn fresh(&mut self, name: &str) -> (String, String) {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '-');
        let mut base: String = name.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
        // Names that start with a digit are reserved for MLIR.
        if !base.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            base.insert(0, '_');
        }
        let unique = self.names.give(base.clone(), '_', 0);
        (base, unique)
    }

    /// The module, after all layers of the graph are written.
    pub(super) fn finish(mut self, graph: &Graph, schema: &'static str) -> Module {
        self.function.body.ops = self.ops;
        self.function.body.results = ids(&self.scope.results);
        let results = graph.results().zip(&self.scope.results);
        Module {
            name: graph.name.clone(),
            arguments: self.arguments,
            results: results.map(|(id, x)| Port::new(graph.node(id).name(), &x.ty)).collect(),
            mesh: None,
            schema,
            function: Arc::new(self.function),
        }
    }
}

pub(super) fn ids(operands: &[Operand]) -> Vec<hlo::ValueId> {
    operands.iter().map(|operand| operand.id).collect()
}

/// Writes one layer.
pub(super) struct Emitter<'g> {
    pub(super) layer: Layer<'g>,
    pub(super) function: &'g mut FunctionBuilder,
}

impl<'g> Deref for Emitter<'g> {
    type Target = Layer<'g>;

    fn deref(&self) -> &Layer<'g> {
        &self.layer
    }
}

impl<'g> Emitter<'g> {
    pub(super) fn new(graph: &'g Graph, id: NodeId, function: &'g mut FunctionBuilder) -> Result<Self> {
        Ok(Self { layer: Layer::new(graph, id)?, function })
    }

    /// Input `i`.
    pub(super) fn input(&self, i: usize) -> Result<Operand> {
        let value = self.inputs.get(i).ok_or(OpError::NotConnected { port: i })?;
        self.function.scope.values.get(value).cloned().ok_or(OpError::NotConnected { port: i })
    }

    /// All inputs.
    pub(super) fn operands(&self) -> Result<Vec<Operand>> {
        (0..self.len()).map(|i| self.input(i)).collect()
    }

    /// The type of output `port`.
    pub(super) fn output(&self, port: u32) -> Result<Type, OpError> {
        let fact = self.graph.fact(Value { node: self.id, port });
        self.function.type_of(fact.ok_or(OpError::NotConnected { port: port as usize })?)
    }

    /// Binds output `port` of the layer to an operand.
    pub(super) fn give(&mut self, port: u32, operand: Operand) -> Result {
        let want = self.output(port)?;
        // Compares types as text, because different expressions may denote the same size.
        if operand.ty.to_string() != want.to_string() {
            return Err(OpError::mismatch("what is written", operand.ty, want));
        }
        let operand = Operand { id: operand.id, ty: want };
        self.function.define(Value { node: self.id, port }, operand.clone());
        if self.function.sizes_from_data { self.learn_elements(port, &operand) } else { Ok(()) }
    }

    /// Reads sizes from a vector of integers whose elements inference denotes by symbols.
    fn learn_elements(&mut self, port: u32, x: &Operand) -> Result {
        let fact = self.graph.fact(Value { node: self.id, port });
        let elements = fact.filter(|fact| fact.element_type.is_integer()).and_then(Fact::elements);
        let Some(elements) = elements.filter(|elements| elements.len() <= MAX_ELEMENTS) else {
            return Ok(());
        };
        for (i, element) in elements.iter().enumerate() {
            if element.as_symbol().is_some() && !self.function.knows(element) {
                let number = self.entry(x, i)?;
                self.function.learn(element, &number);
            }
        }
        Ok(())
    }

    /// Element `i` as an i64 scalar.
    pub(super) fn entry(&mut self, x: &Operand, i: usize) -> Result<Operand> {
        let flat = match x.ty.rank() {
            1 => x.clone(),
            _ => self.reshape(x, &[x.ty.fixed()?.iter().product()])?,
        };
        let part = self.part(&flat, 0, &(i as i64).into(), 1.into())?;
        self.index(&part)
    }

    /// An element-wise operation on values of one type.
    pub(super) fn same(&mut self, op: &'static str, operands: &[&Operand]) -> Operand {
        let ty = operands
            .first()
            .map_or(Type { element: ElementType::F32, dims: vec![] }, |first| first.ty.clone());
        self.op(OpKind::Elementwise(op), operands, ty)
    }

    /// An operation with one result, named after the layer.
    pub(super) fn op(&mut self, kind: OpKind, operands: &[&Operand], ty: Type) -> Operand {
        self.function.op(self.layer.node.name(), kind, operands, ty)
    }

    /// Writes a constant.
    pub(super) fn constant(&mut self, tensor: &Tensor) -> Result<Operand> {
        self.function.constant(self.layer.node.name(), tensor)
    }

    /// A value with all elements equal to `value`.
    pub(super) fn full(&mut self, value: f64, ty: &Type) -> Result<Operand> {
        let one = Tensor::scalar(value).cast(ty.element)?;
        if ty.is_fixed() {
            return self.constant(&one.broadcast_to(&ty.fixed()?)?);
        }
        let one = self.constant(&one)?;
        self.spread(&one, &[], &ty.dims)
    }

    /// Converts the elements.
    pub(super) fn convert(&mut self, x: &Operand, element: ElementType) -> Operand {
        self.function.convert(self.layer.node.name(), x.clone(), element)
    }

    /// Reshapes a value.
    pub(super) fn reshape(&mut self, x: &Operand, dims: impl Sizes) -> Result<Operand> {
        let ty = x.ty.sized(dims);
        if x.ty == ty {
            return Ok(x.clone());
        }
        if x.ty.is_fixed() && ty.is_fixed() {
            return Ok(self.op(OpKind::Reshape, &[x], ty));
        }
        let sizes = self.vector(&ty.dims)?;
        Ok(self.op(OpKind::DynamicReshape, &[x, &sizes], ty))
    }

    /// Permutes the axes.
    pub(super) fn transpose(&mut self, x: &Operand, order: &[usize]) -> Operand {
        if order.iter().copied().eq(0..order.len()) {
            return x.clone();
        }
        let dims: Vec<SymExpr> = order.iter().filter_map(|&axis| x.ty.dims.get(axis).cloned()).collect();
        let ty = x.ty.sized(dims);
        self.op(OpKind::Transpose(order.to_vec()), &[x], ty)
    }

    /// Broadcasts to sizes `dims`: axis `i` of `x` becomes axis `axes[i]`, which has the same size unless the
    /// size of axis `i` is 1.
    pub(super) fn spread(&mut self, x: &Operand, axes: &[usize], dims: impl Sizes) -> Result<Operand> {
        let ty = x.ty.sized(dims);
        if x.ty == ty {
            return Ok(x.clone());
        }
        if x.ty.is_fixed() && ty.is_fixed() {
            return Ok(self.op(OpKind::BroadcastInDim(axes.to_vec()), &[x], ty));
        }
        let sizes = self.vector(&ty.dims)?;
        Ok(self.op(OpKind::DynamicBroadcastInDim(axes.to_vec()), &[x, &sizes], ty))
    }

    /// Broadcasts to sizes `dims` by numpy's rules, which align the last axes.
    pub(super) fn broadcast(&mut self, x: &Operand, dims: impl Sizes) -> Result<Operand> {
        let dims = dims.sizes();
        let first = dims.len().saturating_sub(x.ty.rank());
        let axes: Vec<usize> = (first..dims.len()).collect();
        self.spread(x, &axes, dims)
    }

    /// The two inputs, broadcast to their common shape.
    pub(super) fn pair(&mut self) -> Result<[Operand; 2]> {
        let dims = self.output(0)?.dims;
        let [a, b] = [self.input(0)?, self.input(1)?];
        self.meet(&[&a.ty.dims, &b.ty.dims], &dims)?;
        Ok([self.broadcast(&a, &dims)?, self.broadcast(&b, &dims)?])
    }

    /// Broadcasts a value of a single element.
    pub(super) fn everywhere(&mut self, x: &Operand, dims: impl Sizes) -> Result<Operand> {
        let one = self.reshape(x, &[])?;
        self.spread(&one, &[], dims)
    }

    /// Reverses axes.
    pub(super) fn reverse(&mut self, x: &Operand, axes: &[usize]) -> Operand {
        self.op(OpKind::Reverse(axes.to_vec()), &[x], x.ty.clone())
    }

    /// Concatenates along an axis.
    pub(super) fn concatenate(&mut self, parts: &[Operand], axis: usize) -> Result<Operand> {
        let first = parts.first().ok_or(OpError::NotConnected { port: 0 })?;
        if parts.len() == 1 {
            return Ok(first.clone());
        }
        let total = self.total(parts.iter().filter_map(|part| part.ty.dims.get(axis)))?;
        let mut ty = first.ty.clone();
        if let Some(size) = ty.dims.get_mut(axis) {
            *size = total;
        }
        let parts: Vec<&Operand> = parts.iter().collect();
        Ok(self.op(OpKind::Concatenate(axis), &parts, ty))
    }

    /// Adds this many elements before and after each axis; a negative number removes elements.
    pub(super) fn padded(
        &mut self,
        x: &Operand,
        value: &Operand,
        begin: &[i64],
        end: &[i64],
        ty: Type,
    ) -> Operand {
        self.op(OpKind::Pad { low: begin.to_vec(), high: end.to_vec() }, &[x, value], ty)
    }

    /// The numbers `0, 1, 2 ..` along an axis.
    pub(super) fn iota(&mut self, axis: usize, ty: Type) -> Result<Operand> {
        if ty.is_fixed() {
            return Ok(self.op(OpKind::Iota(axis), &[], ty));
        }
        let sizes = self.vector(&ty.dims)?;
        Ok(self.op(OpKind::DynamicIota(axis), &[&sizes], ty))
    }

    /// An element-wise comparison, such as `LT`.
    pub(super) fn compare(&mut self, direction: &'static str, a: &Operand, b: &Operand) -> Operand {
        self.op(OpKind::Compare(direction), &[a, b], a.ty.with(ElementType::Boolean))
    }

    /// `yes` where the condition holds, and `no` elsewhere.
    pub(super) fn select(&mut self, condition: &Operand, yes: &Operand, no: &Operand) -> Operand {
        self.op(OpKind::Select, &[condition, yes, no], yes.ty.clone())
    }
}
