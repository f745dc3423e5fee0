//! Element types and the dtypes of numpy.

use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use snick::ElementType;

/// How the elements of an array are those of a tensor.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ArrayKind {
    /// Byte by byte.
    Same(ElementType),
    /// One element of so many bits in each byte: an integer or a float of `ml_dtypes`.
    Unpacked(ElementType, u32),
    /// Texts.
    Strings,
}

/// The dtypes of arrays that runs return, by element type.
static DTYPES: [PyOnceLock<Py<PyArrayDescr>>; ElementType::ALL.len()] =
    [const { PyOnceLock::new() }; ElementType::ALL.len()];

/// The dtype of an array of an element type; packed types have bytes.
pub fn dtype(py: Python<'_>, element_type: ElementType) -> PyResult<Bound<'_, PyArrayDescr>> {
    let cell = &DTYPES[element_type as usize];
    let found = cell.get_or_try_init(py, || {
        let dtype = py.import("snick._dtypes")?.getattr("_numpy_dtype")?.call1((element_type.name(),))?;
        Ok::<_, PyErr>(dtype.cast_into::<PyArrayDescr>()?.unbind())
    });
    Ok(found?.bind(py).clone())
}

/// What the elements of an array are; `None` for a dtype that no element type has.
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

/// The number from which numpy counts the types of other packages, which may have the kind of one of its own.
const FIRST_USER_TYPE: i32 = 256;

/// Whether arrays of `bits` may stand for elements of a type that numpy lacks, bit by bit.
pub fn are_bits_of(bits: ElementType, element_type: ElementType) -> bool {
    use ElementType::{BF16, F8E4M3, F8E5M2, F8E8M0, U8, U16};
    matches!((bits, element_type), (U16, BF16) | (U8, F8E4M3 | F8E5M2 | F8E8M0))
}

/// Whether several elements are in one byte.
pub fn is_packed(element_type: ElementType) -> bool {
    element_type.bit_width().is_some_and(|bits| bits < 8)
}
