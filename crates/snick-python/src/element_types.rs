//! Element types and their numpy dtypes.

use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use snick::ElementType;

/// How the elements of an array correspond to elements of a tensor.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ArrayKind {
    /// The bytes of an element are the same.
    Same(ElementType),
    /// Each byte of the array holds one element of an `ml_dtypes` type with this many bits.
    Unpacked(ElementType, u32),
    /// The elements are strings.
    Strings,
}

/// The dtypes of arrays that a run returns, indexed by element type.
static DTYPES: [PyOnceLock<Py<PyArrayDescr>>; ElementType::ALL.len()] =
    [const { PyOnceLock::new() }; ElementType::ALL.len()];

/// The dtype of arrays for an element type; for packed types, the dtype of bytes.
pub fn dtype(py: Python<'_>, element_type: ElementType) -> PyResult<Bound<'_, PyArrayDescr>> {
    let cell = &DTYPES[element_type as usize];
    let found = cell.get_or_try_init(py, || {
        let dtype = py.import("snick._dtypes")?.getattr("_numpy_dtype")?.call1((element_type.name(),))?;
        Ok::<_, PyErr>(dtype.cast_into::<PyArrayDescr>()?.unbind())
    });
    Ok(found?.bind(py).clone())
}

/// The kind of elements in an array; `None` if no element type corresponds to the dtype.
pub fn array_kind(dtype: &Bound<'_, PyArrayDescr>) -> PyResult<Option<ArrayKind>> {
    use ArrayKind::{Same, Strings, Unpacked};
    if dtype.byteorder() == b'>' {
        return Ok(None);
    }
    let element_type = match (dtype.kind(), dtype.itemsize()) {
        (b'b', 1) => ElementType::Boolean,
        (b'u', 1) => ElementType::U8,
        (b'u', 2) => ElementType::U16,
        (b'u', 4) => ElementType::U32,
        (b'u', 8) => ElementType::U64,
        (b'i', 1) if dtype.num() < FIRST_USER_TYPE => ElementType::I8,
        (b'i', 2) => ElementType::I16,
        (b'i', 4) => ElementType::I32,
        (b'i', 8) => ElementType::I64,
        (b'f', 2) if dtype.num() < FIRST_USER_TYPE => ElementType::F16,
        (b'f', 4) => ElementType::F32,
        (b'f', 8) => ElementType::F64,
        (b'U' | b'O' | b'T', _) => return Ok(Some(Strings)),
        _ => {
            let name: String = dtype.getattr("name")?.extract()?;
            return Ok(Some(match name.as_str() {
                "bfloat16" => Same(ElementType::BF16),
                "float8_e4m3fn" => Same(ElementType::F8E4M3),
                "float8_e5m2" => Same(ElementType::F8E5M2),
                "float8_e8m0fnu" => Same(ElementType::F8E8M0),
                "float4_e2m1fn" => Unpacked(ElementType::F4E2M1, 4),
                "int4" => Unpacked(ElementType::I4, 4),
                "uint4" => Unpacked(ElementType::U4, 4),
                "uint2" => Unpacked(ElementType::U2, 2),
                _ => return Ok(None),
            }));
        }
    };
    Ok(Some(Same(element_type)))
}

/// The first type number that numpy assigns to dtypes of other packages. The `kind` of such a dtype may be
/// equal to the `kind` of a built-in dtype.
const FIRST_USER_TYPE: i32 = 256;

/// Whether an array of the unsigned type `bits` may hold the bit patterns of `element_type`. This is allowed
/// only for types that numpy lacks.
pub fn are_bits_of(bits: ElementType, element_type: ElementType) -> bool {
    use ElementType::{BF16, F8E4M3, F8E5M2, F8E8M0, U8, U16};
    matches!((bits, element_type), (U16, BF16) | (U8, F8E4M3 | F8E5M2 | F8E8M0))
}

/// Whether several elements share a byte.
pub fn is_packed(element_type: ElementType) -> bool {
    element_type.bit_width().is_some_and(|bits| bits < 8)
}
