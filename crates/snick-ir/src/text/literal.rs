//! Elements of constants in text, both ways, and the digest that stands for large ones.

use half::{bf16, f16};
use snick_tensor::{ElementType, Storage, Tensor, TensorError};

/// FNV-1a, 64 bits, of the bytes: names weights in text. Collisions are possible and checked for where it matters.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The elements as text, `<...>` around them left to the caller. Numbers where they read back exactly, else the
/// packed bytes in hex.
pub fn print(tensor: &Tensor) -> String {
    let numbers = match tensor.element_type() {
        ElementType::String => {
            let strings = tensor.as_strings().unwrap_or_default();
            return join(strings.iter().map(|s| super::print::quoted(s)));
        }
        ElementType::F32 | ElementType::F16 | ElementType::BF16 => tensor
            .to_f32_vec()
            .ok()
            .filter(|v| v.iter().all(|x| !x.is_nan()))
            .map(|v| join(v.iter().map(|x| format!("{x:?}")))),
        ElementType::F64 => tensor
            .to_f64_vec()
            .ok()
            .filter(|v| v.iter().all(|x| !x.is_nan()))
            .map(|v| join(v.iter().map(|x| format!("{x:?}")))),
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

/// Reads what [`print`] wrote: `items` are the elements as text, strings already unquoted.
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
    fn all<T: std::str::FromStr>(items: &[String]) -> Option<Vec<T>> {
        items.iter().map(|item| item.parse().ok()).collect()
    }
    Ok(match element_type {
        ElementType::String => Some(Tensor::strings(dims, items.to_vec())?),
        ElementType::F32 => match all::<f32>(items) {
            Some(values) => Some(Tensor::from_vec(dims, values)?),
            None => None,
        },
        ElementType::F16 => match all::<f32>(items) {
            Some(values) => Some(Tensor::from_vec(dims, values.into_iter().map(f16::from_f32).collect())?),
            None => None,
        },
        ElementType::BF16 => match all::<f32>(items) {
            Some(values) => Some(Tensor::from_vec(dims, values.into_iter().map(bf16::from_f32).collect())?),
            None => None,
        },
        ElementType::F64 => match all::<f64>(items) {
            Some(values) => Some(Tensor::from_vec(dims, values)?),
            None => None,
        },
        ElementType::U64 => match all::<u64>(items) {
            Some(values) => Some(Tensor::from_vec(dims, values)?),
            None => None,
        },
        _ => match all::<i64>(items) {
            Some(values) => Some(Tensor::from_vec(dims, values)?.cast(element_type)?),
            None => None,
        },
    })
}
