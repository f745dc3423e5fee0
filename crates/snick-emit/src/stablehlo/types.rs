//! Types in MLIR syntax.

use std::fmt;

use snick_ir::{Fact, OpError};
use snick_shape::SymExpr;
use snick_tensor::ElementType;

/// The type of a value: its element type, and its sizes as numbers or expressions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Type {
    pub(crate) element: ElementType,
    pub(crate) dims: Vec<SymExpr>,
}

impl Type {
    /// The declared type of a value, whose rank must be known.
    pub(crate) fn declared(fact: &Fact) -> Result<Self, OpError> {
        let dims = fact.shape.dims();
        let dims = dims.ok_or_else(|| OpError::unsupported("a rank known only at run time"))?;
        spelled(fact.element_type)?;
        Ok(Self { element: fact.element_type, dims: dims.to_vec() })
    }

    /// A type with known sizes.
    pub(crate) fn fixed_at(element: ElementType, dims: &[usize]) -> Result<Self, OpError> {
        spelled(element)?;
        Ok(Self { element, dims: dims.sizes() })
    }

    /// The same sizes with another element type.
    pub(crate) fn with(&self, element: ElementType) -> Self {
        Self { element, dims: self.dims.clone() }
    }

    /// The same element type with other sizes.
    pub(crate) fn sized(&self, dims: impl Sizes) -> Self {
        Self { element: self.element, dims: dims.sizes() }
    }

    pub(crate) fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The sizes, which must all be known.
    pub(crate) fn fixed(&self) -> Result<Vec<usize>, OpError> {
        self.dims.iter().map(fixed).collect()
    }

    /// The size of an axis, which must be known.
    pub(crate) fn size(&self, axis: usize) -> Result<usize, OpError> {
        self.dims.get(axis).map_or_else(|| Err(OpError::rank("a value", self.rank(), "more")), fixed)
    }

    /// The sizes of all axes except the last two.
    pub(crate) fn before_matrix(&self) -> &[SymExpr] {
        self.dims.get(..self.rank().saturating_sub(2)).unwrap_or_default()
    }

    /// Whether all sizes are known.
    pub(crate) fn is_fixed(&self) -> bool {
        self.dims.iter().all(|dim| dim.as_const().is_some())
    }
}

/// A size, which must be known.
pub(crate) fn fixed(dim: &SymExpr) -> Result<usize, OpError> {
    let known = dim.as_const().and_then(|dim| usize::try_from(dim).ok());
    known.ok_or_else(|| OpError::unsupported("a size known only at run time where a number is needed"))
}

/// Sizes given as numbers or as expressions.
pub(crate) trait Sizes {
    /// The sizes as expressions.
    fn sizes(self) -> Vec<SymExpr>;
}

impl Sizes for Vec<SymExpr> {
    fn sizes(self) -> Vec<SymExpr> {
        self
    }
}

impl Sizes for &Vec<SymExpr> {
    fn sizes(self) -> Vec<SymExpr> {
        self.clone()
    }
}

impl Sizes for &[usize] {
    fn sizes(self) -> Vec<SymExpr> {
        // No tensor has a size above `i64::MAX`.
        self.iter().map(|&dim| SymExpr::Const(i64::try_from(dim).unwrap_or(i64::MAX))).collect()
    }
}

impl Sizes for &Vec<usize> {
    fn sizes(self) -> Vec<SymExpr> {
        self.as_slice().sizes()
    }
}

impl<const N: usize> Sizes for &[usize; N] {
    fn sizes(self) -> Vec<SymExpr> {
        self.as_slice().sizes()
    }
}

/// `tensor<2x?xf32>`
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensor<")?;
        self.dims.iter().try_for_each(|dim| match dim.as_const() {
            Some(dim) => write!(f, "{dim}x"),
            None => f.write_str("?x"),
        })?;
        // The constructors reject element types that MLIR does not have.
        write!(f, "{}>", spelled(self.element).unwrap_or("none"))
    }
}

/// Whether MLIR has an element type.
pub(crate) fn has_type(element: ElementType) -> bool {
    spelled(element).is_ok()
}

/// The name of an element type in MLIR.
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
        ElementType::U2 => "ui2",
        ElementType::U4 => "ui4",
        ElementType::I4 => "i4",
        ElementType::F8E4M3 => "f8E4M3FN",
        ElementType::F8E5M2 => "f8E5M2",
        ElementType::F8E8M0 => "f8E8M0FNU",
        ElementType::F4E2M1 => "f4E2M1FN",
        other => return Err(OpError::unsupported(format!("the element type {other}"))),
    })
}
