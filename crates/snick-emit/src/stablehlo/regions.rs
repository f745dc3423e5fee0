//! Operations with regions: loops, reductions and scatters.

use snick_ir::OpError;
use snick_tensor::{ElementType, Tensor};

use super::emitter::{Emitter, Function, Operand, names};
use super::scope::Mark;
use super::types::Type;

impl Function {
    /// Opens a region. [`Function::close`] forgets the values and sizes that were written inside it.
    pub(super) fn open(&mut self) -> Mark {
        self.depth += 1;
        self.scope.mark()
    }

    /// Closes a region and returns to the scope before it.
    pub(super) fn close(&mut self, before: Mark) {
        self.depth -= 1;
        self.scope.forget(before);
    }
}

impl Emitter<'_> {
    /// Writes the generic form of an operation, with a region that combines two elements by `combine`, or
    /// returns the second element if `combine` is `None`.
    pub(super) fn folding(
        &mut self,
        op: &str,
        operands: &[&Operand],
        attributes: &str,
        combine: Option<&str>,
        ty: Type,
    ) -> Operand {
        let scalar = ty.sized(&[]);
        let [a, b] = ["a", "b"].map(|name| self.function.fresh(name));
        let (line, result) = match combine {
            Some(combine) => {
                let c = self.function.fresh("c");
                (format!("{c} = stablehlo.{combine} {a}, {b} : {scalar}\n        "), c)
            }
            None => (String::new(), b.clone()),
        };
        let types: Vec<String> = operands.iter().map(|operand| operand.ty.to_string()).collect();
        let tail = format!(
            "({}) <{{{attributes}}}> ({{\n      ^bb0({a}: {scalar}, {b}: {scalar}):\n        \
             {line}stablehlo.return {result} : {scalar}\n    }}) : ({}) -> {ty}",
            names(operands),
            types.join(", "),
        );
        self.line(&format!("\"{op}\""), "", &tail, ty)
    }

    /// Reduces each of these axes to one element and drops it.
    pub(super) fn reduce(&mut self, x: &Operand, axes: &[usize], combine: &str, start: &Operand) -> Operand {
        let kept = x.ty.dims.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
        let ty = x.ty.sized(kept.map(|(_, dim)| dim.clone()).collect::<Vec<_>>());
        let what = format!(
            "({} init: {}) applies stablehlo.{combine} across dimensions = {axes:?}",
            x.name, start.name
        );
        self.line("stablehlo.reduce", &what, &format!(": ({}, {}) -> {ty}", x.ty, start.ty), ty)
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
        let names: Vec<String> = carried.iter().map(|_| self.function.fresh("state")).collect();
        let types: Vec<String> = carried.iter().map(|x| x.ty.to_string()).collect();
        let types = types.join(", ");
        let begins: Vec<String> =
            names.iter().zip(&carried).map(|(name, x)| format!("{name} = {}", x.name)).collect();
        let head = format!("({}) : {types}", begins.join(", "));
        let result = self.function.lines(self.node.name(), "stablehlo.while", &head, carried.len());
        let states: Vec<Operand> =
            names.into_iter().zip(&carried).map(|(name, x)| Operand { name, ty: x.ty.clone() }).collect();
        let (Some(number), states) = (states.first(), states.get(1..).unwrap_or_default()) else {
            return Ok(vec![]);
        };
        self.function.write("cond {");
        let before = self.function.open();
        let mut goes_on = self.compare("LT", number, count);
        if let Some(condition) = condition.and_then(|place| states.get(place)) {
            goes_on = self.same("stablehlo.and", &[&goes_on, condition]);
        }
        self.function.write(&format!("stablehlo.return {} : {}", goes_on.name, goes_on.ty));
        self.function.close(before);
        self.function.write("} do {");
        let before = self.function.open();
        let next = body(self, number, states)?;
        let one = self.constant(&Tensor::scalar(1_i64))?;
        let number = self.same("stablehlo.add", &[number, &one]);
        let next: Vec<String> = std::iter::once(&number).chain(&next).map(|x| x.name.clone()).collect();
        self.function.write(&format!("stablehlo.return {} : {types}", next.join(", ")));
        self.function.close(before);
        self.function.write("}");
        let results = start.iter().enumerate();
        let results = results.map(|(i, x)| Operand { name: format!("{result}#{}", i + 1), ty: x.ty.clone() });
        Ok(results.collect())
    }

    /// Replaces a slice of `x` along one axis by `part`. `place`, an i64 scalar, is where the slice starts.
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
        Ok(self.generic("stablehlo.dynamic_update_slice", &operands, "", x.ty.clone()))
    }

    /// Converts to an i64 scalar.
    pub(super) fn index(&mut self, x: &Operand) -> Result<Operand, OpError> {
        let x = self.reshape(x, &[])?;
        Ok(self.convert(&x, ElementType::I64))
    }
}
