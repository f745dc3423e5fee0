//! Floats of 8 and 4 bits: the OCP formats and `nf4`.

use std::sync::OnceLock;

use crate::ElementType::{self, *};

/// The values of `nf4`: quantiles of a normal distribution, scaled to -1..1 (QLoRA, appendix E).
const NF4_LEVELS: [f32; 16] = [
    -1.0,
    -0.696_192_8,
    -0.525_073_05,
    -0.394_917_5,
    -0.284_441_38,
    -0.184_773_43,
    -0.091_050_036,
    0.0,
    0.079_580_3,
    0.160_930_2,
    0.246_112_3,
    0.337_915_24,
    0.440_709_83,
    0.562_617,
    0.722_956_84,
    1.0,
];

/// A format with a sign bit: exponent and mantissa bits, and the code of the largest finite value.
struct Format {
    exponent: u32,
    mantissa: u32,
    largest: u8,
    /// The code for larger values; equal to `largest` if the format saturates.
    overflow: u8,
}

impl Format {
    const fn of(et: ElementType) -> Option<Format> {
        Some(match et {
            F8E4M3 => Format { exponent: 4, mantissa: 3, largest: 0x7e, overflow: 0x7f },
            F8E5M2 => Format { exponent: 5, mantissa: 2, largest: 0x7b, overflow: 0x7c },
            F4E2M1 => Format { exponent: 2, mantissa: 1, largest: 0x7, overflow: 0x7 },
            _ => return None,
        })
    }

    fn bias(&self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// The value of a finite code without its sign.
    fn magnitude(&self, code: u8) -> f64 {
        let mantissa = f64::from(code & ((1 << self.mantissa) - 1));
        let steps = f64::from(1 << self.mantissa);
        match i32::from(code >> self.mantissa) {
            0 => (mantissa / steps) * 2f64.powi(1 - self.bias()),
            e => (1.0 + mantissa / steps) * 2f64.powi(e - self.bias()),
        }
    }

    /// The code nearest to a magnitude; ties go to the even code.
    fn nearest(&self, magnitude: f64) -> u8 {
        // Codes are ordered like their values, so a binary search finds the last code whose value is not
        // greater.
        let (mut low, mut high) = (0u8, self.largest + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.magnitude(middle) <= magnitude {
                low = middle;
            } else {
                high = middle;
            }
        }
        // `low + 1` may exceed the largest code. Its magnitude then continues the series of finite values.
        let above = self.magnitude(low + 1);
        let (down, up) = (magnitude - self.magnitude(low), above - magnitude);
        let code = if down < up || (down == up && low % 2 == 0) { low } else { low + 1 };
        if code > self.largest { self.overflow } else { code }
    }
}

/// The values of all codes, computed once; for 4-bit types only the first 16 entries are used.
pub(crate) fn values(et: ElementType) -> &'static [f64; 256] {
    static VALUES: [OnceLock<[f64; 256]>; 5] = [const { OnceLock::new() }; 5];
    let place = match et {
        F8E4M3 => 0,
        F8E5M2 => 1,
        F4E2M1 => 2,
        NF4 => 3,
        _ => 4,
    };
    VALUES[place].get_or_init(|| std::array::from_fn(|code| decode(et, code as u8)))
}

/// The value of a code.
fn decode(et: ElementType, code: u8) -> f64 {
    if let Some(format) = Format::of(et) {
        let sign = 1 << (format.exponent + format.mantissa);
        let code_magnitude = code & (sign - 1);
        let magnitude = if code_magnitude <= format.largest {
            format.magnitude(code_magnitude)
        } else if et == F8E5M2 && code_magnitude == format.overflow {
            f64::INFINITY
        } else {
            f64::NAN
        };
        return if code & sign != 0 { -magnitude } else { magnitude };
    }
    match (et, code) {
        (NF4, _) => NF4_LEVELS[usize::from(code & 15)].into(),
        (_, 0xff) => f64::NAN,
        (_, exponent) => 2f64.powi(i32::from(exponent) - 127),
    }
}

/// The code nearest to a value, with ties to the even code; in `nf4`, ties go to the lower value. Values that
/// are too large become infinity in `f8e5m2` and `NaN` in `f8e4m3`; the other types saturate.
pub(crate) fn encode(et: ElementType, value: f64) -> u8 {
    // OpenVINO converts to f8e5m2 through f16, which rounds twice.
    let value = if et == F8E5M2 { half::f16::from_f64(value).to_f64() } else { value };
    if let Some(format) = Format::of(et) {
        let sign = 1u8 << (format.exponent + format.mantissa);
        let magnitude =
            if value.is_nan() { if et == F4E2M1 { 0 } else { 0x7f } } else { format.nearest(value.abs()) };
        return if value.is_sign_negative() { sign | magnitude } else { magnitude };
    }
    match et {
        NF4 => {
            let value = value as f32;
            // Levels ascend, so the code is the number of midpoints below the value.
            NF4_LEVELS.windows(2).filter(|pair| value > (pair[0] + pair[1]) / 2.0).count() as u8
        }
        _ if value.is_nan() => 0xff,
        _ => (0..0xfe)
            .find(|&code| {
                let tie = decode(et, code) * 1.5;
                value < tie || (value == tie && code % 2 == 0)
            })
            .unwrap_or(0xfe),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_round_trips() {
        for et in [F8E4M3, F8E5M2, F8E8M0] {
            for code in 0..=255u8 {
                let value = decode(et, code);
                if !value.is_nan() {
                    assert_eq!(encode(et, value), code, "{et} {code:#x}");
                }
            }
        }
        for et in [F4E2M1, NF4] {
            for code in 0..16u8 {
                assert_eq!(encode(et, decode(et, code)), code, "{et} {code:#x}");
            }
        }
    }

    #[test]
    fn known_values() {
        assert_eq!(decode(F8E4M3, 0x7e), 448.0);
        assert_eq!(decode(F8E5M2, 0x7b), 57344.0);
        assert_eq!(decode(F4E2M1, 0x7), 6.0);
        assert_eq!(decode(F4E2M1, 0x9), -0.5);
        assert_eq!(decode(F8E8M0, 127), 1.0);
        assert_eq!(encode(F8E4M3, 1.0625), 0x38); // halfway between 1 and 1.125: even
        assert_eq!(encode(F4E2M1, 100.0), 0x7);
        assert_eq!(encode(F8E5M2, 1e9), 0x7c);
        assert_eq!(encode(F8E5M2, 61439.0), 0x7c);
        assert_eq!([0.75, 1.5, 3.0, 6.0].map(|x| decode(F8E8M0, encode(F8E8M0, x))), [0.5, 2.0, 2.0, 8.0]);
    }
}
