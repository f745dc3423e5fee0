//! Prints and parses the elements of constants; large constants are printed as digests.

use std::str::FromStr;

use half::{bf16, f16};
use snick_tensor::{Element, ElementType, Storage, Tensor, TensorError};

use super::syntax::quoted;

/// The 64-bit FNV-1a hash of the bytes, which identifies weights in text. The printer also compares the
/// bytes, because hashes can collide.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The elements as text, without `<...>`: numbers if they parse back exactly, otherwise packed bytes in hex.
pub fn print(tensor: &Tensor) -> String {
    fn exact<T: PartialOrd + std::fmt::Debug>(values: Vec<T>) -> Option<String> {
        // Printed as a number, a NaN would lose its bits. NaN is the only value that is not comparable to
        // itself.
        let join_all = |values: &[T]| join(values.iter().map(|x| format!("{x:?}")));
        values.iter().all(|x| x.partial_cmp(x).is_some()).then(|| join_all(&values))
    }
    let numbers = match tensor.element_type() {
        ElementType::String => {
            let strings = tensor.as_strings().unwrap_or_default();
            return join(strings.iter().map(|s| quoted(s)));
        }
        ElementType::F32 | ElementType::F16 | ElementType::BF16 => tensor.to_f32_vec().ok().and_then(exact),
        ElementType::F64 => tensor.to_f64_vec().ok().and_then(exact),
        ElementType::U64 => tensor.values::<u64>().ok().map(|v| join(v.iter().map(u64::to_string))),
        t if t == ElementType::Boolean || (t.is_integer() && t.bit_width() >= Some(8)) => {
            tensor.to_i64_vec().ok().map(|v| join(v.iter().map(i64::to_string)))
        }
        _ => None,
    };
    numbers.unwrap_or_else(|| {
        let hex: String = tensor.to_bytes().iter().map(|b| format!("{b:02x}")).collect();
        format!("0x{hex}")
    })
}

fn join(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// Parses elements written by [`print`]; strings are already unquoted. `None` if an item is invalid.
pub fn parse(
    element_type: ElementType,
    dims: &[usize],
    items: &[String],
) -> Result<Option<Tensor>, TensorError> {
    if let [hex] = items
        && let Some(hex) = hex.strip_prefix("0x")
    {
        let bytes = hex
            .as_bytes()
            .chunks(2)
            .map(|pair| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok()));
        return match bytes.collect::<Option<Vec<u8>>>() {
            Some(bytes) => Tensor::new(element_type, dims, Storage::heap(bytes)).map(Some),
            None => Ok(None),
        };
    }
    match element_type {
        ElementType::String => Tensor::strings(dims, items.to_vec()).map(Some),
        ElementType::F32 => numbers(dims, items, |x: f32| x),
        ElementType::F16 => numbers(dims, items, f16::from_f32),
        ElementType::BF16 => numbers(dims, items, bf16::from_f32),
        ElementType::F64 => numbers(dims, items, |x: f64| x),
        ElementType::U64 => numbers(dims, items, |x: u64| x),
        _ => numbers(dims, items, |x: i64| x)?.map(|tensor| tensor.cast(element_type)).transpose(),
    }
}

/// Parses each item as `T`; `None` if one is invalid.
fn numbers<T: FromStr, E: Element>(
    dims: &[usize],
    items: &[String],
    of: impl Fn(T) -> E,
) -> Result<Option<Tensor>, TensorError> {
    let values: Option<Vec<E>> = items.iter().map(|item| item.parse().ok().map(&of)).collect();
    values.map(|values| Tensor::from_vec(dims, values)).transpose()
}
