//! Constants in MLIR syntax.

use std::borrow::Cow;
use std::fmt;

use snick_tensor::{ElementType, Tensor, TensorError};

/// Maximum number of elements to print as numbers. Larger constants are printed as bytes.
pub(crate) const MAX_NUMBERS: usize = 64;

/// The content of `dense<..>`.
#[derive(Clone, Debug)]
pub(crate) enum Literal {
    /// Numbers in row-major order, or a single number if all elements are equal.
    Numbers(String),
    /// Bytes, converted to hex in small chunks during writing.
    Bytes(Tensor),
}

impl Literal {
    /// Numbers if there are few elements or all elements are equal, otherwise bytes.
    pub(crate) fn of(tensor: &Tensor) -> Result<Self, TensorError> {
        let element = tensor.element_type();
        let (one, axes) = tensor.without_repeats();
        Ok(Self::Numbers(if tensor.is_empty() {
            String::new()
        } else if axes.is_empty() {
            numbers(&one)?.remove(0).into_owned()
        } else if element == ElementType::Boolean || tensor.len() <= MAX_NUMBERS {
            numbers_or_one(&numbers(tensor)?, tensor.dims())
        } else if let Some(one) = uniform(tensor)? {
            numbers(&one)?.remove(0).into_owned()
        } else {
            return Ok(Self::Bytes(tensor.clone()));
        }))
    }

    /// The number that all elements are equal to, if it is written once.
    pub(crate) fn uniform(&self) -> Option<&str> {
        match self {
            Self::Numbers(text) if !text.is_empty() && !text.starts_with('[') => Some(text),
            _ => None,
        }
    }

    /// The numbers, if they are integers; a single number if all elements are equal.
    pub(crate) fn integers(&self) -> Option<Vec<i64>> {
        let Self::Numbers(text) = self else { return None };
        let numbers = text.split(['[', ']', ',', ' ']).filter(|number| !number.is_empty());
        numbers.map(|number| number.parse().ok()).collect()
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tensor = match self {
            Self::Numbers(numbers) => return f.write_str(numbers),
            Self::Bytes(tensor) => tensor,
        };
        f.write_str("\"0x")?;
        write_hex(f, tensor)?;
        f.write_str("\"")
    }
}

/// Writes the bytes of a tensor as hex digits, in small chunks.
pub(crate) fn write_hex(f: &mut fmt::Formatter<'_>, tensor: &Tensor) -> fmt::Result {
    let mut text = String::with_capacity(2 * AT_ONCE);
    for bytes in whole_bytes(tensor).map_err(|_| fmt::Error)?.chunks(AT_ONCE) {
        text.clear();
        for byte in bytes {
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        f.write_str(&text)?;
    }
    Ok(())
}

/// `array<i64: 1, 2>`
pub(crate) fn array(numbers: &[usize]) -> String {
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    format!("array<i64: {}>", numbers.join(", "))
}

/// Padding before and after each axis: `dense<[[0, 1]]> : tensor<1x2xi64>`.
pub(crate) fn padding(axes: &[[i64; 2]]) -> String {
    format!("dense<{axes:?}> : tensor<{}x2xi64>", axes.len())
}

/// The number of bytes per chunk.
const AT_ONCE: usize = 1 << 12;

/// The first element of a tensor if all elements are equal.
pub(crate) fn uniform(tensor: &Tensor) -> Result<Option<Tensor>, TensorError> {
    if tensor.is_empty() {
        return Ok(None);
    }
    let bytes = whole_bytes(tensor)?;
    let width = bytes.len() / tensor.len();
    let (first, _) = bytes.split_at(width);
    match bytes.chunks_exact(width.max(1)).all(|element| element == first) {
        true => tensor.contiguous().reshape(&[tensor.len()])?.slice(0, 0, 1, 1).map(Some),
        false => Ok(None),
    }
}

/// The elements with at least one byte each, because MLIR only packs booleans.
fn whole_bytes(tensor: &Tensor) -> Result<Cow<'_, [u8]>, TensorError> {
    let element = tensor.element_type();
    let Some(bits @ 1..8) = element.bit_width() else { return Ok(tensor.to_bytes()) };
    if element.is_integer() {
        let byte = if element.is_signed() { ElementType::I8 } else { ElementType::U8 };
        return Ok(Cow::Owned(tensor.cast(byte)?.to_bytes().into_owned()));
    }
    // The element in the low bits of a byte comes first.
    let (count, mask) = (8 / bits, (1_u8 << bits) - 1);
    let packed = tensor.to_bytes();
    let parts = packed.iter().flat_map(|byte| (0..count).map(move |i| (byte >> (i * bits)) & mask));
    Ok(Cow::Owned(parts.take(tensor.len()).collect()))
}

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Each element as a number.
fn numbers(tensor: &Tensor) -> Result<Vec<Cow<'static, str>>, TensorError> {
    let element = tensor.element_type();
    let owned = |number: String| Cow::Owned(number);
    Ok(match element {
        ElementType::Boolean => {
            let word = |value| Cow::Borrowed(if value == 0 { "false" } else { "true" });
            tensor.to_i64_vec()?.into_iter().map(word).collect()
        }
        ElementType::U64 => {
            let values = tensor.cast(ElementType::U64)?;
            values.values::<u64>()?.iter().map(u64::to_string).map(owned).collect()
        }
        _ if element.is_integer() => tensor.to_i64_vec()?.iter().map(i64::to_string).map(owned).collect(),
        _ => tensor.to_f64_vec()?.into_iter().map(|value| owned(real(value, element))).collect(),
    })
}

