//! Select-1.

use snick_shape::SymExpr;
use snick_tensor::{Tensor, kernels};

use super::auto_broadcast::AutoBroadcast;
use super::domain::Domain;
use super::known_elements::{element_interval, positions};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Selects elements from input 1 where input 0 is true, and from input 2 elsewhere. With `pdpd`, input 1
    /// is not broadcast.
    #[op(
        "Select", since = [1], inputs = Arity::exactly(3),
        category = Elementwise, traits = [PURE, ELEMENTWISE]
    )]
    pub struct Select {
        /// How the input shapes are broadcast.
        pub broadcast: AutoBroadcast = AutoBroadcast::Numpy,
    }
}

impl InferOp for Select {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        Domain::Boolean.check("the condition", cx.element_type(0))?;
        let et = cx.common_type([1, 2]);
        let branches = self.broadcast.infer(cx, cx.shape(1), cx.shape(2))?;
        let shape = self.broadcast.infer(cx, &branches, cx.shape(0))?;
        let fact = Fact::new(et, shape);
        let elements = self.elements(cx, &fact);
        Ok(Facts::from(fact.with_elements(elements)))
    }
}

impl EvalOp for Select {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let then = &inputs[1];
        let otherwise = self.broadcast.second(then, &inputs[2])?;
        let condition = self.broadcast.second(then, &inputs[0])?;
        Ok(vec![kernels::select(&condition, then, &otherwise)?])
    }
}

impl Select {
    fn elements(&self, cx: &mut Infer, out: &Fact) -> Option<Vec<SymExpr>> {
        let (condition, then, otherwise) = (cx.input(0), cx.input(1), cx.input(2));
        if !out.element_type.is_integer() || (then.known.is_none() && otherwise.known.is_none()) {
            return None;
        }
        if cx.inputs().iter().all(|input| input.as_tensor().is_some()) {
            return None;
        }
        let dims = out.shape.as_static()?;
        let rank = then.shape.rank()?;
        let at = |shape: &snick_shape::Shape, pdpd: bool| {
            let own = shape.as_static()?;
            let aligned =
                if pdpd { self.broadcast.aligned(rank, &own).ok()? } else { own.iter().copied().collect() };
            positions(&aligned, &dims)
        };
        let (ic, it, io) =
            (at(&condition.shape, true)?, at(&then.shape, false)?, at(&otherwise.shape, true)?);
        let conditions = condition.elements();
        let (yes, no) = (cx.elements_or_unknown(1)?, cx.elements_or_unknown(2)?);
        let mut elements = Vec::with_capacity(ic.len());
        for ((c, t), o) in ic.into_iter().zip(it).zip(io) {
            let (t, o) = (yes.get(t)?, no.get(o)?);
            let chosen = conditions.as_ref().and_then(|all| cx.interval(all.get(c)?).is_exact());
            elements.push(match chosen {
                Some(0) => o.clone(),
                Some(_) => t.clone(),
                None if t == o => t.clone(),
                None => {
                    let et = out.element_type;
                    let either = element_interval(cx, t, et).hull(element_interval(cx, o, et));
                    cx.unknown(either)
                }
            });
        }
        Some(elements)
    }
}
