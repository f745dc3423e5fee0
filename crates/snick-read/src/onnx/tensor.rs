//! Constants. Raw bytes become views of the model file or of an external file; elements in typed fields are
//! copied.

use std::path::PathBuf;
use std::sync::Arc;

use snick_ir::OpError;
use snick_ir::ops::Constant;
use snick_onnx::{Tensor as Message, from_number};
use snick_tensor::{ElementType, Storage, Tensor};

use super::external::ExternalFiles;
use crate::out_of_file;

/// The value of [`Message::data_location`] for data in an external file.
const EXTERNAL: i32 = 1;

/// The files that contain the bytes of constants.
pub(super) struct Tensors<'m> {
    file: &'m Storage,
    external: ExternalFiles,
}

impl<'m> Tensors<'m> {
    pub(super) fn new(file: &'m Storage, external: ExternalFiles) -> Self {
        Self { file, external }
    }

    /// The external files that were read.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.external.paths()
    }

    /// The external files that do not exist.
    pub(super) fn missing(&self) -> Vec<PathBuf> {
        self.external.missing()
    }

    /// Converts a message to a constant. Its value is absent if its external file does not exist.
    pub(super) fn constant(&self, message: &Message) -> Result<Constant, OpError> {
        match self.tensor(message) {
            Ok(tensor) => Ok(Constant::new(Arc::new(tensor))),
            Err(error @ OpError::WeightsMissing { .. }) => {
                let element_type = message.data_type.and_then(from_number);
                let dims: Result<_, _> = message.dims.iter().map(|&dim| usize::try_from(dim)).collect();
                let (Some(element_type), Ok(dims)) = (element_type, dims) else { return Err(error) };
                Ok(Constant::absent(element_type, dims, None))
            }
            Err(error) => Err(error),
        }
    }

    /// Converts a message to a tensor.
    pub(super) fn tensor(&self, message: &Message) -> Result<Tensor, OpError> {
        let number = message.data_type.unwrap_or_default();
        let element_type = from_number(number)
            .ok_or_else(|| OpError::unsupported(format!("a constant of ONNX data type {number}")))?;
        let size = |&dim: &i64| {
            usize::try_from(dim).map_err(|_| OpError::out_of_range("a dim of the constant", dim, "0 or more"))
        };
        let dims = message.dims.iter().map(size).collect::<Result<Vec<usize>, _>>()?;
        let count = dims.iter().try_fold(1usize, |n, &dim| n.checked_mul(dim));
        let count = count
            .ok_or_else(|| OpError::mismatch("the constant", "too large", "a size that can be addressed"))?;
        if element_type == ElementType::String {
            let text = |bytes: &bytes::Bytes| {
                let broken = || OpError::mismatch("a text of the constant", "not UTF-8", "UTF-8");
                String::from_utf8(bytes.to_vec()).map_err(|_| broken())
            };
            let texts = message.string_data.iter().map(text).collect::<Result<Vec<_>, _>>()?;
            return Ok(Tensor::strings(&dims, texts)?);
        }
        let expected = element_type.byte_len(count).unwrap_or(usize::MAX);
        let storage = if message.data_location == Some(EXTERNAL) {
            self.external(message, expected)?
        } else if let Some(raw) = &message.raw_data {
            self.view(raw)
        } else {
            Storage::heap(typed_bytes(message, element_type, count)?)
        };
        if storage.len() != expected {
            let wanted = format!("{expected} for {count} elements of {element_type}");
            return Err(OpError::mismatch("the number of bytes of the constant", storage.len(), wanted));
        }
        Ok(Tensor::new(element_type, &dims, storage)?)
    }

    /// The range of the model file that contains these bytes.
    fn view(&self, raw: &bytes::Bytes) -> Storage {
        let start = (raw.as_ptr() as usize).wrapping_sub(self.file.bytes().as_ptr() as usize);
        let window = self.file.window(start, raw.len());
        window.unwrap_or_else(|_| Storage::heap(raw.to_vec()))
    }

    /// The range of an external file that contains the elements of a tensor.
    fn external(&self, message: &Message, expected: usize) -> Result<Storage, OpError> {
        let entry = |key: &str| message.external_data.iter().find(|e| e.key == key).map(|e| e.value.as_str());
        let number = |key: &'static str, default: usize| match entry(key) {
            None => Ok(default),
            Some(text) => text.trim().parse().map_err(|_| OpError::BadAttribute {
                name: key,
                value: text.to_string(),
                expected: "a number of bytes".into(),
            }),
        };
        let location = entry("location").ok_or(OpError::MissingAttribute { name: "location" })?;
        let (offset, length) = (number("offset", 0)?, number("length", expected)?);
        let storage = self.external.open(location)?;
        let end = offset.saturating_add(length);
        storage.window(offset, length).map_err(|_| out_of_file((offset, end), location, storage.len()))
    }
}

/// The elements in a typed field, as little-endian bytes.
fn typed_bytes(message: &Message, element_type: ElementType, count: usize) -> Result<Vec<u8>, OpError> {
    use ElementType::{Boolean, F32, F64, I8, I32, I64, U8, U32, U64};
    let ints = &message.int32_data;
    let bytes: Vec<u8> = match element_type {
        F32 => message.float_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        F64 => message.double_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        I64 => message.int64_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        U64 => message.uint64_data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        U32 => message.uint64_data.iter().flat_map(|&v| (v as u32).to_le_bytes()).collect(),
        I32 => ints.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Boolean => ints.iter().map(|&v| u8::from(v != 0)).collect(),
        U8 | I8 => ints.iter().map(|&v| v as u8).collect(),
        // Each integer of the field contains a 16-bit element in its lower bits, or a byte into which several
        // elements are packed.
        _ => match element_type.bit_width() {
            Some(16) => ints.iter().flat_map(|&v| (v as u16).to_le_bytes()).collect(),
            Some(..=8) => ints.iter().map(|&v| v as u8).collect(),
            _ => return Err(OpError::unsupported(format!("a constant of {element_type} in this form"))),
        },
    };
    if bytes.is_empty() && count > 0 {
        let what = "the data of the constant".to_string();
        return Err(OpError::NoValue { what, why: "the file has none".into() });
    }
    Ok(bytes)
}
