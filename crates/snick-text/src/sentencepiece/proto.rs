//! The protobuf messages of a SentencePiece model file, with the fields used for encoding and decoding.

use prost::Message;

/// A model.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ModelProto {
    #[prost(message, repeated, tag = "1")]
    pub pieces: Vec<Piece>,
    #[prost(message, optional, tag = "2")]
    pub trainer: Option<Trainer>,
    #[prost(message, optional, tag = "3")]
    pub normalizer: Option<NormalizerSpec>,
    #[prost(message, optional, tag = "5")]
    pub denormalizer: Option<NormalizerSpec>,
}

/// A token.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Piece {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub piece: Option<Vec<u8>>,
    #[prost(float, optional, tag = "2")]
    pub score: Option<f32>,
    #[prost(int32, optional, tag = "3")]
    pub kind: Option<i32>,
}

/// How the model was trained.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Trainer {
    #[prost(int32, optional, tag = "3")]
    pub model_type: Option<i32>,
    #[prost(bool, optional, tag = "24")]
    pub treat_whitespace_as_suffix: Option<bool>,
    #[prost(bool, optional, tag = "35")]
    pub byte_fallback: Option<bool>,
    #[prost(string, optional, tag = "44")]
    pub unk_surface: Option<String>,
    #[prost(bytes = "vec", optional, tag = "46")]
    pub bos_piece: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "47")]
    pub eos_piece: Option<Vec<u8>>,
}

/// How texts are normalised.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct NormalizerSpec {
    #[prost(bytes = "vec", optional, tag = "2")]
    pub precompiled_charsmap: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "3")]
    pub add_dummy_prefix: Option<bool>,
    #[prost(bool, optional, tag = "4")]
    pub remove_extra_whitespaces: Option<bool>,
    #[prost(bool, optional, tag = "5")]
    pub escape_whitespaces: Option<bool>,
}
