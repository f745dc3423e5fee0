//! Operations with regions: loops, reductions and scatters.

use snick_ir::OpError;
use snick_tensor::{ElementType, Tensor};

use super::emitter::{Emitter, FunctionBuilder, OpKind, Operand, ids};
use super::hlo::{Op, Region};
use super::scope::Mark;
use super::types::Type;

/// The state outside an open region, to restore when it closes.
pub(super) struct Around {
    scope: Mark,
    ops: Vec<Op>,
}

impl FunctionBuilder {
    /// Opens a region. Values and sizes that are defined inside are not visible outside:
    /// [`FunctionBuilder::close`] restores the outer scope.
    pub(super) fn open(&mut self) -> Around {
        Around { scope: self.scope.mark(), ops: std::mem::take(&mut self.ops) }
    }

    /// Closes the innermost region.
    pub(super) fn close(&mut self, around: Around, arguments: &[Operand], results: &[Operand]) -> Region {
        self.scope.forget(around.scope);
        let ops = std::mem::replace(&mut self.ops, around.ops);
        Region { arguments: ids(arguments), ops, results: ids(results) }
    }
}

impl Emitter<'_> {
    /// Writes an operation with a region that combines two elements by `combine`, or
    /// returns the second element if `combine` is `None`.
    pub(super) fn folding(
        &mut self,
        kind: OpKind,
        operands: &[&Operand],
        combine: Option<&'static str>,
        ty: Type,
    ) -> Operand {
        let scalar = ty.sized(&[]);
        let around = self.function.open();
        let [a, b] = ["a", "b"].map(|name| self.function.value(name, scalar.clone()));
        let result = match combine {
            Some(combine) => self.function.op("c", OpKind::Elementwise(combine), &[&a, &b], scalar),
            None => b.clone(),
        };
        let region = self.function.close(around, &[a, b], &[result]);
        let y = self.function.value(self.layer.node.name(), ty);
        self.function.push(kind, operands, std::slice::from_ref(&y), vec![region]);
        y
    }

    /// Reduces axes and drops them.
    pub(super) fn reduce(
        &mut self,
        x: &Operand,
        axes: &[usize],
        combine: &'static str,
        start: &Operand,
    ) -> Operand {
        let kept = x.ty.dims.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
        let ty = x.ty.sized(kept.map(|(_, dim)| dim.clone()).collect::<Vec<_>>());
        self.op(OpKind::Reduce { combine, axes: axes.to_vec() }, &[x, start], ty)
    }

    /// Runs `body` for each number below `count`, an i64 scalar. Each iteration gets the results of the
    /// previous one, starting with `start`; returns the last results. `condition` is the index in `start` of
    /// a boolean that must be true to continue.
    pub(super) fn repeat(
        &mut self,
        count: &Operand,
        start: &[Operand],
        condition: Option<usize>,
        body: impl FnOnce(&mut Self, &Operand, &[Operand]) -> Result<Vec<Operand>, OpError>,
    ) -> Result<Vec<Operand>, OpError> {
        let zero = self.constant(&Tensor::scalar(0_i64))?;
        let carried: Vec<&Operand> = std::iter::once(&zero).chain(start).collect();
        let arguments: Vec<Operand> =
            carried.iter().map(|x| self.function.value("state", x.ty.clone())).collect();
        let mut results = self.function.values(self.layer.node.name(), carried.iter().map(|x| x.ty.clone()));
        let Some((number, states)) = arguments.split_first() else { return Ok(vec![]) };
        let around = self.function.open();
        let mut goes_on = self.compare("LT", number, count);
        if let Some(condition) = condition.and_then(|place| states.get(place)) {
            goes_on = self.same("and", &[&goes_on, condition]);
        }
        let condition = self.function.close(around, &arguments, &[goes_on]);
        let around = self.function.open();
        let mut next = body(self, number, states)?;
        let one = self.constant(&Tensor::scalar(1_i64))?;
        next.insert(0, self.same("add", &[number, &one]));
        let body = self.function.close(around, &arguments, &next);
        self.function.push(OpKind::While, &carried, &results, vec![condition, body]);
        Ok(results.split_off(1))
    }

    /// Replaces a slice of `x` along one axis with `part`. The slice starts at `place`, an i64 scalar.
    pub(super) fn put(
        &mut self,
        x: &Operand,
        part: &Operand,
        axis: usize,
        at: &Operand,
    ) -> Result<Operand, OpError> {
        let zero = self.constant(&Tensor::scalar(0_i64))?;
        let places = (0..x.ty.rank()).map(|own| if own == axis { at } else { &zero });
        let operands: Vec<&Operand> = [x, part].into_iter().chain(places).collect();
        Ok(self.op(OpKind::DynamicUpdateSlice, &operands, x.ty.clone()))
    }

    /// Converts to an i64 scalar.
    pub(super) fn index(&mut self, x: &Operand) -> Result<Operand, OpError> {
        let x = self.reshape(x, &[])?;
        Ok(self.convert(&x, ElementType::I64))
    }
}
