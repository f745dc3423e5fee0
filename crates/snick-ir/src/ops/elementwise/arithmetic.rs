//! Binary arithmetic with broadcasting.

use std::borrow::Cow;

use snick_shape::{Interval, SymExpr};
use snick_tensor::kernels::{BinaryOp, ElementFunction};
use snick_tensor::{ElementType, Tensor};

use super::auto_broadcast::AutoBroadcast;
use super::domain::Domain;
use super::known_elements::{element_interval, type_range, unwrapped, zip};
use super::known_floats;
use crate::{
    Arity, AttrField, AttrSpec, AttrValue, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpError, RawNode,
};

/// Powers with larger known exponents are not expanded to products.
const MAX_EXPONENT: i64 = 4;

op_family! {
    /// An element-wise function of two numbers.
    #[family(inputs = Arity::exactly(2), category = Elementwise, traits = [PURE, ELEMENTWISE], function = own)]
    pub struct Arithmetic(BinaryOp) {
        /// How the input shapes are broadcast.
        pub broadcast: AutoBroadcast = AutoBroadcast::Numpy,
    }
    /// The sum of two inputs.
    Add: "Add", [1] => BinaryOp::Add;
    /// The difference of two inputs.
    Subtract: "Subtract", [1] => BinaryOp::Sub;
    /// The product of two inputs.
    Multiply: "Multiply", [1] => BinaryOp::Mul;
    /// The quotient of two inputs. Integers are rounded down, or towards zero if `m_pythondiv` is false.
    Divide: "Divide", [1] => BinaryOp::FloorDiv;
    /// The quotient of two inputs. Integers are rounded down, or towards zero if `m_pythondiv` is false.
    TruncatedDivide: "Divide", [1] => BinaryOp::Div;
    /// The larger of two inputs.
    Maximum: "Maximum", [1] => BinaryOp::Max;
    /// The smaller of two inputs.
    Minimum: "Minimum", [1] => BinaryOp::Min;
    /// Input 0 to the power of input 1.
    Power: "Power", [1] => BinaryOp::Pow;
    /// The square of the difference of two inputs.
    SquaredDifference: "SquaredDifference", [1] => BinaryOp::SquaredDifference;
    /// The remainder of a division, with the sign of the dividend.
    Mod: "Mod", [1] => BinaryOp::Mod;
    /// The remainder of a division, with the sign of the divisor.
    FloorMod: "FloorMod", [1] => BinaryOp::FloorMod;
}

const PYTHON_DIVISION: &str = "m_pythondiv";

/// The operation type determines the function, except for the rounding of Divide, which is an attribute.
impl AttrField for BinaryOp {
    fn kind() -> Cow<'static, str> {
        bool::kind()
    }

    fn parse(raw: &RawNode, _: &'static str) -> Result<Option<Self>, OpError> {
        Ok(match Arithmetic::named(raw.op_type) {
            Some(Self::FloorDiv) if raw.attrs.bool(PYTHON_DIVISION)? == Some(false) => Some(Self::Div),
            function => function,
        })
    }

    fn value(&self) -> Option<AttrValue<'static>> {
        matches!(self, Self::Div | Self::FloorDiv).then(|| AttrValue::Bool(*self == Self::FloorDiv))
    }

    fn write(&self, _: &'static str, attrs: &mut Attrs<'static>) {
        attrs.extend(self.value().into_iter().map(|value| (PYTHON_DIVISION.into(), value)).collect());
    }

    fn describe(spec: AttrSpec, specs: &mut Vec<AttrSpec>) {
        let doc = "Of Divide: whether integers are rounded down.";
        let default = Some("true".into());
        specs.push(AttrSpec {
            name: PYTHON_DIVISION,
            kind: Self::kind(),
            default,
            required: false,
            doc,
            ..spec
        });
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
        Ok(Facts::from(Fact::new(et, shape).with_elements(elements).with_reals(reals)))
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

    fn is_commutative(&self) -> bool {
        let is_symmetric = matches!(
            self.function,
            BinaryOp::Add | BinaryOp::Mul | BinaryOp::Max | BinaryOp::Min | BinaryOp::SquaredDifference
        );
        is_symmetric && self.broadcast.is_symmetric()
    }
}

/// The result of `function` for two integers of one type.
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
                // Runtimes round negative quotients differently, so the result may be either of the two
                // roundings.
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

/// Expands powers with a small known exponent.
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
    use crate::OpDef;
    use crate::{infer, text};

    /// The inferred interval of the op `name`, for operands in the ranges `a` and `b` that are first
    /// converted to `et`.
    fn inferred(name: &str, a: (i64, i64), b: (i64, i64), et: ElementType) -> Interval {
        // The element is a dim of `0..=n`, shifted to the start of its range.
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
        let out = graph.ids().find(|&id| graph.node(id).name() == "out").unwrap();
        let fact = &graph.node(out).outs()[0].fact;
        assert_eq!(fact.element_type, et);
        match fact.elements() {
            Some(elements) => graph.symbols.interval(&elements[0]),
            None => type_range(et),
        }
    }

    #[test]
    fn no_result_lies_outside_what_inference_says() {
        let ranges = [(-5, -2), (-3, 2), (0, 4), (1, 3), (3, 9), (2, 2), (90, 100)];
        for (name, function) in Arithmetic::NAMES.iter().zip(Arithmetic::FUNCTIONS) {
            let name = format!("{}-1", name.name);
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
