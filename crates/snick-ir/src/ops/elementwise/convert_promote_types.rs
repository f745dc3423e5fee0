//! ConvertPromoteTypes-14.

use snick_tensor::{ElementType, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Converts both inputs to their common element type, as frameworks do before arithmetic.
    #[op(
        "ConvertPromoteTypes", since = [14], inputs = Arity::exactly(2),
        category = Elementwise, traits = [PURE]
    )]
    pub struct ConvertPromoteTypes {
        /// Whether to allow a common type that cannot represent all values of an input type.
        pub promote_unsafe: bool = false,
        /// Whether a scalar takes the type of a tensor of the same or a higher category.
        pub pytorch_scalar_promotion: bool = false,
        /// The common type of u64 and signed integers.
        pub u64_integer_promotion_target: ElementType = ElementType::F32,
    }
}

impl InferOp for ConvertPromoteTypes {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let scalar = |i: usize| cx.shape(i).rank().map(|rank| rank == 0);
        let common = self.common([cx.element_type(0), cx.element_type(1)], [scalar(0), scalar(1)])?;
        let mut facts = Facts::new();
        for i in 0..2 {
            let fact = cx.input(i);
            let same = common == fact.element_type;
            let whole = fact.element_type.is_integer() && widens(fact.element_type, common);
            let out = Fact::new(common, fact.shape.clone());
            facts.push(if same {
                fact.clone()
            } else {
                out.with_elements(fact.elements().filter(|_| whole))
            });
        }
        Ok(facts)
    }
}

impl EvalOp for ConvertPromoteTypes {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [a, b] = exactly(inputs)?;
        let scalars = [Some(a.rank() == 0), Some(b.rank() == 0)];
        let common = self.common([a.element_type(), b.element_type()], scalars)?;
        Ok(vec![a.cast(common)?, b.cast(common)?])
    }
}

impl ConvertPromoteTypes {
    /// The common type; `Dynamic` if it depends on an unknown type or rank.
    fn common(&self, types: [ElementType; 2], scalars: [Option<bool>; 2]) -> Result<ElementType, OpError> {
        let [a, b] = types;
        for (i, et) in types.into_iter().enumerate() {
            if category(et).is_none() && et != ElementType::Dynamic {
                return Err(OpError::element_type(format!("input {i}"), et, "a type that is promoted"));
            }
        }
        if a == b || a == ElementType::Dynamic || b == ElementType::Dynamic {
            return Ok(if a == b { a } else { ElementType::Dynamic });
        }
        let plain = self.by_types(a, b);
        if !self.pytorch_scalar_promotion {
            return self.checked(types, plain);
        }
        let with = |scalar_a: bool, scalar_b: bool| match (scalar_a, scalar_b) {
            (true, false) if category(a) <= category(b) => b,
            (false, true) if category(b) <= category(a) => a,
            _ => plain,
        };
        let either = |known: Option<bool>| match known {
            Some(scalar) => [scalar, scalar],
            None => [false, true],
        };
        let mut common = None;
        for scalar_a in either(scalars[0]) {
            for scalar_b in either(scalars[1]) {
                let next = with(scalar_a, scalar_b);
                if *common.get_or_insert(next) != next {
                    return Ok(ElementType::Dynamic);
                }
            }
        }
        let common = common.unwrap_or(plain);
        if common == plain && scalars.iter().all(Option::is_some) {
            self.checked(types, common)
        } else {
            Ok(common)
        }
    }

    /// Checks that the common type is one of the two types and can represent the values of the other, unless
    /// `promote_unsafe` is set.
    fn checked(&self, types: [ElementType; 2], common: ElementType) -> Result<ElementType, OpError> {
        if !self.promote_unsafe && !types.contains(&common) {
            let [a, b] = types;
            return Err(OpError::mismatch(
                "the common type",
                common,
                format!("{a} or {b}, or `promote_unsafe`"),
            ));
        }
        match types.into_iter().find(|&et| !self.promote_unsafe && !widens(et, common)) {
            Some(et) => Err(OpError::mismatch(
                "the common type",
                common,
                format!("one that can represent {et}, or `promote_unsafe`"),
            )),
            None => Ok(common),
        }
    }

    fn by_types(&self, a: ElementType, b: ElementType) -> ElementType {
        use ElementType::{Boolean, F16, F32, I8, I16, I32, I64, U64};
        match (a, b) {
            (Boolean, other) | (other, Boolean) => other,
            _ if a.is_float() && b.is_float() => match (bits(a), bits(b)) {
                (8, 8) => F16,
                (16, 16) => F32,
                (x, y) if x > y => a,
                _ => b,
            },
            _ if a.is_float() => a,
            _ if b.is_float() => b,
            _ if a.is_signed() == b.is_signed() => {
                if bits(a) > bits(b) {
                    a
                } else {
                    b
                }
            }
            (U64, _) | (_, U64) => self.u64_integer_promotion_target,
            _ => {
                let (signed, unsigned) = if a.is_signed() { (a, b) } else { (b, a) };
                if bits(signed) > bits(unsigned) {
                    return signed;
                }
                match bits(unsigned) {
                    0..=4 => I8,
                    8 => I16,
                    16 => I32,
                    _ => I64,
                }
            }
        }
    }
}

/// The category of a type: boolean, integer or real; `None` for types that are never promoted.
fn category(et: ElementType) -> Option<u8> {
    use ElementType::{F4E2M1, F8E8M0, NF4, U2, U3, U6};
    match et {
        U2 | U3 | U6 | NF4 | F4E2M1 | F8E8M0 => None,
        ElementType::Boolean => Some(0),
        et if et.is_integer() => Some(1),
        et if et.is_float() => Some(2),
        _ => None,
    }
}

fn bits(et: ElementType) -> u32 {
    et.bit_width().unwrap_or(0)
}

/// Whether `to` covers the range of `from`.
fn widens(from: ElementType, to: ElementType) -> bool {
    if from == to || from == ElementType::Boolean {
        return true;
    }
    match (from.integer_range(), to.integer_range()) {
        (Some((lo, hi)), Some((least, most))) => least <= lo && hi <= most,
        (Some(_), None) => bits(to) > bits(from),
        (None, Some(_)) => false,
        (None, None) => bits(to) > bits(from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_types() {
        use ElementType::*;
        let op = ConvertPromoteTypes {
            promote_unsafe: true,
            pytorch_scalar_promotion: true,
            u64_integer_promotion_target: F32,
        };
        let of = |a, b, scalars: [bool; 2]| op.common([a, b], scalars.map(Some)).unwrap();
        assert_eq!(of(I32, F16, [false, false]), F16);
        assert_eq!(of(F16, BF16, [false, false]), F32);
        assert_eq!(of(U8, I8, [false, false]), I16);
        assert_eq!(of(U64, I8, [false, false]), F32);
        assert_eq!(of(I64, U8, [true, false]), U8);
        assert_eq!(of(F32, U8, [true, false]), F32);
        assert_eq!(of(Boolean, U8, [false, false]), U8);
        let safe = ConvertPromoteTypes { promote_unsafe: false, ..op };
        let of = |a, b| safe.common([a, b], [Some(false); 2]).ok();
        assert_eq!(of(U8, I16), Some(I16));
        assert_eq!(of(F16, F32), Some(F32));
        assert_eq!(of(F16, BF16), None);
        assert_eq!(of(U8, I8), None);
        assert_eq!(of(U2, U8), None);
    }
}
