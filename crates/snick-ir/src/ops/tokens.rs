//! Tokenizers and detokenizers.

pub mod bpe_tokenizer;
mod detokenize;
pub mod sentencepiece_detokenizer;
pub mod sentencepiece_stream_detokenizer;
pub mod sentencepiece_tokenizer;
pub mod trie_tokenizer;
pub mod unigram_tokenizer;
pub mod vocab_decoder;
pub mod vocab_encoder;
mod vocabulary;
pub mod wordpiece_tokenizer;
