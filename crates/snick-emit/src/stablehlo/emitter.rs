//! What a row of the table sees: one layer, and the means to write operations for it.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use snick_ir::{Attrs, Fact, Graph, Node, NodeId, OpError, Value};
use snick_tensor::{ElementType, Tensor};

use super::literal;
use super::types::Type;

/// A value on the way: its name, with the `%`, and its type.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) name: String,
    pub(super) ty: Type,
}

/// What a row answers.
pub(super) type Written = Result<(), OpError>;

/// A value, or why there is none.
pub(super) type Got = Result<Operand, OpError>;

/// The function that is being written.
#[derive(Default)]
pub(super) struct Function {
    arguments: Vec<Operand>,
    results: Vec<Operand>,
    body: String,
    values: HashMap<Value, Operand>,
    names: HashSet<String>,
}

impl Function {
    /// An argument of the function.
    pub(super) fn parameter(&mut self, graph: &Graph, id: NodeId) -> Written {
        let value = Value { node: id, port: 0 };
        let fact = graph.fact(value).ok_or(OpError::NotConnected { port: 0 })?;
        let operand = Operand { name: self.fresh(&graph.node(id).name), ty: Type::of(fact)? };
        self.arguments.push(operand.clone());
        self.values.insert(value, operand);
        Ok(())
    }

    /// A result of the function.
    pub(super) fn result(&mut self, graph: &Graph, id: NodeId) -> Written {
        let value = graph.inputs(id).into_iter().flatten().next();
        let operand = value.and_then(|value| self.values.get(&value));
        self.results.push(operand.cloned().ok_or(OpError::NotConnected { port: 0 })?);
        Ok(())
    }

    /// A layer whose outputs are known.
    pub(super) fn constants(&mut self, graph: &Graph, id: NodeId) -> Written {
        for (port, out) in (0..).zip(&graph.node(id).outs) {
            let Some(tensor) = out.fact.as_tensor() else { continue };
            let operand = self.constant(&graph.node(id).name, tensor)?;
            self.values.insert(Value { node: id, port }, operand);
        }
        Ok(())
    }

    fn constant(&mut self, name: &str, tensor: &Tensor) -> Got {
        let ty = Type::of(&Fact::constant(std::sync::Arc::new(tensor.clone())))?;
        let operand = Operand { name: self.fresh(name), ty };
        let literal = literal::dense(tensor)?;
        let _ = writeln!(
            self.body,
            "    {} = stablehlo.constant dense<{literal}> : {}",
            operand.name, operand.ty
        );
        Ok(operand)
    }

    /// A name that no value has, as near to `name` as MLIR allows.
    fn fresh(&mut self, name: &str) -> String {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '-');
        let mut base: String = name.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
        // Digits at the start would be a number, and numbers are MLIR's own.
        if !base.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            base.insert(0, '_');
        }
        let mut chosen = format!("%{base}");
        for number in 1.. {
            if self.names.insert(chosen.clone()) {
                break;
            }
            chosen = format!("%{base}_{number}");
        }
        chosen
    }

    /// The module.
    pub(super) fn finish(self, name: &str) -> String {
        let types: Vec<String> = self.results.iter().map(|result| result.ty.to_string()).collect();
        let names: Vec<&str> = self.results.iter().map(|result| result.name.as_str()).collect();
        let arguments: Vec<String> =
            self.arguments.iter().map(|argument| format!("{}: {}", argument.name, argument.ty)).collect();
        let plain: String = name.chars().filter(|c| !c.is_control() && !matches!(c, '"' | '\\')).collect();
        format!(
            "module @\"{plain}\" {{\n  func.func public @main({}) -> ({}) {{\n{}    return {} : {}\n  }}\n}}\n",
            arguments.join(", "),
            types.join(", "),
            self.body,
            names.join(", "),
            types.join(", "),
        )
    }
}

/// Writes one layer.
pub(super) struct Emitter<'g> {
    graph: &'g Graph,
    id: NodeId,
    /// The layer.
    pub(super) node: &'g Node,
    /// Its attributes.
    pub(super) attrs: Attrs<'static>,
    inputs: Vec<Value>,
    function: &'g mut Function,
}

