//! Value types as declared in the file.

use std::collections::HashMap;

use snick_ir::Declared;
use snick_onnx::{DimValue, ValueInfo, from_number};
use snick_shape::{DimSpec, Interval, ShapeSpec};
use snick_tensor::{ElementType, SmallVector};

/// The symbols for named dims. A name can be any text, but a symbol must be an identifier.
#[derive(Default)]
pub(super) struct DimNames {
    symbols: HashMap<String, String>,
}

impl DimNames {
    /// The unique symbol for a name.
    fn symbol(&mut self, name: &str) -> String {
        if let Some(symbol) = self.symbols.get(name) {
            return symbol.clone();
        }
        let mut word: String =
            name.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '_' }).collect();
        if !word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            word.insert(0, '_');
        }
        while self.symbols.values().any(|taken| *taken == word) {
            word.push('_');
        }
        self.symbols.insert(name.to_string(), word.clone());
        word
    }

    /// The element type (`Dynamic` if unknown) and the shape of an input; `None` if the input is not a
    /// tensor.
    pub(super) fn input(&mut self, info: &ValueInfo) -> Option<(ElementType, ShapeSpec)> {
        let tensor = info.ty.as_ref()?.tensor.as_ref()?;
        let element_type = from_number(tensor.elem_type).unwrap_or(ElementType::Dynamic);
        let Some(shape) = &tensor.shape else { return Some((element_type, ShapeSpec::Unranked)) };
        let dims = shape.dim.iter().map(|dim| match &dim.value {
            Some(DimValue::Value(size)) => {
                let exact = Interval::new(*size, *size).filter(|_| *size >= 0);
                DimSpec::Interval(exact.unwrap_or(Interval::DIM))
            }
            Some(DimValue::Param(name)) if is_name(name) => {
                DimSpec::Symbol { name: self.symbol(name), interval: Interval::DIM }
            }
            _ => DimSpec::Interval(Interval::DIM),
        });
        Some((element_type, ShapeSpec::Dims(dims.collect())))
    }
}

/// Whether a text is the name of a size. For unknown sizes, which need not be equal, exporters write `?`.
fn is_name(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// The declared type and shape of a value.
pub(super) fn declared(info: &ValueInfo) -> Option<Declared> {
    let tensor = info.ty.as_ref()?.tensor.as_ref()?;
    let element_type = from_number(tensor.elem_type).unwrap_or(ElementType::Dynamic);
    let dims = tensor.shape.as_ref().map(|shape| {
        let size = |dim: &snick_onnx::Dim| match dim.value {
            Some(DimValue::Value(size)) => size.max(-1),
            _ => -1,
        };
        shape.dim.iter().map(size).collect::<SmallVector<_, 4>>()
    });
    Some(Declared { element_type, dims })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_symbols_and_question_marks_are_none() {
        let dims = [("N", 0), ("?", 0), ("?", 0), ("batch.0", 0), ("", -1), ("", 3)].map(|(name, size)| {
            let value =
                if name.is_empty() { DimValue::Value(size) } else { DimValue::Param(name.to_string()) };
            snick_onnx::Dim { value: Some(value) }
        });
        let shape = Some(snick_onnx::Shape { dim: dims.to_vec() });
        let tensor = Some(snick_onnx::TensorType { elem_type: 1, shape });
        let info = ValueInfo { name: "x".into(), ty: Some(snick_onnx::Type { tensor }) };
        let (_, shape) = DimNames::default().input(&info).unwrap();
        assert_eq!(shape.to_string(), "N,?,?,batch_0,?,3");
    }
}
