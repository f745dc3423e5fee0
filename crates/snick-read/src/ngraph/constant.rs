//! The value of a Constant: one string per element, or a single string for all elements.

use std::str::FromStr;

use snick_ir::OpError;
use snick_tensor::{Element, ElementType, Tensor};

use super::node::Node;
use super::value_type;
use crate::ReadError;
use crate::json::Json;

/// Maximum number of elements to fill with a single string, because a small file must not cause a huge
/// allocation.
const MAX_SPLAT: usize = 1 << 28;

/// The tensor of a Constant. The inner error is about the value, the outer error about the structure of the
/// file.
pub(super) fn tensor(node: &Node) -> Result<Result<Tensor, OpError>, ReadError> {
    let element_type = value_type::element_type(value_type::of_node(&node.object, "element_type")?)?;
    let shape = value_type::of_node(&node.object, "shape")?;
    let dims: Option<Vec<usize>> = value_type::shape(shape)?
        .and_then(|dims| dims.into_iter().map(|dim| usize::try_from(dim).ok()).collect());
    let dims = dims.ok_or_else(|| shape.error("the shape of a Constant, expected known dimensions"))?;
    let value = node.object.require("value")?;
    let texts = if value.is_array() {
        match value.try_as::<Vec<String>>() {
            Some(texts) => texts,
            None => value.array()?.into_iter().map(element).collect::<Result<_, _>>()?,
        }
    } else {
        vec![element(value)?]
    };
    Ok(parse(element_type, &dims, &texts))
}

/// An element, which is written as a string or as a number without quotes.
fn element(json: Json) -> Result<String, ReadError> {
    if json.is_text() { json.text() } else { Ok(json.raw().to_string()) }
}

fn parse(element_type: ElementType, dims: &[usize], texts: &[String]) -> Result<Tensor, OpError> {
    match element_type {
        ElementType::F32 => all::<f32>(dims, texts),
        ElementType::F64 => all::<f64>(dims, texts),
        // The string was printed from a narrow type, so parsing it as f64 loses nothing.
        ElementType::F16 | ElementType::BF16 => Ok(all::<f64>(dims, texts)?.cast(element_type)?),
        ElementType::I8 => all::<i8>(dims, texts),
        ElementType::I16 => all::<i16>(dims, texts),
        ElementType::I32 => all::<i32>(dims, texts),
        ElementType::I64 => all::<i64>(dims, texts),
        ElementType::U8 => all::<u8>(dims, texts),
        ElementType::U16 => all::<u16>(dims, texts),
        ElementType::U32 => all::<u32>(dims, texts),
        ElementType::U64 => all::<u64>(dims, texts),
        ElementType::Boolean => Ok(all::<u8>(dims, texts)?.cast(ElementType::Boolean)?),
        other => Err(OpError::unsupported(format!("a Constant of element type {other}"))),
    }
}

fn all<T: Element + FromStr>(dims: &[usize], texts: &[String]) -> Result<Tensor, OpError> {
    let values = texts.iter().map(|text| {
        let known = match text.as_str() {
            "true" => "1",
            "false" => "0",
            number => number,
        };
        known.trim().parse::<T>().map_err(|_| {
            OpError::mismatch(
                "an element of `value`",
                format!("`{text}`"),
                format!("a number of {}", T::TYPE),
            )
        })
    });
    let values = values.collect::<Result<Vec<T>, _>>()?;
    let count = dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
    match (values.as_slice(), count) {
        (&[_], Some(count)) if count > MAX_SPLAT => {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            Err(OpError::out_of_range(
                "the number of elements of one value",
                count,
                format!("up to {MAX_SPLAT}"),
            ))
        }
        (&[value], count) if count != Some(1) => Ok(Tensor::full(dims, value)?),
        (_, Some(count)) if values.len() == count => Ok(Tensor::from_vec(dims, values)?),
        _ => {
            let expected = count.map_or("fewer".into(), |count| format!("{count} for shape {dims:?}, or 1"));
            Err(OpError::mismatch("the number of elements in `value`", values.len(), expected))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(element_type: ElementType, dims: &[usize], texts: &[&str]) -> Result<Tensor, OpError> {
        parse(element_type, dims, &texts.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn one_text_stands_for_all_elements() {
        let splat = parsed(ElementType::F32, &[2, 3], &["0.500000"]).unwrap();
        assert_eq!(splat.to_f32_vec().unwrap(), [0.5; 6]);
        assert_eq!(parsed(ElementType::I64, &[0], &["7"]).unwrap().len(), 0);
        assert!(parsed(ElementType::I64, &[3], &["7", "8"]).is_err());
        assert!(parsed(ElementType::I64, &[usize::MAX, 2], &["7"]).is_err());
        let huge = parsed(ElementType::I64, &[1_000_000_000], &["7"]);
        assert!(
            huge.unwrap_err().to_string().contains("1000000000 is out of range, expected up to 268435456")
        );
        assert!(parsed(ElementType::F32, &[usize::MAX, 2], &["7", "8"]).is_err());
    }

    #[test]
    fn elements_as_writers_wrote_them() {
        let odd = parsed(ElementType::F32, &[3], &["INFINITY", "-INFINITY", "NAN"]).unwrap();
        let odd = odd.to_f32_vec().unwrap();
        assert!(odd[0] == f32::INFINITY && odd[1] == f32::NEG_INFINITY && odd[2].is_nan());
        let max = parsed(ElementType::U64, &[1], &["18446744073709551615"]).unwrap();
        assert_eq!(max.values::<u64>().unwrap().as_ref(), [u64::MAX]);
        let truth = parsed(ElementType::Boolean, &[3], &["0", "1", "true"]).unwrap();
        assert_eq!(truth.to_bools().unwrap(), [false, true, true]);
        let half = parsed(ElementType::F16, &[1], &["0.0999755859375"]).unwrap();
        assert_eq!(half.to_f32_vec().unwrap(), [0.099_975_586]);
        assert!(parsed(ElementType::I8, &[1], &["128"]).is_err());
        assert!(parsed(ElementType::U1, &[1], &["1"]).is_err());
    }
}
