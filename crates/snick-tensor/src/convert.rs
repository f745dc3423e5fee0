//! Conversions between all numeric types: OpenVINO's `Convert-1`.
//!
//! Elements are converted through one of three wide types, which represent their source types exactly.

mod direct;

use std::ops::Range;

use half::{bf16, f16};

use crate::ElementType::{self, *};
use crate::buffer::filled;
use crate::small_float;
use crate::tensor::stored_bytes;
use crate::{Tensor, TensorError, packing};

/// Elements in a type wide enough to represent them exactly.
pub(crate) enum Wide {
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
    Float(Vec<f64>),
}

impl Wide {
    /// The wide type for an element type; `None` for strings.
    pub fn for_type(et: ElementType) -> Option<Wide> {
        match et {
            Dynamic | String => None,
            U64 => Some(Wide::Unsigned(Vec::new())),
            _ if et.is_float() => Some(Wide::Float(Vec::new())),
            _ => Some(Wide::Signed(Vec::new())),
        }
    }

    fn clear(&mut self) {
        match self {
            Wide::Signed(v) => v.clear(),
            Wide::Unsigned(v) => v.clear(),
            Wide::Float(v) => v.clear(),
        }
    }
}

/// Decodes the elements `range` of packed `bytes` and appends them to `wide`, which must have the variant
/// that [`Wide::for_type`] returns.
pub(crate) fn decode(et: ElementType, bytes: &[u8], range: Range<usize>, wide: &mut Wide) {
    macro_rules! each {
        ($out:expr, $rust:ty, $size:literal, $x:ident => $value:expr) => {{
            let (units, _) = bytes.as_chunks::<$size>();
            $out.extend(units[range].iter().map(|unit| {
                let $x = <$rust>::from_le_bytes(*unit);
                $value
            }))
        }};
    }
    match wide {
        Wide::Unsigned(out) => each!(out, u64, 8, x => x),
        Wide::Signed(out) => match et {
            Boolean => each!(out, u8, 1, x => i64::from(x != 0)),
            U8 => each!(out, u8, 1, x => i64::from(x)),
            U16 => each!(out, u16, 2, x => i64::from(x)),
            U32 => each!(out, u32, 4, x => i64::from(x)),
            I8 => each!(out, i8, 1, x => i64::from(x)),
            I16 => each!(out, i16, 2, x => i64::from(x)),
            I32 => each!(out, i32, 4, x => i64::from(x)),
            I64 => each!(out, i64, 8, x => x),
            I4 => out.extend(range.map(|i| {
                let raw = i64::from(packing::half_byte(bytes, i));
                if raw > 7 { raw - 16 } else { raw }
            })),
            U4 => out.extend(range.map(|i| i64::from(packing::half_byte(bytes, i)))),
            _ => out.extend(range.map(|i| packing::get(et, bytes, i) as i64)),
        },
        Wide::Float(out) => match et {
            F16 => each!(out, f16, 2, x => x.to_f64()),
            BF16 => each!(out, bf16, 2, x => x.to_f64()),
            F32 => each!(out, f32, 4, x => f64::from(x)),
            F64 => each!(out, f64, 8, x => x),
            NF4 | F4E2M1 => {
                let values = small_float::values(et);
                out.extend(range.map(|i| values[usize::from(packing::half_byte(bytes, i))]));
            }
            _ => {
                let values = small_float::values(et);
                out.extend(bytes[range].iter().map(|&code| values[usize::from(code)]));
            }
        },
    }
}

/// The smallest float above every `i32`.
const TOO_LARGE: f64 = 2_147_483_648.0;

/// A wide value to be converted to a narrow type.
trait Source: Copy {
    fn is_zero(self) -> bool;
    fn float(self) -> f64;
    /// The value as an `f32`, rounded directly: going through `f64` would round integers twice.
    fn float32(self) -> f32;
    /// The value as an integer, whose low bits are stored in the integer type `et`. Floats truncate; see
    /// [`Tensor::cast`] for out-of-range values.
    fn bits(self, et: ElementType) -> u64;
}

impl Source for i64 {
    fn is_zero(self) -> bool {
        self == 0
    }
    fn float(self) -> f64 {
        self as f64
    }
    fn float32(self) -> f32 {
        self as f32
    }
    fn bits(self, _: ElementType) -> u64 {
        self as u64
    }
}

impl Source for u64 {
    fn is_zero(self) -> bool {
        self == 0
    }
    fn float(self) -> f64 {
        self as f64
    }
    fn float32(self) -> f32 {
        self as f32
    }
    fn bits(self, _: ElementType) -> u64 {
        self
    }
}

impl Source for f64 {
    fn is_zero(self) -> bool {
        self == 0.0
    }
    fn float(self) -> f64 {
        self
    }
    fn float32(self) -> f32 {
        self as f32
    }
    fn bits(self, et: ElementType) -> u64 {
        match et {
            U64 if self > 0.0 => self as u64,
            U64 | U32 | I64 => self as i64 as u64,
            _ if self < TOO_LARGE => self as i32 as u64,
            _ => i32::MIN as u64,
        }
    }
}

