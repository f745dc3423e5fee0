//! Mutates a text token by token: words, numbers, and other single bytes.

use std::sync::LazyLock;

use snick_ir::ops::reference;
use snick_tensor::SplitMix;

use super::below;

/// Words of the formats other than names of ops and attributes.
const WORDS: [&str; 40] = [
    "-1",
    "0",
    "1",
    "2",
    "3",
    "4",
    "8",
    "100",
    "65536",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "f32",
    "f16",
    "i64",
    "i32",
    "u8",
    "boolean",
    "string",
    "FP32",
    "I64",
    "true",
    "false",
    "null",
    "[]",
    "{}",
    "\"\"",
    "N",
    "?",
    "-1",
    "1e309",
    "nan",
    "1..4",
    "opset1",
    "opset8",
    "opset15",
    "extension",
    "body",
    "&#0;",
    "\u{7f}",
];

/// [`WORDS`], the names of all ops and attributes, and the words that attributes accept.
static DICTIONARY: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut words: Vec<String> = WORDS.iter().map(|word| word.to_string()).collect();
    for entry in reference() {
        words.push(entry.name.name.to_string());
        for spec in entry.attrs() {
            words.push(spec.name.to_string());
            words.extend(
                spec.kind
                    .strip_prefix("one of ")
                    .into_iter()
                    .flat_map(|kind| kind.split(", "))
                    .map(String::from),
            );
        }
    }
    words.sort();
    words.dedup();
    words
});

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-') || byte >= 0x80
}

fn split(text: &[u8]) -> Vec<&[u8]> {
    text.chunk_by(|&a, &b| is_word(a) && is_word(b)).collect()
}

/// A mutated text, determined by the seed.
pub fn tokens(text: &[u8], seed: u64) -> Vec<u8> {
    let mut random = SplitMix::new(seed);
    let mut tokens = split(text);
    for _ in 0..1 + random.below(4) {
        let at = below(tokens.len(), &mut random);
        let len = 1 + below(if random.below(3) == 0 { 40 } else { 3 }, &mut random);
        let end = (at + len).min(tokens.len());
        let from = below(tokens.len(), &mut random);
        let words: Vec<usize> = (at..tokens.len().min(at + 12)).filter(|&i| is_word(tokens[i][0])).collect();
        match random.below(7) {
            0 => drop(tokens.drain(at..end)),
            1 => {
                let copied = tokens[from..(from + len).min(tokens.len())].to_vec();
                tokens.splice(at..at, copied);
            }
            2 => {
                let copied = tokens[at..end].to_vec();
                tokens.splice(at..at, copied);
            }
            3 if from < tokens.len() => tokens.swap(at, from),
            choice => {
                // Replaces a word by one from the dictionary or from this text.
                let Some(&word) = words.first() else { continue };
                let others = tokens.iter().copied().filter(|token| is_word(token[0]));
                let new = match choice {
                    4 => others.clone().nth(below(others.count(), &mut random)),
                    _ => DICTIONARY.get(below(DICTIONARY.len(), &mut random)).map(|word| word.as_bytes()),
                };
                tokens[word] = new.unwrap_or_default();
                tokens.retain(|token| !token.is_empty());
            }
        }
    }
    tokens.concat()
}