impl<'g> Emitter<'g> {
    pub(super) fn new(graph: &'g Graph, id: NodeId, function: &'g mut Function) -> Result<Self, OpError> {
        let inputs = graph.inputs(id).into_iter().enumerate();
        let inputs = inputs.map(|(port, value)| value.ok_or(OpError::NotConnected { port }));
        let inputs = inputs.collect::<Result<_, _>>()?;
        let node = graph.node(id);
        Ok(Self { graph, id, node, attrs: node.op.attrs(), inputs, function })
    }

    /// How many inputs there are.
    pub(super) fn len(&self) -> usize {
        self.inputs.len()
    }

    /// Input `i`.
    pub(super) fn input(&self, i: usize) -> Got {
        let value = self.inputs.get(i).ok_or(OpError::NotConnected { port: i })?;
        self.function.values.get(value).cloned().ok_or(OpError::NotConnected { port: i })
    }

    /// All inputs.
    pub(super) fn inputs(&self) -> Result<Vec<Operand>, OpError> {
        (0..self.len()).map(|i| self.input(i)).collect()
    }

    /// The integers of input `i`, which StableHLO wants to know.
    pub(super) fn fixed(&self, i: usize, what: &str) -> Result<Vec<i64>, OpError> {
        let known = self.known(i);
        known.ok_or_else(|| OpError::unsupported(format!("{what} known only at run time in StableHLO")))
    }

    /// The integers of input `i`, if they are known.
    pub(super) fn known(&self, i: usize) -> Option<Vec<i64>> {
        self.inputs.get(i).and_then(|&value| self.graph.fact(value)?.ints()).map(|ints| ints.to_vec())
    }

    /// The one real number of input `i`, if it is known.
    pub(super) fn known_real(&self, i: usize) -> Option<f64> {
        let fact = self.inputs.get(i).and_then(|&value| self.graph.fact(value))?;
        fact.as_tensor()?.to_f64_vec().ok()?.first().copied()
    }

    /// The type of output `port`.
    pub(super) fn output(&self, port: u32) -> Result<Type, OpError> {
        let fact = self.graph.fact(Value { node: self.id, port });
        Type::of(fact.ok_or(OpError::NotConnected { port: port as usize })?)
    }

    /// Whether somebody reads output `port`.
    pub(super) fn is_used(&self, port: u32) -> bool {
        !self.graph.uses(Value { node: self.id, port }).is_empty()
    }

    /// The value is output `port` of the layer.
    pub(super) fn give(&mut self, port: u32, operand: Operand) -> Written {
        let want = self.output(port)?;
        if operand.ty != want {
            return Err(OpError::mismatch("what is written in StableHLO", operand.ty, want));
        }
        self.function.values.insert(Value { node: self.id, port }, operand);
        Ok(())
    }

    /// An integer attribute of the layer.
    pub(super) fn int(&self, name: &'static str) -> Result<i64, OpError> {
        self.attrs.int(name)?.ok_or(OpError::MissingAttribute { name })
    }

    /// A real attribute of the layer.
    pub(super) fn float(&self, name: &'static str) -> Result<f64, OpError> {
        self.attrs.float(name)?.ok_or(OpError::MissingAttribute { name })
    }

    /// A truth value of the layer, false if it is not there.
    pub(super) fn flag(&self, name: &'static str) -> Result<bool, OpError> {
        Ok(self.attrs.bool(name)?.unwrap_or(false))
    }

    /// A word of the layer in small letters, empty if it is not there.
    pub(super) fn word(&self, name: &'static str) -> Result<String, OpError> {
        Ok(self.attrs.text(name)?.unwrap_or_default().to_ascii_lowercase())
    }

    /// `%x = dialect.op %a, %b : type`, for operations whose values all have one type.
    pub(super) fn same(&mut self, op: &str, operands: &[&Operand]) -> Operand {
        let ty = operands
            .first()
            .map_or(Type { element: ElementType::F32, dims: vec![] }, |first| first.ty.clone());
        // CHLO says the types of what goes in and of what comes out.
        let types = if op.starts_with("chlo") { format!(": {ty} -> {ty}") } else { format!(": {ty}") };
        self.line(op, &names(operands), &types, ty)
    }

