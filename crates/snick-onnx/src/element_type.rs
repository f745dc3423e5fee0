//! Element types by their ONNX numbers.

use snick_tensor::ElementType;

/// The ONNX numbers of element types. Complex numbers and the f8 types without a negative zero are missing,
/// because snick does not support them.
const TYPES: &[(i32, ElementType)] = &[
    (1, ElementType::F32),
    (2, ElementType::U8),
    (3, ElementType::I8),
    (4, ElementType::U16),
    (5, ElementType::I16),
    (6, ElementType::I32),
    (7, ElementType::I64),
    (8, ElementType::String),
    (9, ElementType::Boolean),
    (10, ElementType::F16),
    (11, ElementType::F64),
    (12, ElementType::U32),
    (13, ElementType::U64),
    (16, ElementType::BF16),
    (17, ElementType::F8E4M3),
    (19, ElementType::F8E5M2),
    (21, ElementType::U4),
    (22, ElementType::I4),
    (23, ElementType::F4E2M1),
    (24, ElementType::F8E8M0),
    (25, ElementType::U2),
];

/// The largest element type number of ONNX 1.23.
const LAST: i64 = 28;

/// Whether ONNX has an element type with this number. snick need not support the type.
pub fn is_type_number(number: i64) -> bool {
    (1..=LAST).contains(&number)
}

/// The element type with this number; `None` if snick does not support it.
pub fn from_number(number: i32) -> Option<ElementType> {
    TYPES.iter().find(|(n, _)| *n == number).map(|&(_, et)| et)
}

/// The number of an element type; `None` if ONNX does not have this type.
pub fn to_number(element_type: ElementType) -> Option<i32> {
    TYPES.iter().find(|(_, et)| *et == element_type).map(|&(n, _)| n)
}
