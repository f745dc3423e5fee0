//! The ONNX wire format: the messages of a model file and the numbers of its element types.
//!
//! The reader and the writer share this crate. It does not know what an operator means.
//!
//! ```
//! use snick_onnx::{Model, decode, encode};
//!
//! let model = Model { ir_version: Some(10), producer_name: "example".into(), ..Model::default() };
//! let bytes = encode(&model);
//! assert_eq!(decode(bytes.into())?, model);
//! # Ok::<(), snick_onnx::WireError>(())
//! ```

mod device;
mod element_type;
mod message;

use bytes::{Buf, Bytes};
use prost::Message;

pub use device::*;
pub use element_type::{from_number, is_type_number, to_number};
pub use message::*;

/// Why bytes are not an ONNX model.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("byte {offset}: {message}")]
pub struct WireError {
    /// The offset of the error.
    pub offset: usize,
    /// What is wrong.
    pub message: String,
}

/// Reads a model. Raw tensor data are views of `bytes`.
///
/// # Errors
/// [`WireError`] with the offset of the malformed byte.
pub fn decode(bytes: Bytes) -> Result<Model, WireError> {
    let (mut rest, total) = (bytes.clone(), bytes.len());
    let model = Model::decode(&mut rest);
    model.map_err(|error| WireError { offset: total - rest.remaining(), message: error.to_string() })
}

/// Writes a model; equal models give equal bytes.
pub fn encode(model: &Model) -> Vec<u8> {
    model.encode_to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_message_has_a_place() {
        let model = Model { producer_name: "abc".into(), ..Model::default() };
        let bytes = encode(&model);
        assert_eq!(decode(bytes.clone().into()), Ok(model));
        let error = decode(Bytes::from(bytes[..3].to_vec())).unwrap_err();
        assert!(error.to_string().starts_with("byte 2: "), "{error}");
    }
}
