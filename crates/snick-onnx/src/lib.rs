//! The ONNX wire format: the messages of a model file and the numbers of its element types.
//!
//! Shared by the reader and the writer. This crate does not know the semantics of operators.
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

use std::collections::HashMap;

use bytes::{Buf, Bytes};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};

pub use device::*;
pub use element_type::{from_number, is_type_number, to_number};
pub use message::*;

/// The reason why an ONNX model could not be decoded, and the position.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("byte {offset}: {message}")]
pub struct WireError {
    /// The byte offset of the error.
    pub offset: usize,
    /// The description of the error.
    pub message: String,
}

/// Decodes a model. Raw tensor data are views of `bytes`.
///
/// # Errors
/// [`WireError`] with the offset of the malformed byte.
pub fn decode(bytes: Bytes) -> Result<Model, WireError> {
    let (mut rest, total) = (bytes.clone(), bytes.len());
    let model = Model::decode(&mut rest);
    model.map_err(|error| WireError { offset: total - rest.remaining(), message: error.to_string() })
}

/// Encodes a model. Equal models are encoded as equal bytes.
pub fn encode(model: &Model) -> Vec<u8> {
    model.encode_to_vec()
}

/// Like [`encode`], but returns the encoding in parts, so that the raw data of constants of the main graph
/// need not be copied. `raw` contains the index of each of these constants and the length of its data. The
/// caller writes the data of the first constant after the first part, and so on, so there is one more part
/// than entries in `raw`.
///
/// ```
/// use snick_onnx::{Graph, Model, Tensor, decode, encode_around};
///
/// let constant = Tensor { name: "w".into(), dims: vec![3], data_type: Some(2), ..Tensor::default() };
/// let graph = Graph { initializer: vec![constant], ..Graph::default() };
/// let parts = encode_around(Model { graph: Some(graph), ..Model::default() }, &[(0, 3)]);
/// let model = decode([&parts[0][..], &[7, 8, 9], &parts[1]].concat().into())?;
/// assert_eq!(model.graph.unwrap().initializer[0].raw_data.as_deref(), Some(&[7, 8, 9][..]));
/// # Ok::<(), snick_onnx::WireError>(())
/// ```
pub fn encode_around(mut model: Model, raw: &[(usize, usize)]) -> Vec<Vec<u8>> {
    let mut graph = model.graph.take().unwrap_or_default();
    let constants = std::mem::take(&mut graph.initializer);
    let raw: HashMap<usize, usize> = raw.iter().copied().collect();
    let len = |at: usize, constant: &Tensor| {
        constant.encoded_len() + raw.get(&at).map_or(0, |&len| field_len(tag::RAW_DATA, len))
    };
    let lens = constants.iter().enumerate().map(|(at, constant)| len(at, constant));
    let constants_len: usize = lens.map(|len| field_len(tag::INITIALIZER, len)).sum();
    let (mut parts, mut part) = (Vec::with_capacity(raw.len() + 1), model.encode_to_vec());
    field(tag::GRAPH, graph.encoded_len() + constants_len, &mut part);
    part.extend(graph.encode_to_vec());
    for (at, constant) in constants.iter().enumerate() {
        field(tag::INITIALIZER, len(at, constant), &mut part);
        part.extend(constant.encode_to_vec());
        if let Some(&len) = raw.get(&at) {
            field(tag::RAW_DATA, len, &mut part);
            parts.push(std::mem::take(&mut part));
        }
    }
    parts.push(part);
    parts
}

/// The numbers of the fields that [`encode_around`] writes itself. They match the declarations of the
/// messages.
mod tag {
    pub(super) const GRAPH: u32 = 7;
    pub(super) const INITIALIZER: u32 = 5;
    pub(super) const RAW_DATA: u32 = 9;
}

/// Writes the header of a length-delimited field.
fn field(tag: u32, len: usize, to: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, to);
    encode_varint(len as u64, to);
}

/// The encoded length of a field with `len` bytes of content.
fn field_len(tag: u32, len: usize) -> usize {
    key_len(tag) + encoded_len_varint(len as u64) + len
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

    #[test]
    fn parts_and_raw_data_are_the_model() {
        let constant = |i: usize, raw: Option<usize>| Tensor {
            name: format!("c{i}"),
            dims: vec![i as i64],
            raw_data: raw.map(|len| vec![i as u8; len].into()),
            ..Tensor::default()
        };
        // Data lengths whose varint encodings take one to three bytes.
        let lens = [Some(3), None, Some(300), Some(0), Some(70_000)];
        let graph = |with_raw: bool| Graph {
            name: "g".into(),
            node: vec![Node { op_type: "Relu".into(), ..Node::default() }],
            initializer: lens
                .iter()
                .enumerate()
                .map(|(i, len)| constant(i, len.filter(|_| with_raw)))
                .collect(),
            ..Graph::default()
        };
        let model = |with_raw| Model {
            ir_version: Some(10),
            graph: Some(graph(with_raw)),
            opset_import: vec![OperatorSet { version: Some(21), ..OperatorSet::default() }],
            ..Model::default()
        };
        let raw: Vec<_> = lens.iter().enumerate().filter_map(|(i, len)| Some((i, (*len)?))).collect();
        let parts = encode_around(model(false), &raw);
        assert_eq!(parts.len(), raw.len() + 1);
        let mut bytes = parts[0].clone();
        for (&(i, len), part) in raw.iter().zip(&parts[1..]) {
            bytes.extend(std::iter::repeat_n(i as u8, len));
            bytes.extend(part);
        }
        assert_eq!(decode(bytes.into()), Ok(model(true)));
    }
}