/// Encodes `values` as elements of packed `bytes`, starting at element `first`.
fn encode<S: Source>(et: ElementType, values: &[S], first: usize, bytes: &mut [u8]) {
    macro_rules! each {
        ($size:literal, $x:ident => $value:expr) => {{
            let (units, _) = bytes.as_chunks_mut::<$size>();
            for (unit, &$x) in units[first..].iter_mut().zip(values) {
                *unit = $value.to_le_bytes();
            }
        }};
    }
    match et {
        Boolean => each!(1, x => u8::from(!x.is_zero())),
        U8 | I8 => each!(1, x => (x.bits(et) as u8)),
        U16 | I16 => each!(2, x => (x.bits(et) as u16)),
        U32 | I32 => each!(4, x => (x.bits(et) as u32)),
        U64 | I64 => each!(8, x => x.bits(et)),
        F32 => each!(4, x => x.float32()),
        F64 => each!(8, x => x.float()),
        F16 => each!(2, x => f16::from_f64(x.float())),
        BF16 => each!(2, x => bf16::from_f64(x.float())),
        F8E4M3 | F8E5M2 | F8E8M0 => each!(1, x => small_float::encode(et, x.float())),
        NF4 | F4E2M1 => {
            for (i, x) in values.iter().enumerate() {
                packing::set(et, bytes, first + i, small_float::encode(et, x.float()));
            }
        }
        _ => {
            for (i, x) in values.iter().enumerate() {
                packing::set(et, bytes, first + i, x.bits(et) as u8);
            }
        }
    }
}

