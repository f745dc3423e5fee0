//! snick shares half-precision floats with burn, candle and ort: tensors of `f16` cross the boundary.
#![cfg(test)]
// burn still releases this backend, which is based on ndarray.
#![allow(deprecated)]

use burn_backend::TensorData;
use burn_ndarray::NdArrayTensor;
use candle_core::Device;
use ort::value::Tensor as OrtTensor;
use snick::Tensor;
use snick::half::f16;

type Result = std::result::Result<(), Box<dyn std::error::Error>>;

fn halves() -> [f16; 6] {
    [-2.0, -0.5, 0.0, 0.25, 1.0, 65504.0].map(f16::from_f32)
}

#[test]
fn candle_reads_and_writes_halves() -> Result {
    let tensor = Tensor::from_slice(&halves(), &[2, 3])?;
    let theirs = candle_core::Tensor::from_slice(tensor.as_slice::<f16>()?, tensor.dims(), &Device::Cpu)?;
    let back = Tensor::from_vec(theirs.dims(), theirs.flatten_all()?.to_vec1::<f16>()?)?;
    assert_eq!(back.as_slice::<f16>()?, halves());
    Ok(())
}

#[test]
fn burn_reads_and_writes_halves() -> Result {
    let tensor = Tensor::from_slice(&halves(), &[2, 3])?;
    let data = TensorData::new(tensor.as_slice::<f16>()?.to_vec(), tensor.dims());
    assert_eq!(data.as_slice::<f16>().map_err(|error| format!("{error:?}"))?, halves());
    // The backend computes with f32.
    let theirs = NdArrayTensor::from_data(data.convert::<f32>());
    assert!(matches!(theirs, NdArrayTensor::F32(_)));
    Ok(())
}

/// Compiles, but is not run, because it would load the ONNX runtime.
pub fn ort_reads_and_writes_halves() -> Result {
    let tensor = Tensor::from_slice(&halves(), &[2, 3])?;
    let theirs = OrtTensor::<f16>::from_array(([2usize, 3], tensor.as_slice::<f16>()?.to_vec()))?;
    let (dims, values) = theirs.extract_tensor();
    let dims: Vec<usize> =
        dims.iter().map(|&dim| usize::try_from(dim)).collect::<std::result::Result<_, _>>()?;
    let back = Tensor::from_slice(values, &dims)?;
    // The same arrays, too.
    let _ = OrtTensor::<f16>::from_array(back.view::<f16>()?.to_owned())?;
    Ok(())
}