/// A float as decimal digits that read back exactly, or as its bits if it is not finite.
pub(crate) fn real(value: f64, element: ElementType) -> String {
    if !value.is_finite() {
        let bits = match element {
            ElementType::F64 => value.to_bits(),
            ElementType::F32 => u64::from((value as f32).to_bits()),
            // All bits of the exponent are set. The sign and one mantissa bit are taken from the f64.
            ElementType::F16 => sixteen(value, 0x7C00, 0x0200),
            ElementType::F8E5M2 => sixteen(value, 0x7C00, 0x0200) >> 8,
            // These types have a single NaN.
            ElementType::F8E4M3 => 0x7F,
            ElementType::F8E8M0 => 0xFF,
            _ => sixteen(value, 0x7F80, 0x0040),
        };
        let digits = match element {
            ElementType::F64 => 16,
            ElementType::F32 => 8,
            ElementType::F8E5M2 | ElementType::F8E4M3 | ElementType::F8E8M0 => 2,
            _ => 4,
        };
        return format!("0x{bits:0digits$X}");
    }
    let text = if element == ElementType::F64 { format!("{value:?}") } else { format!("{:?}", value as f32) };
    match text.split_once('e') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
        _ => text,
    }
}

fn sixteen(value: f64, infinite: u64, digit: u64) -> u64 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    sign | infinite | if value.is_nan() { digit } else { 0 }
}

fn numbers_or_one(numbers: &[Cow<str>], dims: &[usize]) -> String {
    match numbers {
        [first, others @ ..] if others.iter().any(|number| number != first) => nested(numbers, dims),
        _ => numbers.first().map_or_else(String::new, ToString::to_string),
    }
}

/// `[[1, 2], [3, 4]]`
fn nested(numbers: &[Cow<str>], dims: &[usize]) -> String {
    // The number of elements in each level of brackets, innermost first.
    let mut blocks = Vec::with_capacity(dims.len());
    let mut elements = 1;
    for &dim in dims.iter().rev() {
        elements *= dim;
        blocks.push(elements);
    }
    let borders = |at: usize| blocks.iter().take_while(|&&block| at.is_multiple_of(block)).count();
    let mut text = String::new();
    for (at, number) in numbers.iter().enumerate() {
        if at > 0 {
            text.push_str(", ");
        }
        text.extend(std::iter::repeat_n('[', borders(at)));
        text.push_str(number);
        text.extend(std::iter::repeat_n(']', borders(at + 1)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(tensor: &Tensor) -> String {
        Literal::of(tensor).unwrap().to_string()
    }

    #[test]
    fn numbers_in_rows_or_one_for_all_or_bytes() {
        let of = |dims: &[usize], values: Vec<i32>| spelled(&Tensor::from_vec(dims, values).unwrap());
        assert_eq!(of(&[2, 2], vec![1, 2, 3, 4]), "[[1, 2], [3, 4]]");
        assert_eq!(of(&[3], vec![7; 3]), "7");
        assert_eq!(of(&[100], vec![7; 100]), "7");
        assert_eq!(of(&[], vec![-1]), "-1");
        assert_eq!(of(&[0, 2], vec![]), "");
        assert_eq!(of(&[1, 2, 1], vec![1, 2]), "[[[1], [2]]]");
        let flags = Tensor::from_vec(&[70], (0..70).map(|i| i == 1).collect::<Vec<_>>()).unwrap();
        assert!(spelled(&flags).starts_with("[false, true, false, "));
        let long = of(&[2000], (0..2000).collect());
        assert!(long.starts_with("\"0x0000000001000000") && long.ends_with("CE070000CF070000\""));
        assert_eq!(long.len(), 2 * 4 * 2000 + 4);
    }

    #[test]
    fn elements_of_some_bits_have_a_byte_each() {
        let values = Tensor::from_vec(&[66], (0..66).map(|i| (i % 16 - 8) as f32).collect()).unwrap();
        let of = |element| spelled(&values.cast(element).unwrap());
        assert!(of(ElementType::I4).starts_with("\"0xF8F9FAFBFCFDFEFF0001"), "{}", of(ElementType::I4));
        assert!(
            of(ElementType::F4E2M1).starts_with("\"0x0F0F0F0E0E0D0C0A0002"),
            "{}",
            of(ElementType::F4E2M1)
        );
        assert_eq!(of(ElementType::F4E2M1).len(), 2 * 66 + 4);
    }

    #[test]
    fn one_number_for_all_takes_no_memory() {
        // As lists of elements, these would not fit in memory.
        let dims = [1 << 18, 1 << 17];
        assert_eq!(spelled(&Tensor::full(&dims, true).unwrap()), "true");
        assert_eq!(spelled(&Tensor::full(&dims, 7u8).unwrap()), "7");
        assert_eq!(spelled(&Tensor::full(&[2, 2], 1.5f32).unwrap()), "1.5");
    }

    #[test]
    fn reals_have_a_point_or_are_bits() {
        assert_eq!(real(1.0, ElementType::F32), "1.0");
        assert_eq!(real(f64::from(1e-7f32), ElementType::F32), "1.0e-7");
        assert_eq!(real(f64::from(0.1f32), ElementType::F32), "0.1");
        assert_eq!(real(f64::INFINITY, ElementType::F32), "0x7F800000");
        assert_eq!(real(f64::NEG_INFINITY, ElementType::F16), "0xFC00");
        assert_eq!(real(f64::INFINITY, ElementType::BF16), "0x7F80");
        assert_eq!(real(f64::NEG_INFINITY, ElementType::F8E5M2), "0xFC");
        assert_eq!(real(f64::NAN, ElementType::F8E4M3), "0x7F");
    }
}
