//! Dispatches an element type to the Rust type that a kernel is compiled for.

use std::sync::Arc;

use crate::ElementType::{self, *};
use crate::buffer::filled;
use crate::memo::Purpose;
use crate::tensor::stored_bytes;
use crate::{Tensor, TensorError, packing};

/// Runs `$body`, a `Result`, with `$T` as the Rust type of `$et`. Unlisted types are an error.
macro_rules! with_type {
    ([$($variant:ident = $rust:ty),*], $et:expr, $T:ident => $body:expr) => {
        match $et {
            $($crate::ElementType::$variant => { type $T = $rust; $body })*
            element_type => Err($crate::TensorError::UnsupportedType { element_type }),
        }
    };
}

/// [`with_type`] for the types that kernels compute in.
macro_rules! with_number {
    ($et:expr, $T:ident => $body:expr) => {
        $crate::kernels::dispatch::with_type!(
            [F32 = f32, F64 = f64, I8 = i8, I16 = i16, I32 = i32, I64 = i64,
             U8 = u8, U16 = u16, U32 = u32, U64 = u64],
            $et, $T => $body)
    };
}

/// [`with_type`] for `f32` and `f64`.
macro_rules! with_real {
    ($et:expr, $T:ident => $body:expr) => {
        $crate::kernels::dispatch::with_type!([F32 = f32, F64 = f64], $et, $T => $body)
    };
}

/// [`with_type`] for elements that are only copied: see [`moving`].
macro_rules! with_unit {
    ($et:expr, $T:ident => $body:expr) => {
        $crate::kernels::dispatch::with_type!(
            [U8 = u8, U16 = u16, U32 = u32, U64 = u64], $et, $T => $body)
    };
}

pub(crate) use {with_number, with_real, with_type, with_unit};

/// The type in which kernels compute elements of `et`.
fn compute_type(et: ElementType) -> ElementType {
    match et {
        F16 | BF16 | NF4 | F8E4M3 | F8E5M2 | F8E8M0 | F4E2M1 => F32,
        U1 | U2 | U3 | U4 | U6 | I4 => I32,
        _ => et,
    }
}

/// Whether kernels compute elements of `et` without converting them.
pub(crate) fn is_computed_in(et: ElementType) -> bool {
    compute_type(et) == et
}

/// Converts all inputs, which must have the same type, to their compute type.
pub(crate) fn widen<const N: usize>(inputs: [&Tensor; N]) -> Result<[Tensor; N], TensorError> {
    let mut wide = inputs.map(Tensor::clone);
    let et = wide.first().map_or(Dynamic, Tensor::element_type);
    for tensor in &mut wide {
        tensor.expect(et)?;
        *tensor = converted(tensor, compute_type(et))?;
    }
    Ok(wide)
}

/// Converts a tensor to another type. The result is cached for constants.
fn converted(tensor: &Tensor, et: ElementType) -> Result<Tensor, TensorError> {
    if tensor.element_type() == et {
        return Ok(tensor.clone());
    }
    if tensor.memo().is_none() {
        return tensor.cast(et);
    }
    Ok(Tensor::clone(&*tensor.memoised(Purpose::Wide, || Ok(tensor.cast(et)?.kept()))?))
}

/// As [`widen`], but integers become `f64`: for kernels without an integer form.
pub(crate) fn widen_real<const N: usize>(inputs: [&Tensor; N]) -> Result<[Tensor; N], TensorError> {
    let mut wide = widen(inputs)?;
    for tensor in &mut wide {
        if tensor.element_type().is_integer() {
            *tensor = converted(tensor, F64)?;
        }
    }
    Ok(wide)
}

/// Runs a kernel that only copies elements, on unsigned integers of the same size: strings become indices
/// into a common table, sub-byte elements become bytes.
///
/// # Errors
/// [`TensorError::TypeMismatch`] if the inputs differ in type, or the error of the kernel.
pub(crate) fn moving<K>(inputs: &[&Tensor], kernel: K) -> Result<Tensor, TensorError>
where
    K: FnOnce(&[Tensor]) -> Result<Tensor, TensorError>,
{
    let Some(et) = inputs.first().map(|t| t.element_type()) else {
        return kernel(&[]);
    };
    inputs.iter().try_for_each(|t| t.expect(et))?;
    // Errors should name the caller's element type rather than the integer type.
    moved(inputs, et, kernel).map_err(|error| error.with_element_type(et))
}

fn moved<K>(inputs: &[&Tensor], et: ElementType, kernel: K) -> Result<Tensor, TensorError>
where
    K: FnOnce(&[Tensor]) -> Result<Tensor, TensorError>,
{
    if et == String {
        return moving_texts(inputs, kernel);
    }
    let unit = match et.unit_bytes() {
        Some(2) => U16,
        Some(4) => U32,
        Some(8) => U64,
        _ => U8,
    };
    if et.unit_bytes().is_some() {
        let units: Vec<Tensor> = inputs.iter().map(|&t| t.clone().retyped(unit)).collect();
        return Ok(kernel(&units)?.retyped(et));
    }
    let spread = |t: &&Tensor| {
        let bytes = t.to_units();
        let units = (0..t.len()).map(|i| packing::get(et, &bytes, i)).collect();
        Tensor::from_units(U8, t.dims(), units)
    };
    let units = inputs.iter().map(spread).collect::<Result<Vec<_>, _>>()?;
    let moved = kernel(&units)?;
    let mut bytes = filled(stored_bytes(et, moved.dims())?, 0u8)?;
    for (i, &value) in moved.units::<u8>().iter().enumerate() {
        packing::set(et, &mut bytes, i, value);
    }
    Tensor::from_packed(et, moved.dims(), bytes)
}

fn moving_texts<K>(inputs: &[&Tensor], kernel: K) -> Result<Tensor, TensorError>
where
    K: FnOnce(&[Tensor]) -> Result<Tensor, TensorError>,
{
    // A table that all inputs share is reused. Different tables are concatenated, and indices are shifted
    // accordingly.
    let mut tables: Vec<&Arc<[std::string::String]>> = Vec::new();
    let mut units = Vec::with_capacity(inputs.len());
    for input in inputs {
        let shift = match tables.iter().position(|t| input.texts().is_some_and(|own| Arc::ptr_eq(t, own))) {
            Some(known) => tables[..known].iter().map(|t| t.len()).sum(),
            None => {
                let shift: usize = tables.iter().map(|t| t.len()).sum();
                tables.extend(input.texts());
                shift
            }
        };
        let shift =
            u32::try_from(shift).map_err(|_| TensorError::MalformedStrings("more than u32::MAX texts"))?;
        let indices = input.units::<u32>();
        let shifted = indices.iter().map(|&i| i.wrapping_add(shift)).collect();
        units.push(Tensor::from_units(U32, input.dims(), shifted)?);
    }
    let texts = match tables[..] {
        [only] => only.clone(),
        _ => tables.iter().flat_map(|t| t.iter().cloned()).collect(),
    };
    Ok(kernel(&units)?.retyped(String).with_texts(Some(texts)))
}
