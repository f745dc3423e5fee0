//! Tests with models built token by token.

use super::proto::{ModelProto, NormalizerSpec, Piece, Trainer};
use super::*;

fn piece(text: &str, score: f32, kind: i32) -> Piece {
    Piece { piece: Some(text.into()), score: Some(score), kind: Some(kind) }
}

fn model(model_type: i32, byte_fallback: bool, more: &[(&str, f32, i32)]) -> SentencePiece {
    let mut pieces = vec![piece("<unk>", 0.0, 2), piece("<s>", 0.0, 3), piece("</s>", 0.0, 3)];
    pieces.extend(more.iter().map(|(text, score, kind)| piece(text, *score, *kind)));
    if byte_fallback {
        pieces.extend((0..=255).map(|byte| piece(&format!("<0x{byte:02X}>"), 0.0, 6)));
    }
    let trainer =
        Trainer { model_type: Some(model_type), byte_fallback: Some(byte_fallback), ..Trainer::default() };
    let normalizer = NormalizerSpec::default();
    let model =
        ModelProto { pieces, trainer: Some(trainer), normalizer: Some(normalizer), denormalizer: None };
    SentencePiece::parse(&model.encode_to_vec()).unwrap()
}

fn encode(model: &SentencePiece, text: &str) -> Vec<i32> {
    let mut tokens = Vec::new();
    model.encode(text.as_bytes(), &mut tokens).unwrap();
    tokens
}

const TOKENS: [(&str, f32, i32); 7] = [
    ("▁", -3.0, 1),
    ("a", -3.0, 1),
    ("b", -3.0, 1),
    ("ab", -1.0, 1),
    ("▁ab", -2.0, 1),
    ("<x>", 0.0, 4),
    ("ba", -1.0, 5),
];

#[test]
fn each_algorithm_cuts_its_way() {
    let unigram = model(1, false, &TOKENS);
    assert_eq!(encode(&unigram, "ab ab"), [7, 7]);
    assert_eq!(encode(&unigram, "a<x>??"), [3, 4, 8, 0]);
    let merges = model(2, false, &TOKENS);
    assert_eq!(encode(&merges, "ab bab"), [7, 3, 5, 4, 5]);
    assert_eq!(encode(&merges, "a<x>b"), [3, 4, 8, 5]);
    assert_eq!(encode(&model(3, false, &TOKENS), "ab a"), [7, 0]);
    assert_eq!(encode(&model(4, false, &TOKENS), "ab"), [3, 4, 5]);
}

#[test]
fn an_unused_token_is_taken_apart() {
    assert_eq!(encode(&model(2, false, &TOKENS), "ba"), [3, 5, 4]);
}

#[test]
fn unknown_characters_become_bytes() {
    let model = model(1, true, &TOKENS);
    let first = 3 + TOKENS.len() as i32;
    assert_eq!(encode(&model, "é"), [3, first + 0xc3, first + 0xa9]);
    assert_eq!(model.decode(&[3, first + 0xc3, first + 0xa9, first + 0xff, 6]), Ok("é\u{fffd}ab".into()));
}

#[test]
fn decoding_drops_control_tokens_and_the_first_space() {
    let model = model(1, false, &TOKENS);
    assert_eq!(model.decode(&[1, 7, 7, 0, 2]), Ok("ab ab \u{2047} ".into()));
    assert_eq!(model.decode(&[99]), Err(TextError::TokenRange { id: 99, size: 10 }));
    assert_eq!(model.decode_stream(&[7, 99, -1, 4]), "▁aba".as_bytes());
    assert_eq!((model.bos(), model.eos(), model.len()), (Some(1), Some(2), 10));
}

#[test]
fn special_tokens_come_before_the_model() {
    let model = model(1, false, &TOKENS);
    let special = SpecialTokens::new([(&b"[x]"[..], 50), (b"sop", 51)]).unwrap();
    let mut tokens = Vec::new();
    model.encode_special(b"ab[x]ab sop", &special, Some(1), &mut tokens).unwrap();
    assert_eq!(tokens, [1, 7, 50, 1, 7, 51]);
}

#[test]
fn damaged_models_are_errors() {
    let file = |pieces: Vec<Piece>| {
        let model = ModelProto { pieces, ..ModelProto::default() };
        SentencePiece::parse(&model.encode_to_vec()).map(|_| ())
    };
    assert!(SentencePiece::parse(b"\xff\xff").is_err());
    assert!(file(vec![]).is_err());
    assert!(file(vec![piece("<unk>", 0.0, 2), piece("a", 0.0, 6)]).is_err());
    assert!(file(vec![piece("<unk>", 0.0, 9)]).is_err());
}