impl Tensor {
    /// Converts elements by the rules of `Convert-1`:
    ///
    /// - Integer to integer: wraps.
    /// - Float to `i64`: truncates and saturates; `NaN` becomes 0.
    /// - Float to `u32`: converts to `i64`, then wraps.
    /// - Float to `u64`: truncates and saturates if positive. Otherwise converts to `i64`, then wraps.
    /// - Float to any other integer: truncates to `i32`, then wraps. Values outside the range of `i32` become
    ///   `i32::MIN` first, as on most processors and in the OpenVINO runtime.
    /// - Conversion to `boolean` means "not zero".
    /// - Conversion to a float rounds once, to nearest even. Only `f8e5m2` is rounded twice, because OpenVINO
    ///   converts to it through `f16`.
    ///
    /// # Errors
    /// [`TensorError::UnsupportedType`] for strings and `dynamic`.
    pub fn cast(&self, et: ElementType) -> Result<Tensor, TensorError> {
        if et == self.element_type() {
            return Ok(self.clone());
        }
        let from = self.element_type();
        let refuse = |element_type| TensorError::UnsupportedType { element_type };
        let mut wide = Wide::for_type(from).ok_or(refuse(from))?;
        Wide::for_type(et).ok_or(refuse(et))?;
        let (one, axes) = self.without_repeats();
        if axes.is_empty() && self.rank() > 0 {
            return one.cast(et)?.broadcast_to(self.dims());
        }
        if let Some(converted) = direct::convert(self, et)? {
            return Ok(converted);
        }
        let source = self.to_units();
        let mut bytes = filled(stored_bytes(et, self.dims())?, 0u8)?;
        // Works in blocks, so that the wide elements stay in the cache.
        const PIECE: usize = 4096;
        for first in (0..self.len()).step_by(PIECE) {
            let end = (first + PIECE).min(self.len());
            wide.clear();
            decode(from, &source, first..end, &mut wide);
            match &wide {
                Wide::Signed(values) => encode(et, values, first, &mut bytes),
                Wide::Unsigned(values) => encode(et, values, first, &mut bytes),
                Wide::Float(values) => encode(et, values, first, &mut bytes),
            }
        }
        Tensor::from_packed(et, self.dims(), bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cast(values: &[f32], et: ElementType) -> Tensor {
        Tensor::from_vec(&[values.len()], values.to_vec()).unwrap().cast(et).unwrap()
    }

    #[test]
    fn one_number_for_all_stays_one() {
        let all = Tensor::full(&[1 << 20, 1 << 12], 1.5f32).unwrap().cast(F16).unwrap();
        assert_eq!((all.dims(), all.strides()), (&[1 << 20, 1 << 12][..], &[0, 0][..]));
    }

    #[test]
    fn floats_truncate_and_wrap() {
        let i = cast(&[1.9, -1.9, 300.0, 3e9, f32::NAN], I8);
        assert_eq!(i.values::<i8>().unwrap()[..], [1, -1, 44, 0, 0]);
        let least = i64::from(i32::MIN);
        let wide = cast(&[3e9, -3e9, f32::NAN, f32::INFINITY, 2_147_483_520.0, -7.9], I32);
        assert_eq!(wide.to_i64_vec().unwrap(), [least, least, least, least, 2_147_483_520, -7]);
        assert_eq!(
            cast(&[3e9, -1.0, -200.7], U32).to_i64_vec().unwrap(),
            [3_000_000_000, 4_294_967_295, 4_294_967_096]
        );
        assert_eq!(
            cast(&[-1.0, 1e19], U64).values::<u64>().unwrap()[..],
            [u64::MAX, 9_999_999_980_506_447_872]
        );
        for et in [I8, U8, I16, U16] {
            let limits = cast(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 7e9], et);
            assert_eq!(limits.to_i64_vec().unwrap(), [0; 4], "{et}");
        }
        assert_eq!(cast(&[-0.0, 0.1, f32::NAN], Boolean).to_bools().unwrap(), [false, true, true]);
        assert_eq!(cast(&[1.0, 15.0, 2.0], U4).to_bytes()[..], [0xf1, 0x02]);
    }

    #[test]
    fn integers_wrap() {
        let t = Tensor::from_vec(&[2], vec![257i64, -1]).unwrap();
        assert_eq!(t.cast(U8).unwrap().values::<u8>().unwrap()[..], [1, 255]);
        assert_eq!(t.cast(U64).unwrap().values::<u64>().unwrap()[..], [257, u64::MAX]);
        assert_eq!(t.cast(I4).unwrap().to_i64_vec().unwrap(), [1, -1]);
        assert_eq!(t.cast(U3).unwrap().to_i64_vec().unwrap(), [1, 7]);
    }

    #[test]
    fn f16_rounds_to_even() {
        // 2049 and 2051 are halfway between adjacent f16 values.
        let h = cast(&[2049.0, 2051.0, 65520.0], F16);
        assert_eq!(h.to_f32_vec().unwrap(), [2048.0, 2052.0, f32::INFINITY]);
    }

    #[test]
    fn strings_are_not_numbers() {
        let s = Tensor::strings(&[1], vec!["1".to_owned()]).unwrap();
        assert!(s.cast(F32).is_err());
        assert!(Tensor::scalar(1.0f32).cast(String).is_err());
        assert!(Tensor::scalar(1.0f32).cast(Dynamic).is_err());
    }

    #[test]
    fn direct_conversions_equal_the_general_one() {
        let values = [0.0, -1.5, 1.5, 300.25, -7e9, 3e38, 1e-7, 65519.9, f32::INFINITY, f32::NAN];
        for from in [Boolean, U8, I8, I32, I64, F32, F64, F16, BF16] {
            let source = cast(&values, from);
            for to in [F32, F64, F16, BF16, I8, U8, I16, I32, I64] {
                let Some(found) = direct::convert(&source, to).unwrap() else { continue };
                let mut wide = Wide::for_type(from).unwrap();
                decode(from, &source.to_bytes(), 0..values.len(), &mut wide);
                let mut bytes = vec![0; to.byte_len(values.len()).unwrap()];
                match &wide {
                    Wide::Signed(v) => encode(to, v, 0, &mut bytes),
                    Wide::Unsigned(v) => encode(to, v, 0, &mut bytes),
                    Wide::Float(v) => encode(to, v, 0, &mut bytes),
                }
                let expected = Tensor::from_packed(to, &[values.len()], bytes).unwrap();
                let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
                let pairs = found.to_f64_vec().unwrap().into_iter().zip(expected.to_f64_vec().unwrap());
                assert!(
                    pairs.clone().all(|(a, b)| same(a, b)),
                    "{from} to {to}: {:?}",
                    pairs.collect::<Vec<_>>()
                );
            }
        }
    }

    #[test]
    fn every_numeric_type_holds_one() {
        for et in ElementType::ALL {
            if matches!(et, Dynamic | String) {
                continue;
            }
            let one = cast(&[1.0, 0.0, 1.0], et);
            let back = one.to_f64_vec().unwrap();
            assert_eq!((back[0], back[2]), (1.0, 1.0), "{et}");
            assert_eq!(one.slice(0, 2, 3, -1).unwrap().contiguous(), one, "{et}");
        }
    }

    #[test]
    fn exact_f64_and_f32_convert_alike() {
        use ElementType::*;
        let numbers: Vec<f64> =
            (0..4096).map(|i| f64::from(i * 4099 % (1 << 24)) / f64::from(1 << 23) - 1.0).collect();
        let wide = Tensor::from_vec(&[4096], numbers.clone()).unwrap();
        let narrow = Tensor::from_vec(&[4096], numbers.into_iter().map(|x| x as f32).collect()).unwrap();
        for et in [F16, NF4, F8E4M3, F8E5M2, F8E8M0, F4E2M1] {
            assert_eq!(wide.cast(et).unwrap(), narrow.cast(et).unwrap(), "{et}");
        }
    }
}
