//! The context of a table row: one layer, and helpers that write operations for it.

use std::fmt::Write as _;
use std::ops::Deref;

use snick_ir::{Fact, Graph, NodeId, OpError, Value};
use snick_shape::SymExpr;
use snick_tensor::{ElementType, Tensor};

use super::literal;
use super::module::{Argument, ArgumentData, Body, Module, Port};
pub(super) use super::operand::Operand;
use super::precision::Precision;
use super::scope::Scope;
use super::types::{Sizes, Type};
use super::weights::Weights;
use crate::layer::Layer;
use crate::legalized::Refusals;
use crate::unique_names::UniqueNames;

/// A result whose error defaults to [`OpError`].
pub(super) type Result<T = (), E = OpError> = std::result::Result<T, E>;

/// The function being written.
#[derive(Default)]
pub(super) struct Function {
    arguments: Vec<Argument>,
    results: Vec<Port>,
    body: Body,
    /// The names of values that are taken.
    names: UniqueNames,
    argument_names: UniqueNames,
    pub(super) scope: Scope,
    pub(super) refusals: Refusals,
    pub(super) precision: Precision,
    /// Large constants that become arguments; `None` to keep all constants in the text.
    pub(super) weights: Option<Weights>,
    /// The number of open regions.
    pub(super) depth: usize,
}

impl Function {
    pub(super) fn new(refusals: Refusals, precision: Precision, weights: Option<Weights>) -> Self {
        Self { refusals, precision, weights, ..Self::default() }
    }

    /// Adds an argument and returns its value in the declared type.
    pub(super) fn argument(&mut self, name: &str, ty: Type, data: ArgumentData) -> Operand {
        let operand = Operand { name: self.fresh(name), ty };
        let own_name = self.argument_names.give(name.to_string(), '~', 1);
        self.arguments.push(Argument {
            port: Port::new(own_name, &operand.ty),
            data,
            sharding: Vec::new(),
            value: operand.name.clone(),
            ty: operand.ty.to_string(),
        });
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

    /// Adds an argument for a Parameter, unless the Parameter already has a value.
    pub(super) fn parameter(&mut self, graph: &Graph, id: NodeId) -> Result {
        let value = Value { node: id, port: 0 };
        if self.scope.values.contains_key(&value) {
            return Ok(());
        }
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
        if self.depth == 0 {
            self.results.push(Port::new(name, &result.ty));
        }
        self.scope.results.push(result);
        Ok(())
    }

    /// Converts the elements.
    pub(super) fn convert(&mut self, name: &str, x: Operand, element: ElementType) -> Operand {
        if x.ty.element == element {
            return x;
        }
        let ty = x.ty.with(element);
        let tail = format!(": ({}) -> {ty}", x.ty);
        self.line(name, "stablehlo.convert", &x.name, &tail, ty)
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

    /// Writes `%name = dialect.op ..what.. tail`.
    pub(super) fn line(&mut self, name: &str, op: &str, what: &str, tail: &str, ty: Type) -> Operand {
        let name = self.fresh(name);
        let space = if what.is_empty() || tail.starts_with(',') { "" } else { " " };
        self.write(&format!("{name} = {op} {what}{space}{tail}"));
        Operand { name, ty }
    }

    /// Writes `%name:count = dialect.op tail`.
    pub(super) fn lines(&mut self, name: &str, op: &str, tail: &str, count: usize) -> String {
        let name = self.fresh(name);
        self.write(&format!("{name}:{count} = {op} {tail}"));
        name
    }

    /// Writes a line of the function or of the open region.
    pub(super) fn write(&mut self, line: &str) {
        let _ = writeln!(self.body.text, "{:1$}{line}", "", 4 + 2 * self.depth);
    }

    /// Writes a line that contains the bytes of a constant.
    fn write_with_bytes(&mut self, before: &str, bytes: literal::Bytes, after: &str) {
        let _ = write!(self.body.text, "{:1$}{before}", "", 4 + 2 * self.depth);
        self.body.literals.push((self.body.text.len(), bytes));
        let _ = writeln!(self.body.text, "{after}");
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
            let tail = format!(", dims = {axes:?} : ({}) -> {ty}", part.ty);
            return Ok(self.line(name, "stablehlo.broadcast_in_dim", &part.name, &tail, ty));
        }
        if !axes.is_empty()
            && literal::uniform(tensor)?.is_none()
            && let Some(folded) = self.folded(name, tensor)?
        {
            return Ok(folded);
        }
        let ty = Type::fixed_at(tensor.element_type(), tensor.dims())?;
        let operand = Operand { name: self.fresh(name), ty };
        let literal = literal::dense(tensor)?;
        let (before, after) =
            (format!("{} = stablehlo.constant dense<", operand.name), format!("> : {}", operand.ty));
        match literal {
            Some(literal) => self.write(&format!("{before}{literal}{after}")),
            None => self.write_with_bytes(&before, literal::Bytes(tensor.clone()), &after),
        }
        Ok(self.computed(name, operand))
    }

    /// A unique name, as close to `name` as MLIR allows.
    pub(super) fn fresh(&mut self, name: &str) -> String {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '-');
        let mut base: String = name.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
        // Names that start with a digit are reserved for MLIR.
        if !base.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            base.insert(0, '_');
        }
        self.names.give(format!("%{base}"), '_', 0)
    }

    /// Returns the finished module.
    pub(super) fn finish(self, name: &str) -> Module {
        Module {
            name: name.to_string(),
            arguments: self.arguments,
            results: self.results,
            mesh: None,
            body: self.body,
            returned: self.scope.results.into_iter().map(|it| [it.name, it.ty.to_string()]).collect(),
        }
    }
}

