//! Constants as MLIR spells them.

use snick_tensor::{ElementType, Tensor, TensorError};

/// Elements that are written as numbers, at most; more of them are written as their bytes.
const MAX_NUMBERS: usize = 64;

/// What stands inside `dense<..>`: numbers row by row, one number for all, or the bytes.
pub(super) fn dense(tensor: &Tensor) -> Result<String, TensorError> {
    let element = tensor.element_type();
    if tensor.is_empty() {
        return Ok(String::new());
    }
    let tensor = tensor.contiguous();
    let few = tensor.len() <= MAX_NUMBERS;
    if element == ElementType::Boolean || few {
        let numbers = numbers(&tensor)?;
        let splat = numbers.iter().all(|number| *number == numbers[0]);
        return Ok(if splat { numbers[0].clone() } else { nested(&numbers, tensor.dims()) });
    }
    let bytes = tensor.to_bytes();
    let width = bytes.len() / tensor.len();
    let (first, _) = bytes.split_at(width);
    if bytes.chunks_exact(width).all(|element| element == first) {
        let one = tensor.reshape(&[tensor.len()])?.slice(0, 0, 1, 1)?;
        return Ok(numbers(&one)?.remove(0));
    }
    let mut text = String::with_capacity(2 * bytes.len() + 4);
    text.push_str("\"0x");
    for byte in bytes.iter() {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text.push('"');
    Ok(text)
}

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Each element as a number.
fn numbers(tensor: &Tensor) -> Result<Vec<String>, TensorError> {
    let element = tensor.element_type();
    Ok(match element {
        ElementType::Boolean => {
            tensor.to_i64_vec()?.into_iter().map(|value| (value != 0).to_string()).collect()
        }
        ElementType::U64 => {
            tensor.cast(ElementType::U64)?.values::<u64>()?.iter().map(u64::to_string).collect()
        }
        _ if element.is_integer() => tensor.to_i64_vec()?.iter().map(i64::to_string).collect(),
        _ => tensor.to_f64_vec()?.into_iter().map(|value| real(value, element)).collect(),
    })
}

/// A real number: decimal digits that read back as the same number, or the bits of what is no number.
pub(super) fn real(value: f64, element: ElementType) -> String {
    if !value.is_finite() {
        let bits = match element {
            ElementType::F64 => value.to_bits(),
            ElementType::F32 => u64::from((value as f32).to_bits()),
            // The exponent all ones; the sign and one digit as f64 has them.
            ElementType::F16 => sixteen(value, 0x7C00, 0x0200),
            _ => sixteen(value, 0x7F80, 0x0040),
        };
        let digits = match element {
            ElementType::F64 => 16,
            ElementType::F32 => 8,
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

/// `[[1, 2], [3, 4]]`
fn nested(numbers: &[String], dims: &[usize]) -> String {
    let [first, rest @ ..] = dims else { return numbers.concat() };
    let part = numbers.len() / (*first).max(1);
    let parts: Vec<String> = numbers.chunks(part.max(1)).map(|numbers| nested(numbers, rest)).collect();
    format!("[{}]", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_rows_or_one_for_all_or_bytes() {
        let of = |dims: &[usize], values: Vec<i32>| dense(&Tensor::from_vec(dims, values).unwrap()).unwrap();
        assert_eq!(of(&[2, 2], vec![1, 2, 3, 4]), "[[1, 2], [3, 4]]");
        assert_eq!(of(&[3], vec![7; 3]), "7");
        assert_eq!(of(&[100], vec![7; 100]), "7");
        assert_eq!(of(&[], vec![-1]), "-1");
        assert_eq!(of(&[0, 2], vec![]), "");
        assert!(of(&[65], (0..65).collect()).starts_with("\"0x0000000001000000"));
    }

    #[test]
    fn reals_have_a_point_or_are_bits() {
        assert_eq!(real(1.0, ElementType::F32), "1.0");
        assert_eq!(real(f64::from(1e-7f32), ElementType::F32), "1.0e-7");
        assert_eq!(real(f64::from(0.1f32), ElementType::F32), "0.1");
        assert_eq!(real(f64::INFINITY, ElementType::F32), "0x7F800000");
        assert_eq!(real(f64::NEG_INFINITY, ElementType::F16), "0xFC00");
        assert_eq!(real(f64::INFINITY, ElementType::BF16), "0x7F80");
    }
}
