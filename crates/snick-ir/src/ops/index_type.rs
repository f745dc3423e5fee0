//! The element type of the indices that an op returns, as an attribute.

use snick_tensor::ElementType;

/// `i32` or `i64`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum IndexType {
    /// 32 bits.
    I32,
    /// 64 bits.
    I64,
}

attr_words!(IndexType { I64 = "i64", I32 = "i32" });

impl IndexType {
    /// The corresponding element type.
    pub fn element_type(self) -> ElementType {
        match self {
            Self::I32 => ElementType::I32,
            Self::I64 => ElementType::I64,
        }
    }
}
