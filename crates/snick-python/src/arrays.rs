//! Converts numpy arrays to tensors and back, without a copy if the layout allows.
#![allow(unsafe_code, reason = "memory that Python owns, and memory that it is given")]

use std::ptr;

use numpy::npyffi::{NPY_ARRAY_WRITEABLE, NpyTypes, PY_ARRAY_API, get_type_object, npy_intp};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use snick::{ElementType, Storage, Tensor, TensorError};

use crate::element_types::{self, ArrayKind};

/// The reason why an array does not fit an input.
pub enum BadArray {
    /// The dtype is wrong.
    Type(String),
    /// The shape is wrong.
    Shape(String),
    /// An exception raised by Python.
    Raised(PyErr),
}

impl From<PyErr> for BadArray {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

impl From<TensorError> for BadArray {
    fn from(error: TensorError) -> Self {
        Self::Shape(error.to_string())
    }
}

/// The memory of a numpy array, and a reference that keeps the array alive.
struct ArrayMemory {
    _array: Py<PyUntypedArray>,
    first: *const u8,
    len: usize,
}

// SAFETY: any thread may hold and drop a reference to a Python object, because pyo3 defers operations that need
// the GIL. The memory is only read.
unsafe impl Send for ArrayMemory {}
// SAFETY: as for `Send`; the type only exposes a shared slice.
unsafe impl Sync for ArrayMemory {}

impl AsRef<[u8]> for ArrayMemory {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `first` and `len` span the array, whose memory lives as long as this reference to it. The
        // documentation of `Model.run` requires callers not to write to the array during a run.
        unsafe { std::slice::from_raw_parts(self.first, self.len) }
    }
}

/// Converts an array to a tensor of type `expected`, with dims `dims` if the model fixes them. Elements are
/// not converted. The memory is copied if `is_copied`, or if elements are not aligned.
pub fn to_tensor(
    array: &Bound<'_, PyUntypedArray>,
    expected: ElementType,
    dims: Option<&[usize]>,
    is_copied: bool,
) -> Result<Tensor, BadArray> {
    let dtype = array.dtype();
    let other = || {
        let hint = match element_types::is_packed(expected) {
            true => "; packed elements are given as their bytes, in a uint8 array of one axis",
            false => "; nothing is converted, so call `.astype` if that is meant",
        };
        BadArray::Type(format!("the provided array has elements of type {dtype}, expected {expected}{hint}"))
    };
    match element_types::array_kind(&dtype)?.ok_or_else(other)? {
        ArrayKind::Strings if [ElementType::String, ElementType::Dynamic].contains(&expected) => {
            strings(array)
        }
        ArrayKind::Unpacked(found, bits) if found == expected => pack(array, found, bits),
        ArrayKind::Same(ElementType::U8) if element_types::is_packed(expected) => {
            packed(array, expected, dims)
        }
        ArrayKind::Same(found)
            if found == expected
                || expected == ElementType::Dynamic
                || element_types::are_bits_of(found, expected) =>
        {
            let element_type = if expected == ElementType::Dynamic { found } else { expected };
            view(array, element_type, is_copied)
        }
        _ => Err(other()),
    }
}

/// A tensor with the elements of an array. It uses the memory of the array if possible, otherwise a copy.
fn view(
    array: &Bound<'_, PyUntypedArray>,
    element_type: ElementType,
    is_copied: bool,
) -> Result<Tensor, BadArray> {
    let unit = array.dtype().itemsize();
    let is_strided = array.strides().iter().all(|stride| stride.unsigned_abs().is_multiple_of(unit));
    if array.is_empty() {
        return Ok(Tensor::zeros(element_type, array.shape())?);
    }
    if is_copied || !is_strided || !array.is_aligned() {
        let copy = array.call_method1("copy", ("C",))?.cast_into::<PyUntypedArray>().map_err(PyErr::from)?;
        return view_in_place(&copy, element_type, unit);
    }
    view_in_place(array, element_type, unit)
}

fn view_in_place(
    array: &Bound<'_, PyUntypedArray>,
    element_type: ElementType,
    unit: usize,
) -> Result<Tensor, BadArray> {
    // All elements of a numpy array are in one allocation, so neither of the sums can overflow.
    let reaches =
        array.shape().iter().zip(array.strides()).map(|(&dim, &stride)| (dim as isize - 1) * stride);
    let (mut below, mut above) = (0isize, 0isize);
    for reach in reaches {
        if reach < 0 { below -= reach } else { above += reach }
    }
    // SAFETY: the pointer points to a live array.
    let data = unsafe { (*array.as_array_ptr()).fields.data }.cast::<u8>().cast_const();
    let memory = ArrayMemory {
        _array: array.clone().unbind(),
        first: data.wrapping_offset(-below),
        len: below.unsigned_abs() + above.unsigned_abs() + unit,
    };
    let strides: Vec<isize> = array.strides().iter().map(|stride| stride / unit as isize).collect();
    let storage = Storage::from_owner(memory);
    let start = below.unsigned_abs() / unit;
    Ok(Tensor::from_strided(element_type, array.shape(), &strides, start, storage)?)
}

