//! Arithmetic of two tensors that broadcast: a row of the table each.
//!
//! Add-1, Subtract-1, Multiply-1, Divide-1 (integers round down if `m_pythondiv`, else are cut), Maximum-1,
//! Minimum-1, Power-1, SquaredDifference-1, Mod-1 (the sign of the dividend), FloorMod-1 (the sign of the divisor).

use smallvec::smallvec;
use snick_shape::{Interval, SymExpr};
use snick_tensor::kernels::BinaryOp;
use snick_tensor::{ElementType, Tensor};

use super::auto_broadcast::AutoBroadcast;
use super::domain::Domain;
use super::known_elements::{element_interval, type_range, unwrapped, zip};
use crate::{Arity, Attrs, Fact, Facts, Infer, OpDef, OpError, OpName, RawNode};

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

    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let et = Domain::Number.check("the inputs", cx.common_type([0, 1])?)?;
        let shape = self.broadcast.infer(cx, cx.shape(0), cx.shape(1))?;
        let elements =
            zip(cx, self.broadcast, &shape, (0, 1), |cx, a, b| element(self.function, cx, a, b, et));
        Ok(smallvec![Fact::new(et, shape).with_elements(elements)])
    }

    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let (a, b) = self.broadcast.operands(&inputs[0], &inputs[1])?;
        Ok(vec![self.function.apply(&a, &b)?])
    }
}

/// The function of two integers of one type.
fn element(function: BinaryOp, cx: &mut Infer, a: &SymExpr, b: &SymExpr, et: ElementType) -> SymExpr {
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