    /// `%x = dialect.op ..what.. tail`.
    pub(super) fn line(&mut self, op: &str, what: &str, tail: &str, ty: Type) -> Operand {
        let name = self.function.fresh(&self.node.name);
        let space = if what.is_empty() || tail.starts_with(',') { "" } else { " " };
        let _ = writeln!(self.function.body, "    {name} = {op} {what}{space}{tail}");
        Operand { name, ty }
    }

    /// The generic form, which says everything: `%x = "stablehlo.op"(%a) <{attributes}> : (types) -> type`.
    pub(super) fn generic(&mut self, op: &str, operands: &[&Operand], attributes: &str, ty: Type) -> Operand {
        let types: Vec<String> = operands.iter().map(|operand| operand.ty.to_string()).collect();
        let attributes = if attributes.is_empty() { String::new() } else { format!(" <{{{attributes}}}>") };
        let tail = format!("({}){attributes} : ({}) -> {ty}", names(operands), types.join(", "));
        self.line(&format!("\"{op}\""), "", &tail, ty)
    }

    /// The generic form with a region: how two elements become one.
    pub(super) fn folding(
        &mut self,
        op: &str,
        operands: &[&Operand],
        attributes: &str,
        combine: &str,
        ty: Type,
    ) -> Operand {
        let scalar = ty.sized(&[]);
        let types: Vec<String> = operands.iter().map(|operand| operand.ty.to_string()).collect();
        let tail = format!(
            "({}) <{{{attributes}}}> ({{\n      ^bb0(%a: {scalar}, %b: {scalar}):\n        \
             %c = stablehlo.{combine} %a, %b : {scalar}\n        stablehlo.return %c : {scalar}\n    }}) : ({}) -> {ty}",
            names(operands),
            types.join(", "),
        );
        self.line(&format!("\"{op}\""), "", &tail, ty)
    }

    /// A constant.
    pub(super) fn constant(&mut self, tensor: &Tensor) -> Got {
        self.function.constant(&self.node.name, tensor)
    }

    /// One number in all places.
    pub(super) fn full(&mut self, value: f64, ty: &Type) -> Got {
        let one = Tensor::scalar(value).cast(ty.element)?;
        self.constant(&one.broadcast_to(&ty.dims)?)
    }

    /// Other elements of the same values.
    pub(super) fn convert(&mut self, x: &Operand, element: ElementType) -> Operand {
        if x.ty.element == element {
            return x.clone();
        }
        let ty = x.ty.with(element);
        self.line("stablehlo.convert", &x.name, &format!(": ({}) -> {ty}", x.ty), ty)
    }

    /// The same elements in other sizes.
    pub(super) fn reshape(&mut self, x: &Operand, dims: &[usize]) -> Operand {
        if x.ty.dims == dims {
            return x.clone();
        }
        let ty = x.ty.sized(dims);
        self.line("stablehlo.reshape", &x.name, &format!(": ({}) -> {ty}", x.ty), ty)
    }

    /// Axes in another order.
    pub(super) fn transpose(&mut self, x: &Operand, order: &[usize]) -> Operand {
        if order.iter().copied().eq(0..order.len()) {
            return x.clone();
        }
        let dims: Vec<usize> = order.iter().map(|&axis| x.ty.dims.get(axis).copied().unwrap_or(1)).collect();
        let ty = x.ty.sized(&dims);
        self.line("stablehlo.transpose", &x.name, &format!(", dims = {order:?} : ({}) -> {ty}", x.ty), ty)
    }

    /// Repeated to sizes `dims`: axis `i` of `x` becomes axis `axes[i]`, and has its size or 1.
    pub(super) fn spread(&mut self, x: &Operand, axes: &[usize], dims: &[usize]) -> Operand {
        if x.ty.dims == dims {
            return x.clone();
        }
        let ty = x.ty.sized(dims);
        self.line(
            "stablehlo.broadcast_in_dim",
            &x.name,
            &format!(", dims = {axes:?} : ({}) -> {ty}", x.ty),
            ty,
        )
    }

