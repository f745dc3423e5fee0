//! String operations.

#[macro_use]
mod evaluate;
pub mod byte_fallback;
pub mod bytes_to_chars;
pub mod case_fold;
pub mod chars_map_normalization;
pub mod chars_to_bytes;
pub mod equal_str;
pub mod normalize_unicode;
#[cfg(feature = "tokenizers")]
pub(super) mod pieces;
pub mod regex_normalization;
pub mod regex_split;
pub mod special_tokens_split;
pub mod string_tensor_pack;
pub mod string_tensor_unpack;
pub(super) mod texts;
pub mod utf8_validate;