/// The bytes of an array whose elements have one byte, in row-major order.
fn bytes(array: &Bound<'_, PyUntypedArray>) -> PyResult<Vec<u8>> {
    let bytes = array.call_method0("tobytes")?;
    Ok(bytes.extract::<&[u8]>()?.to_vec())
}

/// Packs an array that has one element per byte into a tensor that has several elements per byte.
fn pack(array: &Bound<'_, PyUntypedArray>, element_type: ElementType, bits: u32) -> Result<Tensor, BadArray> {
    let per_byte = (8 / bits) as usize;
    let mask = (1u8 << bits) - 1;
    let join = |group: &[u8]| {
        let shifted = group.iter().zip((0..8).step_by(bits as usize));
        shifted.fold(0, |byte, (element, shift)| byte | (element & mask) << shift)
    };
    let packed: Vec<u8> = bytes(array)?.chunks(per_byte).map(join).collect();
    Ok(Tensor::new(element_type, array.shape(), Storage::heap(packed))?)
}

/// A tensor with `dims`, from an array that holds the bytes of the packed elements.
fn packed(
    array: &Bound<'_, PyUntypedArray>,
    element_type: ElementType,
    dims: Option<&[usize]>,
) -> Result<Tensor, BadArray> {
    let Some(dims) = dims else {
        return Err(BadArray::Shape(format!(
            "bytes of packed {element_type} elements need an input of a known shape; call `infer` with one"
        )));
    };
    let count = dims.iter().try_fold(1usize, |n, &dim| n.checked_mul(dim));
    let needed = count.and_then(|count| element_type.byte_len(count));
    if array.ndim() != 1 || Some(array.len()) != needed {
        let needed = needed.unwrap_or(usize::MAX);
        return Err(BadArray::Shape(format!(
            "{} bytes of packed {element_type} elements, expected {needed} in an array of one axis",
            array.len()
        )));
    }
    Ok(Tensor::new(element_type, dims, Storage::heap(bytes(array)?))?)
}

fn strings(array: &Bound<'_, PyUntypedArray>) -> Result<Tensor, BadArray> {
    let flat = array.call_method0("ravel")?.call_method0("tolist")?;
    let texts: Vec<String> = flat.extract().map_err(|_| {
        BadArray::Type("the provided array has elements that are not `str`, expected string".into())
    })?;
    Ok(Tensor::strings(array.shape(), texts)?)
}

/// Memory that a numpy array keeps alive.
#[pyclass(frozen, module = "snick._snick")]
struct TensorMemory {
    _tensor: Option<Tensor>,
    _bytes: Vec<u8>,
}

