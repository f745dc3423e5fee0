//! Character maps in SentencePiece's compiled form: a double-array trie of prefixes, and their replacements.

use crate::TextError;

/// A compiled map from character sequences to replacement texts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CharsMap {
    units: Vec<u32>,
    texts: Vec<u8>,
}

impl CharsMap {
    /// Parses the compiled form: the size of the double array in bytes, its units, and zero-terminated texts.
    ///
    /// # Errors
    /// [`TextError::CharsMap`].
    pub fn parse(bytes: &[u8]) -> Result<Self, TextError> {
        let wrong = TextError::CharsMap;
        let (size, rest) = bytes.split_first_chunk::<4>().ok_or(wrong("it has no size"))?;
        let size = u32::from_le_bytes(*size) as usize;
        let (units, texts) = rest.split_at_checked(size).ok_or(wrong("it is shorter than its size"))?;
        let (units, remainder) = units.as_chunks::<4>();
        if !remainder.is_empty() || units.is_empty() {
            return Err(wrong("its size is not a whole number of units"));
        }
        let units = units.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
        Ok(Self { units, texts: texts.to_vec() })
    }

    /// The length and the replacement of the longest prefix of `text` in the map.
    pub(crate) fn longest(&self, text: &[u8]) -> Option<(usize, &[u8])> {
        let offset = |unit: u32| (unit >> 10) << ((unit & (1 << 9)) >> 6);
        let unit_at = |at: u32| self.units.get(at as usize).copied();
        let mut at = offset(*self.units.first()?);
        let mut best = None;
        for (i, &byte) in text.iter().enumerate() {
            at ^= u32::from(byte);
            let Some(unit) = unit_at(at).filter(|unit| unit & (1 << 31 | 0xff) == u32::from(byte)) else {
                break;
            };
            at ^= offset(unit);
            if unit >> 8 & 1 == 1 {
                let Some(value) = unit_at(at) else { break };
                best = Some((i + 1, (value & !(1 << 31)) as usize));
            }
        }
        let (len, start) = best?;
        let text = self.texts.get(start..)?;
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        Some((len, &text[..end]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A map from `a` to `xy`.
    fn map() -> Vec<u8> {
        let mut units = vec![0u32; 512];
        // The root is at offset 256; the leaf of `a` is at offset 1 from `a`.
        units[0] = 256 << 10;
        let a = 256 ^ u32::from(b'a');
        units[a as usize] = u32::from(b'a') | 1 << 8 | (a ^ 1) << 10;
        units[1] = 1 << 31;
        let mut bytes = 2048u32.to_le_bytes().to_vec();
        bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        bytes.extend(b"xy\0");
        bytes
    }

    #[test]
    fn the_longest_prefix_is_mapped() {
        let map = CharsMap::parse(&map()).unwrap();
        assert_eq!(map.longest(b"ab"), Some((1, &b"xy"[..])));
        assert_eq!(map.longest(b"b"), None);
        assert_eq!(map.longest(b""), None);
    }

    #[test]
    fn damage_is_an_error_or_no_match() {
        let bytes = map();
        assert!(CharsMap::parse(&bytes[..3]).is_err() && CharsMap::parse(&bytes[..100]).is_err());
        assert!(CharsMap::parse(&[0; 4]).is_err() && CharsMap::parse(&[3, 0, 0, 0, 1, 1, 1]).is_err());
        let mut cut = bytes[..8].to_vec();
        cut[..4].copy_from_slice(&4u32.to_le_bytes());
        assert_eq!(CharsMap::parse(&cut).unwrap().longest(b"ab"), None);
    }
}