/// Writes one layer.
pub(super) struct Emitter<'g> {
    pub(super) layer: Layer<'g>,
    pub(super) function: &'g mut Function,
}

impl<'g> Deref for Emitter<'g> {
    type Target = Layer<'g>;

    fn deref(&self) -> &Layer<'g> {
        &self.layer
    }
}

impl<'g> Emitter<'g> {
    pub(super) fn new(graph: &'g Graph, id: NodeId, function: &'g mut Function) -> Result<Self> {
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
        self.function.define(Value { node: self.id, port }, Operand { name: operand.name, ty: want });
        Ok(())
    }

    /// Writes `%x = dialect.op %a, %b : type`, for operations whose values all have the same type.
    pub(super) fn same(&mut self, op: &str, operands: &[&Operand]) -> Operand {
        let ty = operands
            .first()
            .map_or(Type { element: ElementType::F32, dims: vec![] }, |first| first.ty.clone());
        self.line(op, &names(operands), &format!(": {ty}"), ty)
    }

    /// Writes `%x = dialect.op ..what.. tail`.
    pub(super) fn line(&mut self, op: &str, what: &str, tail: &str, ty: Type) -> Operand {
        self.function.line(self.layer.node.name(), op, what, tail, ty)
    }

    /// Writes `%x:2 = dialect.op tail`, an operation with several results.
    pub(super) fn lines<const N: usize>(&mut self, op: &str, tail: &str, types: [Type; N]) -> [Operand; N] {
        let name = self.function.lines(self.layer.node.name(), op, tail, N);
        let mut number = 0..;
        types.map(|ty| Operand { name: format!("{name}#{}", number.next().unwrap_or(0)), ty })
    }

