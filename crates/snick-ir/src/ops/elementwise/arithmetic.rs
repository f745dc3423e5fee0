//! Arithmetic of two tensors that broadcast: a row of the table each.
//!
//! Add-1, Subtract-1, Multiply-1, Divide-1 (integers round down if `m_pythondiv`, else are cut), Maximum-1,
//! Minimum-1, Power-1, SquaredDifference-1, Mod-1 (the sign of the dividend), FloorMod-1 (the sign of the divisor).

use smallvec::smallvec;
use snick_shape::{Interval, SymExpr};
use snick_tensor::kernels::{BinaryOp, ElementFunction};
use snick_tensor::{ElementType, Tensor};

use super::auto_broadcast::AutoBroadcast;
use super::domain::Domain;
use super::known_elements::{element_interval, type_range, unwrapped, zip};
use super::known_floats;
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// Powers above this are not written as products.
const MAX_EXPONENT: i64 = 4;

/// A function of two numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Arithmetic {
    /// Which. Divide is `Div` or `FloorDiv`.
    pub function: BinaryOp,
    /// How the inputs are brought together.
    pub broadcast: AutoBroadcast,
}

typed_names! {
    Arithmetic { function, broadcast: AutoBroadcast }
    Add = BinaryOp::Add,
    Subtract = BinaryOp::Sub,
    Multiply = BinaryOp::Mul,
    Divide = BinaryOp::FloorDiv,
    Maximum = BinaryOp::Max,
    Minimum = BinaryOp::Min,
    Power = BinaryOp::Pow,
    SquaredDifference = BinaryOp::SquaredDifference,
    Mod = BinaryOp::Mod,
    FloorMod = BinaryOp::FloorMod,
}

/// In the order of the names.
const FUNCTIONS: [BinaryOp; 10] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Max,
    BinaryOp::Min,
    BinaryOp::Pow,
    BinaryOp::SquaredDifference,
    BinaryOp::Mod,
    BinaryOp::FloorMod,
];

impl OpDef for Arithmetic {
    const NAMES: &'static [OpName] = &[
        OpName::openvino("Add", &[1]),
        OpName::openvino("Subtract", &[1]),
        OpName::openvino("Multiply", &[1]),
        OpName::openvino("Divide", &[1]),
        OpName::openvino("Maximum", &[1]),
        OpName::openvino("Minimum", &[1]),
        OpName::openvino("Power", &[1]),
        OpName::openvino("SquaredDifference", &[1]),
        OpName::openvino("Mod", &[1]),
        OpName::openvino("FloorMod", &[1]),
    ];
    const ARITY: Arity = Arity::exactly(2);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let function = match FUNCTIONS[raw.row(Self::NAMES)] {
            BinaryOp::Div if raw.attrs.bool("m_pythondiv")?.unwrap_or(true) => BinaryOp::FloorDiv,
            other => other,
        };
        Ok(Self { function, broadcast: AutoBroadcast::parse(raw)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        let attrs = self.broadcast.write(Attrs::new());
        match self.function {
            BinaryOp::Div => attrs.with("m_pythondiv", false),
            BinaryOp::FloorDiv => attrs.with("m_pythondiv", true),
            _ => attrs,
        }
    }

    fn name(&self) -> &'static OpName {
        let plain = if self.function == BinaryOp::FloorDiv { BinaryOp::Div } else { self.function };
        &Self::NAMES[FUNCTIONS.iter().position(|f| *f == plain).unwrap_or(0)]
    }
}

impl InferOp for Arithmetic {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let et = Domain::Number.check("the inputs", cx.common_type([0, 1]))?;
        let shape = self.broadcast.infer(cx, cx.shape(0), cx.shape(1))?;
        let elements =
            zip(cx, self.broadcast, &shape, (0, 1), |cx, a, b| element(self.function, cx, a, b, et));
        let function = if self.function == BinaryOp::FloorDiv { BinaryOp::Div } else { self.function };
        let reals = known_floats::zip(cx, self.broadcast, &shape, function, et);
        Ok(smallvec![Fact::new(et, shape).with_elements(elements).with_reals(reals)])
    }
}

impl EvalOp for Arithmetic {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let a = &inputs[0];
        let b = &*self.broadcast.second(a, &inputs[1])?;
        Ok(vec![self.function.apply(a, b)?])
    }

    fn element_function(&self, _: &[&Fact]) -> Option<ElementFunction> {
        (self.broadcast == AutoBroadcast::Numpy).then_some(ElementFunction::Binary(self.function))
    }
}

