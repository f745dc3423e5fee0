//! Types as MLIR spells them.

use std::fmt;

use snick_ir::{Fact, OpError};
use snick_tensor::ElementType;

/// The type of a value: elements and sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Type {
    pub(super) element: ElementType,
    pub(super) dims: Vec<usize>,
}

impl Type {
    /// Of a value whose sizes are known.
    pub(super) fn of(fact: &Fact) -> Result<Self, OpError> {
        let dims = fact.shape.as_static();
        let dims = dims.ok_or_else(|| OpError::unsupported("a size known only at run time in StableHLO"))?;
        spelled(fact.element_type)?;
        Ok(Self { element: fact.element_type, dims: dims.to_vec() })
    }

    /// The same sizes, other elements.
    pub(super) fn with(&self, element: ElementType) -> Self {
        Self { element, dims: self.dims.clone() }
    }

    /// Of these sizes.
    pub(super) fn sized(&self, dims: &[usize]) -> Self {
        Self { element: self.element, dims: dims.to_vec() }
    }

    pub(super) fn rank(&self) -> usize {
        self.dims.len()
    }
}

/// `tensor<2x3xf32>`
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensor<")?;
        self.dims.iter().try_for_each(|dim| write!(f, "{dim}x"))?;
        // Types without a spelling are refused where a `Type` is made.
        write!(f, "{}>", spelled(self.element).unwrap_or("none"))
    }
}

/// The name of an element type.
fn spelled(element: ElementType) -> Result<&'static str, OpError> {
    Ok(match element {
        ElementType::Boolean => "i1",
        ElementType::F64 => "f64",
        ElementType::F32 => "f32",
        ElementType::F16 => "f16",
        ElementType::BF16 => "bf16",
        ElementType::I8 => "i8",
        ElementType::I16 => "i16",
        ElementType::I32 => "i32",
        ElementType::I64 => "i64",
        ElementType::U8 => "ui8",
        ElementType::U16 => "ui16",
        ElementType::U32 => "ui32",
        ElementType::U64 => "ui64",
        other => return Err(OpError::unsupported(format!("the element type {other} in StableHLO"))),
    })
}
