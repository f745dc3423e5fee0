//! The Rust types elements can be read and written as.

use half::{bf16, f16};

use crate::ElementType;

/// A Rust type that is exactly one [`ElementType`] in memory.
///
/// `boolean` has none: see [`crate::Tensor::from_bools`] and [`crate::Tensor::to_bools`].
///
/// ```
/// use snick_tensor::{Element, Tensor, TensorError};
///
/// fn vector<T: Element>(values: &[T]) -> Result<Tensor, TensorError> {
///     Tensor::from_slice(values, &[values.len()])
/// }
///
/// assert_eq!(vector(&[1i64, 2])?.dims(), [2]);
/// assert_eq!(vector(&[0.5f32])?.dims(), [1]);
/// # Ok::<(), TensorError>(())
/// ```
pub trait Element: bytemuck::Pod + Default + PartialEq + PartialOrd + Send + Sync {
    /// The element type.
    const TYPE: ElementType;
}

macro_rules! elements {
    ($($rust:ty = $et:ident),* $(,)?) => {
        $(impl Element for $rust {
            const TYPE: ElementType = ElementType::$et;
        })*
    };
}

elements! {
    f16 = F16, bf16 = BF16, f32 = F32, f64 = F64,
    i8 = I8, i16 = I16, i32 = I32, i64 = I64,
    u8 = U8, u16 = U16, u32 = U32, u64 = U64,
}