/// The function of two integers of one type.
pub(crate) fn element(
    function: BinaryOp,
    cx: &mut Infer,
    a: &SymExpr,
    b: &SymExpr,
    et: ElementType,
) -> SymExpr {
    let (ia, ib) = (element_interval(cx, a, et), element_interval(cx, b, et));
    let both = [ia, ib];
    let unknown = |cx: &mut Infer| cx.unknown(type_range(et));
    let divides = matches!(function, BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod | BinaryOp::FloorMod);
    if divides && ib.contains(0) {
        return unknown(cx);
    }
    match function {
        BinaryOp::Add => unwrapped(cx, et, ia.add(ib), &both, |cx| cx.add(a, b)),
        BinaryOp::Sub => unwrapped(cx, et, ia.sub(ib), &both, |cx| cx.sub(a, b)),
        BinaryOp::Mul => unwrapped(cx, et, ia.mul(ib), &both, |cx| cx.mul(a, b)),
        BinaryOp::Max => cx.max(a, b),
        BinaryOp::Min => cx.min(a, b),
        BinaryOp::SquaredDifference => {
            let size = ia.sub(ib).abs();
            unwrapped(cx, et, size.mul(size), &both, |cx| {
                let difference = cx.sub(a, b);
                cx.mul(&difference, &difference)
            })
        }
        BinaryOp::Pow => power(cx, a, ia, b, et),
        BinaryOp::Div | BinaryOp::FloorDiv => {
            let (down, cut) = (ia.floor_div(ib), ia.trunc_div(ib));
            let plain = (ia.lo() >= 0 && ib.lo() > 0) || (function == BinaryOp::FloorDiv && down == cut);
            match plain {
                true => unwrapped(cx, et, down, &both, |cx| cx.floor_div(a, b)),
                // Runtimes differ in how they round what is below zero.
                false => {
                    let either = down.hull(cut);
                    unwrapped(cx, et, either, &both, |cx| cx.unknown(either))
                }
            }
        }
        BinaryOp::Mod if ia.lo() >= 0 && ib.lo() > 0 => modulo(cx, a, b, ia.modulo(ib), et, &both),
        BinaryOp::Mod => {
            let rest = ia.trunc_mod(ib);
            unwrapped(cx, et, rest, &both, |cx| cx.unknown(rest))
        }
        BinaryOp::FloorMod => modulo(cx, a, b, ia.modulo(ib), et, &both),
        BinaryOp::PRelu => unknown(cx),
    }
}

/// The remainder with the sign of the divisor.
fn modulo(
    cx: &mut Infer,
    a: &SymExpr,
    b: &SymExpr,
    rest: Interval,
    et: ElementType,
    operands: &[Interval],
) -> SymExpr {
    unwrapped(cx, et, rest, operands, |cx| match cx.symbols().modulo(a, b) {
        Some(expr) => expr,
        None => cx.unknown(rest),
    })
}

/// Small known powers.
fn power(cx: &mut Infer, a: &SymExpr, ia: Interval, b: &SymExpr, et: ElementType) -> SymExpr {
    let Some(exponent) = b.as_const().filter(|e| (0..=MAX_EXPONENT).contains(e)) else {
        return cx.unknown(type_range(et));
    };
    let (mut expr, mut interval) = (SymExpr::from(1), Interval::exact(1));
    for _ in 0..exponent {
        let product = interval.mul(ia);
        expr = unwrapped(cx, et, product, &[interval, ia], |cx| cx.mul(&expr, a));
        interval = element_interval(cx, &expr, et);
    }
    expr
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{infer, text};

    /// What inference says of `function` on an element of `a..` and one of `b..`, converted to `et` first.
    fn inferred(name: &str, a: (i64, i64), b: (i64, i64), et: ElementType) -> Interval {
        // A size of 0..=n, moved to where the range begins.
        let element = |name: &str, (lo, hi): (i64, i64)| {
            format!(
                "  %{name} = Parameter-1 {{element_type: f32, shape: \"0..{}\"}}
  %{name}s = ShapeOf-3(%{name}) {{output_type: i64}}
  %{name}k = Const-1 i64[1] <{lo}>
  %{name}m = Add-1(%{name}s, %{name}k) {{auto_broadcast: numpy}}
  %{name}e = Convert-1(%{name}m) {{destination_type: {et}}}
",
                hi - lo
            )
        };
        let (a, b) = (element("a", a), element("b", b));
        let text = format!("snick 1\ngraph \"t\" {{\n{a}{b}  %out = {name}(%ae, %be)\n}}\n");
        let mut graph = text::parse(&text, None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let out = graph.ids().find(|&id| &*graph.node(id).name == "out").unwrap();
        let fact = &graph.node(out).outs[0].fact;
        assert_eq!(fact.element_type, et);
        match fact.elements() {
            Some(elements) => graph.symbols.interval(&elements[0]),
            None => type_range(et),
        }
    }

    #[test]
    fn no_result_lies_outside_what_inference_says() {
        let ranges = [(-5, -2), (-3, 2), (0, 4), (1, 3), (3, 9), (2, 2), (90, 100)];
        for (row, function) in FUNCTIONS.into_iter().chain([BinaryOp::FloorDiv]).enumerate() {
            let name = match Arithmetic::NAMES.get(row) {
                Some(name) => format!("{}-1", name.name),
                None => "Divide-1".to_string(),
            };
            for et in [ElementType::I64, ElementType::I8] {
                for (a, b) in ranges.into_iter().flat_map(|a| ranges.map(|b| (a, b))) {
                    let said = inferred(&name, a, b, et);
                    for (x, y) in (a.0..=a.1).flat_map(|x| (b.0..=b.1).map(move |y| (x, y))) {
                        let [x, y] = [x, y].map(|v| Tensor::scalar(v).cast(et).unwrap());
                        let Ok(out) = function.apply(&x, &y) else { continue };
                        let value = out.to_i64_vec().unwrap()[0];
                        assert!(said.contains(value), "{name} {et} {a:?} {b:?}: {value} is not in {said}");
                    }
                }
            }
        }
    }

    #[test]
    fn tight_where_ends_alone_would_be_wrong() {
        let i = |lo, hi| Interval::new(lo, hi).unwrap();
        let et = ElementType::I64;
        assert_eq!(inferred("FloorMod-1", (2, 5), (3, 3), et), i(0, 2));
        assert_eq!(inferred("Mod-1", (-5, 1), (3, 3), et), i(-2, 1));
        assert_eq!(inferred("Divide-1", (7, 9), (2, 2), et), i(3, 4));
        assert_eq!(inferred("SquaredDifference-1", (0, 4), (1, 1), et), i(0, 9));
        assert_eq!(inferred("Multiply-1", (0, 100), (2, 2), ElementType::I8), i(-128, 127));
    }
}