    /// Writes the generic form: `%x = "stablehlo.op"(%a) <{attributes}> : (types) -> type`.
    pub(super) fn generic(&mut self, op: &str, operands: &[&Operand], attributes: &str, ty: Type) -> Operand {
        let types: Vec<String> = operands.iter().map(|operand| operand.ty.to_string()).collect();
        let attributes = if attributes.is_empty() { String::new() } else { format!(" <{{{attributes}}}>") };
        let tail = format!("({}){attributes} : ({}) -> {ty}", names(operands), types.join(", "));
        self.line(&format!("\"{op}\""), "", &tail, ty)
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
            return Ok(self.line("stablehlo.reshape", &x.name, &format!(": ({}) -> {ty}", x.ty), ty));
        }
        let sizes = self.vector(&ty.dims)?;
        Ok(self.generic("stablehlo.dynamic_reshape", &[x, &sizes], "", ty))
    }

    /// Permutes the axes.
    pub(super) fn transpose(&mut self, x: &Operand, order: &[usize]) -> Operand {
        if order.iter().copied().eq(0..order.len()) {
            return x.clone();
        }
        let dims: Vec<SymExpr> = order.iter().filter_map(|&axis| x.ty.dims.get(axis).cloned()).collect();
        let ty = x.ty.sized(dims);
        self.line("stablehlo.transpose", &x.name, &format!(", dims = {order:?} : ({}) -> {ty}", x.ty), ty)
    }

    /// Broadcasts to sizes `dims`: axis `i` of `x` becomes axis `axes[i]`, which has the same size unless the
    /// size of axis `i` is 1.
    pub(super) fn spread(&mut self, x: &Operand, axes: &[usize], dims: impl Sizes) -> Result<Operand> {
        let ty = x.ty.sized(dims);
        if x.ty == ty {
            return Ok(x.clone());
        }
        if x.ty.is_fixed() && ty.is_fixed() {
            let tail = format!(", dims = {axes:?} : ({}) -> {ty}", x.ty);
            return Ok(self.line("stablehlo.broadcast_in_dim", &x.name, &tail, ty));
        }
        let sizes = self.vector(&ty.dims)?;
        let what = format!("{}, {}", x.name, sizes.name);
        let tail = format!(", dims = {axes:?} : ({}, {}) -> {ty}", x.ty, sizes.ty);
        Ok(self.line("stablehlo.dynamic_broadcast_in_dim", &what, &tail, ty))
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
        let ty = x.ty.clone();
        self.line("stablehlo.reverse", &x.name, &format!(", dims = {axes:?} : {ty}"), ty)
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
        Ok(self.generic("stablehlo.concatenate", &parts, &format!("dimension = {axis} : i64"), ty))
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
        let inside = vec![0; begin.len()];
        let tail = format!(
            ", low = {begin:?}, high = {end:?}, interior = {inside:?} : ({}, {}) -> {ty}",
            x.ty, value.ty
        );
        self.line("stablehlo.pad", &names(&[x, value]), &tail, ty)
    }

    /// The numbers `0, 1, 2 ..` along an axis.
    pub(super) fn iota(&mut self, axis: usize, ty: Type) -> Result<Operand> {
        if ty.is_fixed() {
            return Ok(self.line("stablehlo.iota", "", &format!("dim = {axis} : {ty}"), ty.clone()));
        }
        let sizes = self.vector(&ty.dims)?;
        let tail = format!(", dim = {axis} : ({}) -> {ty}", sizes.ty);
        Ok(self.line("stablehlo.dynamic_iota", &sizes.name, &tail, ty))
    }

    /// Writes `%x = stablehlo.compare LT, %a, %b`.
    pub(super) fn compare(&mut self, direction: &str, a: &Operand, b: &Operand) -> Operand {
        let ty = a.ty.with(ElementType::Boolean);
        let what = format!("{direction}, {}, {}", a.name, b.name);
        self.line("stablehlo.compare", &what, &format!(": ({}, {}) -> {ty}", a.ty, b.ty), ty)
    }

    /// `yes` where the condition holds, and `no` elsewhere.
    pub(super) fn select(&mut self, condition: &Operand, yes: &Operand, no: &Operand) -> Operand {
        let tail = format!(": {}, {}", condition.ty, yes.ty);
        self.line("stablehlo.select", &names(&[condition, yes, no]), &tail, yes.ty.clone())
    }
}

/// The names of operands as text: `%a, %b`.
pub(super) fn names(operands: &[&Operand]) -> String {
    operands.iter().map(|operand| operand.name.as_str()).collect::<Vec<_>>().join(", ")
}
