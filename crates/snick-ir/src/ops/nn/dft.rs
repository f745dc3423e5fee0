//! DFT-7 and IDFT-7: the discrete Fourier transform and its inverse.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::Tensor;

use crate::{Arity, Fact, Facts, Infer, OpDef, OpError, OpName, RawNode};

/// Data `[.., 2]` of real and imaginary parts, axes, and maybe the size of the signal along each of them, to which
/// the data is cut or padded; -1 is the size it has.
#[derive(Clone, PartialEq, Debug)]
pub struct Dft {
    /// Back to the signal.
    pub inverse: bool,
}

const NAMES: [OpName; 2] = [OpName::openvino("DFT", &[7]), OpName::openvino("IDFT", &[7])];

impl OpDef for Dft {
    const NAMES: &'static [OpName] = &NAMES;
    const ARITY: Arity = Arity::between(2, 3);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { inverse: raw.row(&NAMES) == 1 })
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[usize::from(self.inverse)]
    }

    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(0, "2 or more", |rank| rank >= 2)?;
        for i in 1..cx.len() {
            cx.expect_integer(i)?;
            cx.expect_rank(i, "1", |rank| rank == 1)?;
        }
        let element_type = cx.element_type(0);
        if cx.len() > 2 {
            cx.merge_shapes("transform along axes", cx.shape(1), cx.shape(2))?;
        }
        let Some([space @ .., parts]) = cx.shape(0).dims() else {
            return Ok(smallvec![Fact::new(element_type, Shape::unranked())]);
        };
        if !cx.interval(parts).contains(2) {
            return Err(OpError::mismatch("the last size", cx.interval(parts), 2));
        }
        let mut dims: SmallVec<[SymExpr; 4]> = space.iter().cloned().collect();
        let axes = cx.input(1).ints();
        if let Some(axes) = &axes {
            crate::normalize_axes(axes, space.len())?;
        }
        if let Some(sizes) = cx.optional(2) {
            let sizes = sizes.elements();
            match &axes {
                None => dims.iter_mut().for_each(|dim| *dim = cx.unknown(Interval::DIM)),
                Some(axes) => {
                    let at = crate::normalize_axes(axes, space.len())?;
                    for (i, axis) in at.into_iter().enumerate() {
                        let size = sizes.as_ref().and_then(|sizes| sizes.get(i));
                        if let Some(slot) = dims.get_mut(axis) {
                            *slot = resized(cx, slot, size)?;
                        }
                    }
                }
            }
        }
        dims.push(parts.clone());
        Ok(smallvec![Fact::new(element_type, Shape::ranked(dims))])
    }

    fn eval(&self, _: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Err(OpError::unsupported(format!("running {}", self.name().name)))
    }
}

/// The size of the signal along an axis: `size`, or `dim` where it is -1.
fn resized(cx: &mut Infer, dim: &SymExpr, size: Option<&SymExpr>) -> Result<SymExpr, OpError> {
    let Some(size) = size else { return Ok(cx.unknown(Interval::DIM)) };
    let interval = cx.interval(size);
    if interval.lo() >= 0 {
        return Ok(size.clone());
    }
    let positive = interval.meet(Interval::DIM);
    match (interval.contains(-1), positive) {
        (true, None) => Ok(dim.clone()),
        (true, Some(positive)) => {
            let hull = positive.hull(cx.interval(dim));
            Ok(cx.unknown(hull))
        }
        (false, Some(positive)) => Ok(cx.unknown(positive)),
        (false, None) => Err(OpError::mismatch("a size of the signal", interval, "-1 or more")),
    }
}