/// Converts a tensor to a writable array that shares no memory with other tensors or arrays. If `is_moved`,
/// the array may take over the memory of the tensor; otherwise the elements are copied.
pub fn to_array(py: Python<'_>, mut tensor: Tensor, is_moved: bool) -> PyResult<Bound<'_, PyAny>> {
    if tensor.element_type() == ElementType::String {
        return strings_to_array(py, &tensor);
    }
    let element_type = tensor.element_type();
    let dtype = element_types::dtype(py, element_type)?;
    let dims = dims(&tensor);
    let (data, memory) = match tensor.exclusive_bytes().filter(|_| is_moved) {
        Some(own) => {
            normalise(element_type, own);
            (own.as_mut_ptr(), TensorMemory { _tensor: Some(tensor), _bytes: Vec::new() })
        }
        None => {
            let mut bytes = tensor.to_bytes().into_owned();
            normalise(element_type, &mut bytes);
            (bytes.as_mut_ptr(), TensorMemory { _tensor: None, _bytes: bytes })
        }
    };
    let strides = row_major(&dims, dtype.itemsize());
    // SAFETY: `data` holds the packed elements of `dims`: it is the memory of a tensor with these dims and this
    // element type. It is not shared: the tensor is its only owner, or it is a copy. `memory` does not move it.
    unsafe { new_array(py, dtype, &dims, &strides, data, memory, true) }
}

/// A read-only array of the elements of a tensor, in the memory of the tensor. Strings are copied, and so are booleans
/// whose bytes numpy could not read.
pub fn to_view(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let element_type = tensor.element_type();
    let is_plain = |bytes: &[u8]| bytes.iter().all(|&byte| byte <= 1);
    let is_packed = element_types::is_packed(element_type);
    let is_viewed = match element_type {
        ElementType::String => false,
        ElementType::Boolean => tensor.is_contiguous() && is_plain(&tensor.to_bytes()),
        _ => !is_packed || tensor.is_contiguous(),
    };
    if !is_viewed || tensor.is_empty() {
        let array = to_array(py, tensor, false)?;
        array.call_method1("setflags", (false,))?;
        return Ok(array);
    }
    let dtype = element_types::dtype(py, element_type)?;
    let (dims, unit) = (dims(&tensor), dtype.itemsize());
    let strides: Vec<isize> = match is_packed {
        true => vec![1],
        false => tensor.strides().iter().map(|stride| stride * unit.cast_signed()).collect(),
    };
    let data = first_byte(&tensor)?;
    let memory = TensorMemory { _tensor: Some(tensor), _bytes: Vec::new() };
    // SAFETY: `data` is the first element of the tensor, whose elements have these strides. The array is read-only.
    // The tensor owns or maps the memory, and moving the tensor does not move it.
    unsafe { new_array(py, dtype, &dims, &strides, data.cast_mut(), memory, false) }
}

/// The address of the first element, or of the packed bytes.
fn first_byte(tensor: &Tensor) -> PyResult<*const u8> {
    if tensor.is_contiguous() {
        return Ok(tensor.to_bytes().as_ptr());
    }
    let first = (0..tensor.rank()).try_fold(tensor.clone(), |first, axis| first.slice(axis, 0, 1, 1));
    let first = first.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(first.to_bytes().as_ptr())
}

/// The dims of an array: of packed elements, the number of their bytes.
fn dims(tensor: &Tensor) -> Vec<usize> {
    match element_types::is_packed(tensor.element_type()) {
        true => vec![tensor.size_in_bytes()],
        false => tensor.dims().to_vec(),
    }
}

fn row_major(dims: &[usize], unit: usize) -> Vec<isize> {
    let mut stride = unit.cast_signed();
    let mut strides: Vec<isize> = Vec::with_capacity(dims.len());
    for &dim in dims.iter().rev() {
        strides.push(stride);
        stride = stride.saturating_mul(dim.max(1).cast_signed());
    }
    strides.reverse();
    strides
}

fn strings_to_array<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let texts = tensor.as_strings().map_err(|error| PyValueError::new_err(error.to_string()))?;
    let strings = py.import("snick._dtypes")?.getattr("_string_array")?;
    strings.call1((texts, tensor.dims().to_vec()))
}

/// Normalises boolean bytes to 0 or 1, as numpy expects; files may contain other values.
fn normalise(element_type: ElementType, bytes: &mut [u8]) {
    if element_type == ElementType::Boolean {
        bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
}

/// An array with these dims over `data`.
///
/// # Safety
/// The elements at `data` with these dims and strides (in bytes) are valid for reads as long as `memory` lives, and
/// for writes if `is_writable`.
unsafe fn new_array<'py>(
    py: Python<'py>,
    dtype: Bound<'py, PyArrayDescr>,
    dims: &[usize],
    strides: &[isize],
    data: *mut u8,
    memory: TensorMemory,
    is_writable: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let too_large = |_| PyMemoryError::new_err("an array of too many elements");
    let mut npy_dims: Vec<npy_intp> =
        dims.iter().map(|&dim| npy_intp::try_from(dim)).collect::<Result<_, _>>().map_err(too_large)?;
    let mut npy_strides: Vec<npy_intp> = strides.iter().map(|&stride| stride as npy_intp).collect();
    let rank = i32::try_from(dims.len()).map_err(too_large)?;
    let memory = Bound::new(py, memory)?.into_any();
    // SAFETY: the call takes ownership of the dtype, and numpy derives the other flags from the strides. The caller
    // guarantees the memory, which the array keeps alive.
    unsafe {
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            get_type_object(py, NpyTypes::PyArray_Type),
            dtype.into_dtype_ptr(),
            rank,
            npy_dims.as_mut_ptr(),
            npy_strides.as_mut_ptr(),
            data.cast(),
            if is_writable { NPY_ARRAY_WRITEABLE } else { 0 },
            ptr::null_mut(),
        );
        let array = Bound::from_owned_ptr_or_err(py, array)?;
        match PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), memory.into_ptr()) {
            0 => Ok(array),
            _ => Err(PyErr::fetch(py)),
        }
    }
}
