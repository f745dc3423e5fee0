//! Dynamic sizes: expressions over the sizes of arguments, written as arithmetic.

use snick_ir::{Graph, NodeId, Op, OpError, Value};
use snick_shape::{ExprFolder, ExprOp, SymExpr, SymbolId};
use snick_tensor::{ElementType, Tensor};

use super::emitter::{Emitter, FunctionBuilder, OpKind, Operand, Result};
use super::types::{Sizes, Type};

/// The type of a size.
fn scalar() -> Type {
    Type { element: ElementType::I64, dims: vec![] }
}

/// The symbols in the sizes of a graph's inputs.
pub(super) fn of_arguments(graph: &Graph) -> Vec<SymbolId> {
    let arguments = graph.parameters();
    let facts = arguments.filter_map(|node| graph.fact(Value { node, port: 0 }));
    let mut symbols: Vec<SymbolId> =
        facts.filter_map(|fact| fact.shape.dims()).flatten().filter_map(SymExpr::as_symbol).collect();
    symbols.sort_unstable();
    symbols.dedup();
    symbols
}

/// Whether a layer computes integers that depend only on the sizes of the graph's inputs, as ShapeOf does.
pub(super) fn is_shape_value(graph: &Graph, id: NodeId, symbols: &[SymbolId]) -> bool {
    let node = graph.node(id);
    let known = |symbol: &SymbolId| symbols.binary_search(symbol).is_ok();
    !matches!(node.op(), Op::Parameter(_) | Op::Result(_))
        && !node.outs().is_empty()
        && node.outs().iter().all(|out| {
            let elements = out.fact.elements();
            elements.is_some_and(|elements| elements.iter().all(|e| e.symbols().iter().all(known)))
        })
}

impl FunctionBuilder {
    /// Writes a layer whose outputs only depend on sizes.
    pub(super) fn emit_shape_value(&mut self, graph: &Graph, id: NodeId) -> Result {
        let node = graph.node(id);
        for (port, out) in (0..).zip(node.outs()) {
            let ty = self.type_of(&out.fact)?;
            let elements = out.fact.elements().unwrap_or_default();
            let numbers = self.vector(node.name(), &elements)?;
            let shaped = self.shaped(node.name(), numbers, &ty.with(ElementType::I64));
            // Inference represents booleans as 0 and 1.
            let converted = self.convert(node.name(), shaped, ty.element);
            self.define(Value { node: id, port }, converted);
        }
        Ok(())
    }

    /// Reshapes a value to a type with known sizes.
    pub(super) fn shaped(&mut self, name: &str, x: Operand, ty: &Type) -> Operand {
        if x.ty == *ty {
            return x;
        }
        self.op(name, OpKind::Reshape, &[&x], ty.clone())
    }

    /// Writes expressions as an i64 vector.
    pub(super) fn vector(&mut self, name: &str, numbers: &[SymExpr]) -> Result<Operand> {
        let known: Option<Vec<i64>> = numbers.iter().map(SymExpr::as_const).collect();
        let one = scalar().sized(&[1]);
        if let Some(known) = known {
            return self.constant(name, &Tensor::from_vec(&[known.len()], known)?);
        }
        let mut parts = Vec::with_capacity(numbers.len());
        for number in numbers {
            let part = self.number(number)?;
            parts.push(self.shaped("size", part, &one));
        }
        if let [part] = parts.as_slice() {
            return Ok(part.clone());
        }
        Ok(self.op(
            name,
            OpKind::SizeVector,
            &parts.iter().collect::<Vec<_>>(),
            scalar().sized(&[parts.len()]),
        ))
    }

    /// Writes an expression as an i64 scalar, unless it was already written.
    pub(super) fn number(&mut self, number: &SymExpr) -> Result<Operand> {
        if let Some(known) = self.scope.numbers.get(number) {
            return Ok(known.clone());
        }
        let scalar = number.translate(self)?;
        self.scope.numbers.insert(number.clone(), scalar.clone());
        Ok(scalar)
    }

    /// Makes a number, an i64 scalar, the value of a size that depends on data. Does nothing if the size is known
    /// or if the format does not allow such sizes.
    pub(super) fn learn(&mut self, size: &SymExpr, number: &Operand) {
        if self.sizes_from_data && !self.knows(size) {
            self.scope.numbers.insert(size.clone(), number.clone());
        }
    }

    /// Whether a size can be computed from the values written so far.
    pub(super) fn knows(&self, size: &SymExpr) -> bool {
        let scope = &self.scope;
        scope.numbers.contains_key(size)
            || size.symbols().into_iter().all(|symbol| {
                scope.sources.contains_key(&symbol) || scope.numbers.contains_key(&symbol.into())
            })
    }

