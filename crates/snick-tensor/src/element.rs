//! The Rust types of elements.

use half::{bf16, f16};

use crate::ElementType;

/// A Rust type with exactly the memory representation of an [`ElementType`]; `bool` represents `boolean`.
///
/// ```
/// use snick::{Element, ElementType, Tensor, TensorError};
///
/// fn vector<T: Element>(values: &[T]) -> Result<Tensor, TensorError> {
///     Tensor::from_slice(values, &[values.len()])
/// }
///
/// assert_eq!(vector(&[1i64, 2])?.dims(), [2]);
/// assert_eq!(vector(&[0.5f32])?.dims(), [1]);
/// assert_eq!(vector(&[true, false])?.element_type(), ElementType::Boolean);
/// # Ok::<(), TensorError>(())
/// ```
pub trait Element: sealed::Bits + Copy + Default + PartialEq + PartialOrd + Send + Sync + 'static {
    /// The element type.
    const TYPE: ElementType;

    /// Copies elements from bytes, which need not be aligned. `None` if the bytes are not valid elements of
    /// this type.
    #[doc(hidden)]
    fn copied(bytes: &[u8]) -> Option<Vec<Self>>;
}

/// Seals [`Element`], and keeps the crate for casts out of its declaration.
mod sealed {
    #[doc(hidden)]
    pub trait Bits: bytemuck::NoUninit + bytemuck::CheckedBitPattern {}
}

macro_rules! elements {
    ($($rust:ty = $et:ident),* $(,)?) => {
        $(impl sealed::Bits for $rust {}

        impl Element for $rust {
            const TYPE: ElementType = ElementType::$et;

            fn copied(bytes: &[u8]) -> Option<Vec<Self>> {
                Some(bytemuck::pod_collect_to_vec(bytes))
            }
        })*
    };
}

elements! {
    f16 = F16, bf16 = BF16, f32 = F32, f64 = F64,
    i8 = I8, i16 = I16, i32 = I32, i64 = I64,
    u8 = U8, u16 = U16, u32 = U32, u64 = U64,
}

impl sealed::Bits for bool {}

impl Element for bool {
    const TYPE: ElementType = ElementType::Boolean;

    fn copied(bytes: &[u8]) -> Option<Vec<Self>> {
        bytemuck::checked::try_cast_slice(bytes).ok().map(<[Self]>::to_vec)
    }
}

/// An [`Element`] for which every bit pattern is valid, so that kernels can access its bytes in place.
pub(crate) trait PodElement: Element + bytemuck::Pod {}

impl<T: Element + bytemuck::Pod> PodElement for T {}
