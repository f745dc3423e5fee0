//! OpenVINO's packed form of strings: count, `count + 1` offsets, then the UTF-8 bytes.

use crate::TensorError;

/// Writes the packed form.
pub(crate) fn pack(texts: &[&str]) -> Vec<u8> {
    let total: usize = texts.iter().map(|t| t.len()).sum();
    let mut bytes = Vec::with_capacity(8 + 4 * texts.len() + total);
    bytes.extend((texts.len() as u32).to_le_bytes());
    let mut end = 0u32;
    bytes.extend(end.to_le_bytes());
    for text in texts {
        end = end.wrapping_add(text.len() as u32);
        bytes.extend(end.to_le_bytes());
    }
    for text in texts {
        bytes.extend(text.as_bytes());
    }
    bytes
}

/// Parses the packed form.
///
/// # Errors
/// [`TensorError::MalformedStrings`] if an offset decreases or is out of range, or if a string is not UTF-8.
pub(crate) fn unpack(bytes: &[u8]) -> Result<Vec<String>, TensorError> {
    let bad = TensorError::MalformedStrings;
    let (words, _) = bytes.as_chunks::<4>();
    let word = |i: usize| words.get(i).map(|w| u32::from_le_bytes(*w) as usize);
    let count = word(0).ok_or(bad("no count"))?;
    // Checked before allocating: every string needs an offset in the bytes.
    if words.len() < count.saturating_add(2) {
        return Err(bad("fewer offsets than texts"));
    }
    let body = &bytes[4 * (count + 2)..];
    (0..count)
        .map(|i| {
            let range = word(i + 1).zip(word(i + 2)).ok_or(bad("no offset"))?;
            let text = body.get(range.0..range.1).ok_or(bad("an offset lies outside the bytes"))?;
            match std::str::from_utf8(text) {
                Ok(text) => Ok(text.to_owned()),
                Err(_) => Err(bad("not UTF-8")),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_strings_round_trip() {
        let bytes = pack(&["ab", "", "ü"]);
        assert_eq!(&bytes[..8], [3, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(unpack(&bytes).unwrap(), ["ab", "", "ü"]);
        assert!(unpack(&bytes[..bytes.len() - 1]).is_err());
        assert!(unpack(&[255; 9]).is_err());
    }
}