    /// The size of an axis as an i64 scalar.
    pub(super) fn size(&mut self, x: &Operand, axis: usize) -> Operand {
        let size = self.op("size", OpKind::GetDimensionSize(axis), &[x], scalar().with(ElementType::I32));
        self.convert("size", size, ElementType::I64)
    }

    pub(super) fn step(&mut self, op: &'static str, operands: &[&Operand]) -> Operand {
        let key = (op, operands.iter().map(|operand| operand.id).collect::<Vec<_>>());
        if let Some(known) = self.scope.steps.get(&key) {
            return known.clone();
        }
        let step = self.op("size", OpKind::Elementwise(op), operands, scalar());
        self.scope.steps.insert(key, step.clone());
        step
    }
}

impl ExprFolder for FunctionBuilder {
    type Output = Operand;
    type Error = OpError;

    fn constant(&mut self, value: i64) -> Result<Operand> {
        if let Some(known) = self.scope.numbers.get(&SymExpr::Const(value)) {
            return Ok(known.clone());
        }
        let number = Self::constant(self, "size", &Tensor::scalar(value))?;
        self.scope.numbers.insert(value.into(), number.clone());
        Ok(number)
    }

    fn symbol(&mut self, symbol: SymbolId) -> Result<Operand> {
        if let Some(known) = self.scope.numbers.get(&SymExpr::Symbol(symbol)) {
            return Ok(known.clone());
        }
        let source = self.scope.sources.get(&symbol).cloned();
        let (x, axis) = source.ok_or_else(|| OpError::unsupported("a size that depends on data"))?;
        let size = self.size(&x, axis);
        self.scope.numbers.insert(SymExpr::Symbol(symbol), size.clone());
        Ok(size)
    }

    fn combine(&mut self, how: ExprOp, a: Operand, b: Operand) -> Result<Operand> {
        let op = match how {
            ExprOp::Add => "add",
            ExprOp::Multiply => "multiply",
            ExprOp::Min => "minimum",
            ExprOp::Max => "maximum",
            ExprOp::FloorDivide => {
                // In StableHLO, division truncates, and the remainder has the sign of the dividend.
                let remainder = self.step("remainder", &[&a, &b]);
                let lifted = self.step("add", &[&remainder, &b]);
                let above = self.step("remainder", &[&lifted, &b]);
                let whole = self.step("subtract", &[&a, &above]);
                return Ok(self.step("divide", &[&whole, &b]));
            }
        };
        Ok(self.step(op, &[&a, &b]))
    }
}

impl Emitter<'_> {
    /// Writes the sizes to which `shapes` broadcast, for the axes that have no size yet. The size of an axis
    /// is the first size other than 1.
    pub(super) fn meet(&mut self, shapes: &[&[SymExpr]], dims: &[SymExpr]) -> Result {
        for (axis, dim) in dims.iter().enumerate() {
            let Some(symbol) = dim.as_symbol() else { continue };
            if self.function.scope.sources.contains_key(&symbol)
                || self.function.scope.numbers.contains_key(dim)
            {
                continue;
            }
            let own = shapes.iter().filter_map(|shape| {
                shape.get((axis + shape.len()).checked_sub(dims.len())?).filter(|d| d.as_const() != Some(1))
            });
            let own: Vec<SymExpr> = own.cloned().collect();
            let Some((first, others)) = own.split_first() else { continue };
            let mut size = self.number(first)?;
            for other in others {
                let (one, other) = (self.number(&1.into())?, self.number(other)?);
                let gives_way = self.compare("EQ", &size, &one);
                size = self.select(&gives_way, &other, &size);
            }
            self.function.scope.numbers.insert(dim.clone(), size);
        }
        Ok(())
    }

    /// Writes an expression as an i64 scalar.
    pub(super) fn number(&mut self, number: &SymExpr) -> Result<Operand> {
        self.function.number(number)
    }

    /// Writes sizes as an i64 vector.
    pub(super) fn vector(&mut self, sizes: impl Sizes) -> Result<Operand> {
        self.function.vector("sizes", &sizes.sizes())
    }

    /// The product of sizes.
    pub(super) fn product<'a>(
        &self,
        sizes: impl IntoIterator<Item = &'a SymExpr>,
    ) -> Result<SymExpr, OpError> {
        let symbols = self.graph.symbols();
        let mut sizes = sizes.into_iter();
        let product = sizes.try_fold(SymExpr::from(1), |all, size| symbols.mul(&all, size));
        product.ok_or_else(too_large)
    }

    /// The sum of sizes.
    pub(super) fn total<'a>(&self, sizes: impl IntoIterator<Item = &'a SymExpr>) -> Result<SymExpr, OpError> {
        let symbols = self.graph.symbols();
        let mut sizes = sizes.into_iter();
        let total = sizes.try_fold(SymExpr::from(0), |all, size| symbols.add(&all, size));
        total.ok_or_else(too_large)
    }
}

fn too_large() -> OpError {
    OpError::unsupported("a size with too many terms")
}
