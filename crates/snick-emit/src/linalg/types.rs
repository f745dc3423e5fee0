//! Tensors and numbers during lowering.

use std::fmt;

use snick_ir::OpError;
use snick_tensor::ElementType;

use crate::stablehlo::types::Type;

/// An SSA value.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Value(pub(super) usize);

/// A number of type `index`.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Num {
    Const(i64),
    Value(Value),
}

impl Num {
    pub(super) fn as_const(self) -> Option<i64> {
        match self {
            Self::Const(number) => Some(number),
            Self::Value(_) => None,
        }
    }
}

/// The slice of an axis.
#[derive(Copy, Clone, Debug)]
pub(super) struct AxisSlice {
    pub(super) first: Num,
    pub(super) size: Num,
    pub(super) step: Num,
}

/// The type of a tensor in MLIR, whose integers have no sign. A dim is `None` if it is dynamic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TensorType {
    pub(super) element: ElementType,
    pub(super) dims: Vec<Option<i64>>,
}

impl TensorType {
    pub(super) fn of(ty: &Type) -> Self {
        Self { element: ty.element, dims: ty.dims.iter().map(|dim| dim.as_const()).collect() }
    }

    pub(super) fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The same element type with other dims.
    pub(super) fn with_dims(&self, dims: Vec<Option<i64>>) -> Self {
        Self { element: self.element, dims }
    }

    /// The name of the element type.
    pub(super) fn scalar(&self) -> &'static str {
        scalar(self.element)
    }
}

/// `tensor<2x?xf32>`
impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensor<")?;
        self.dims.iter().try_for_each(|dim| match dim {
            Some(dim) => write!(f, "{dim}x"),
            None => f.write_str("?x"),
        })?;
        write!(f, "{}>", self.scalar())
    }
}

/// A tensor with its sizes.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub(super) value: Value,
    pub(super) ty: TensorType,
    /// The size of each axis.
    pub(super) sizes: Vec<Num>,
}

impl Tensor {
    pub(super) fn new(value: Value, ty: TensorType, sizes: &[Num]) -> Self {
        Self { value, sizes: known_sizes(&ty, sizes), ty }
    }

    pub(super) fn rank(&self) -> usize {
        self.ty.rank()
    }
}

/// The sizes of a type. `sizes` supplies the dynamic ones.
pub(super) fn known_sizes(ty: &TensorType, sizes: &[Num]) -> Vec<Num> {
    let dims = ty.dims.iter().zip(sizes);
    dims.map(|(dim, &size)| dim.map_or(size, Num::Const)).collect()
}

/// The name of an element type whose integers have no sign.
pub(super) fn scalar(element: ElementType) -> &'static str {
    match element {
        ElementType::Boolean => "i1",
        ElementType::F64 => "f64",
        ElementType::F32 => "f32",
        ElementType::F16 => "f16",
        ElementType::BF16 => "bf16",
        ElementType::I8 | ElementType::U8 => "i8",
        ElementType::I16 | ElementType::U16 => "i16",
        ElementType::I32 | ElementType::U32 => "i32",
        ElementType::I64 | ElementType::U64 => "i64",
        ElementType::I4 | ElementType::U4 => "i4",
        ElementType::U2 => "i2",
        ElementType::F8E4M3 => "f8E4M3FN",
        ElementType::F8E5M2 => "f8E5M2",
        ElementType::F8E8M0 => "f8E8M0FNU",
        ElementType::F4E2M1 => "f4E2M1FN",
        // The emitter of the typed module refuses all other types.
        _ => "none",
    }
}

/// Whether integers of a type have no sign.
pub(super) fn is_unsigned(element: ElementType) -> bool {
    element.is_integer() && !element.is_signed()
}

/// The error for an operation of unexpected form.
pub(super) fn malformed(what: &str) -> OpError {
    OpError::unsupported(format!("{what} of this form"))
}