    /// Repeated to sizes `dims` as numpy does: axes are matched from the last on.
    pub(super) fn broadcast(&mut self, x: &Operand, dims: &[usize]) -> Operand {
        let first = dims.len().saturating_sub(x.ty.rank());
        let axes: Vec<usize> = (first..dims.len()).collect();
        self.spread(x, &axes, dims)
    }

    /// `%x = stablehlo.slice %a [0:2, 1:5:2]`, steps forward.
    pub(super) fn slice(&mut self, x: &Operand, ranges: &[[usize; 3]]) -> Operand {
        let dims: Vec<usize> = ranges
            .iter()
            .map(|&[start, stop, step]| stop.saturating_sub(start).div_ceil(step.max(1)))
            .collect();
        let entries: Vec<String> =
            ranges.iter().map(|[start, stop, step]| format!("{start}:{stop}:{step}")).collect();
        let ty = x.ty.sized(&dims);
        self.line("stablehlo.slice", &x.name, &format!("[{}] : ({}) -> {ty}", entries.join(", "), x.ty), ty)
    }

    /// Part `start..stop` of one axis.
    pub(super) fn part(&mut self, x: &Operand, axis: usize, start: usize, stop: usize) -> Operand {
        let mut ranges: Vec<[usize; 3]> = x.ty.dims.iter().map(|&dim| [0, dim, 1]).collect();
        if let Some(range) = ranges.get_mut(axis) {
            *range = [start, stop, 1];
        }
        self.slice(x, &ranges)
    }

    /// Axes turned round.
    pub(super) fn reverse(&mut self, x: &Operand, axes: &[usize]) -> Operand {
        let ty = x.ty.clone();
        self.line("stablehlo.reverse", &x.name, &format!(", dims = {axes:?} : {ty}"), ty)
    }

    /// Side by side along an axis.
    pub(super) fn concatenate(&mut self, parts: &[Operand], axis: usize) -> Operand {
        let Some(first) = parts.first() else { return self.same("stablehlo.concatenate", &[]) };
        if parts.len() == 1 {
            return first.clone();
        }
        let mut ty = first.ty.clone();
        if let Some(size) = ty.dims.get_mut(axis) {
            *size = parts.iter().filter_map(|part| part.ty.dims.get(axis)).sum();
        }
        let parts: Vec<&Operand> = parts.iter().collect();
        self.generic("stablehlo.concatenate", &parts, &format!("dimension = {axis} : i64"), ty)
    }

    /// The numbers `0, 1, 2 ..` along an axis.
    pub(super) fn iota(&mut self, axis: usize, ty: Type) -> Operand {
        self.line("stablehlo.iota", "", &format!("dim = {axis} : {ty}"), ty.clone())
    }

    /// `%x = stablehlo.compare LT, %a, %b`.
    pub(super) fn compare(&mut self, direction: &str, a: &Operand, b: &Operand) -> Operand {
        let ty = a.ty.with(ElementType::Boolean);
        let what = format!("{direction}, {}, {}", a.name, b.name);
        self.line("stablehlo.compare", &what, &format!(": ({}, {}) -> {ty}", a.ty, b.ty), ty)
    }

    /// `yes` where the condition holds, else `no`.
    pub(super) fn select(&mut self, condition: &Operand, yes: &Operand, no: &Operand) -> Operand {
        let tail = format!(": {}, {}", condition.ty, yes.ty);
        self.line("stablehlo.select", &names(&[condition, yes, no]), &tail, yes.ty.clone())
    }

    /// All elements along axes become one; the axes fall away.
    pub(super) fn reduce(&mut self, x: &Operand, axes: &[usize], combine: &str, start: &Operand) -> Operand {
        let kept = x.ty.dims.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
        let ty = x.ty.sized(&kept.map(|(_, &dim)| dim).collect::<Vec<_>>());
        let what = format!(
            "({} init: {}) applies stablehlo.{combine} across dimensions = {axes:?}",
            x.name, start.name
        );
        self.line("stablehlo.reduce", &what, &format!(": ({}, {}) -> {ty}", x.ty, start.ty), ty)
    }
}

fn names(operands: &[&Operand]) -> String {
    operands.iter().map(|operand| operand.name.as_str()).collect::<Vec<_>>().join(", ")
}
