//! Constants as zero-copy views of the mapped `.bin`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use snick_ir::{AttrValue, Attrs, OpError};
use snick_tensor::{ElementType, Storage, Tensor};

use crate::{ReadError, out_of_file};

/// The weights of a model, which may be absent.
#[derive(Debug)]
pub struct Weights {
    path: PathBuf,
    storage: Option<Storage>,
    /// Whether a constant needed weights that are absent.
    missed: std::cell::Cell<bool>,
}

/// A constant that extends beyond the end of the weights.
pub(super) struct Beyond {
    /// The end of its bytes.
    pub(super) end: usize,
    pub(super) error: OpError,
}

impl Weights {
    /// Maps the `.bin`. A missing file is an error only if it is `required`.
    pub fn open(path: &Path, required: bool) -> Result<Self, ReadError> {
        let storage = match crate::file::open(path) {
            Ok(storage) => Some(storage),
            Err(ReadError::Io { error, .. }) if !required && error.kind() == std::io::ErrorKind::NotFound => {
                None
            }
            Err(error) => return Err(error),
        };
        Ok(Self { path: path.to_path_buf(), storage, missed: false.into() })
    }

    /// Absent weights: constants have no bytes. `name` is the name of the missing file in messages.
    pub fn absent(name: &str) -> Self {
        Self { path: name.into(), storage: None, missed: false.into() }
    }

    /// Weights in memory. `name` is their name in messages.
    pub fn in_memory(name: &str, bytes: Storage) -> Self {
        Self { path: name.into(), storage: Some(bytes), missed: false.into() }
    }

    /// The file, if it does not exist and a constant needed it.
    pub(super) fn missing(&self) -> Vec<PathBuf> {
        if self.missed.get() { vec![self.path.clone()] } else { Vec::new() }
    }

    /// Replaces the attributes `offset` and `size` of a Const layer with an attribute `value`. Does nothing
    /// if the weights are absent, or too short for the constant.
    pub(super) fn attach(&self, attrs: &mut Attrs) -> Result<Option<Beyond>, OpError> {
        let need = |name| OpError::MissingAttribute { name };
        let element_type = attrs.element_type("element_type")?.ok_or(need("element_type"))?;
        let dims = attrs.sizes("shape")?.ok_or(need("shape"))?;
        let offset = attrs.sizes("offset")?.and_then(|v| v.first().copied()).ok_or(need("offset"))?;
        let size = attrs.sizes("size")?.and_then(|v| v.first().copied()).ok_or(need("size"))?;
        let Some(storage) = &self.storage else {
            self.missed.set(true);
            return Ok(None);
        };
        let Ok(window) = storage.window(offset, size) else {
            let end = offset.saturating_add(size);
            let error = out_of_file((offset, end), &self.path.display().to_string(), storage.len());
            return Ok(Some(Beyond { end, error }));
        };
        let tensor = match element_type {
            ElementType::String => Tensor::strings(&dims, unpack_strings(window.bytes())?)?,
            _ => Tensor::new(element_type, &dims, window)?,
        };
        attrs.push("value".into(), AttrValue::Tensor(Arc::new(tensor)));
        Ok(None)
    }
}

/// The strings of a constant in OpenVINO's format: the number of strings, the offset of each string, and the
/// end of the last string, all as i32, followed by the characters.
fn unpack_strings(bytes: &[u8]) -> Result<Vec<String>, OpError> {
    let broken =
        || OpError::mismatch("the bytes of a string constant", "inconsistent", "count, offsets, text");
    let word = |i: usize| -> Option<usize> {
        let at = i.checked_mul(4)?;
        let word: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        usize::try_from(i32::from_le_bytes(word)).ok()
    };
    let count = word(0).ok_or_else(broken)?;
    // Rejects a count that is too large before memory is allocated for it.
    let text_at = count.checked_add(2).and_then(|n| n.checked_mul(4)).filter(|&at| at <= bytes.len());
    let text = &bytes[text_at.ok_or_else(broken)?..];
    let string = |i: usize| -> Option<String> {
        let part = text.get(word(i + 1)?..word(i + 2)?)?;
        String::from_utf8(part.to_vec()).ok()
    };
    (0..count).map(|i| string(i).ok_or_else(broken)).collect()
}

#[cfg(test)]
mod tests {
    use super::unpack_strings;

    #[test]
    fn strings_are_packed_behind_their_offsets() {
        let words = [2i32, 0, 2, 5].map(i32::to_le_bytes).concat();
        let bytes = [words.as_slice(), b"ababc"].concat();
        assert_eq!(unpack_strings(&bytes).unwrap(), ["ab", "abc"]);
        assert!(unpack_strings(&bytes[..15]).is_err());
        assert!(unpack_strings(&i32::MAX.to_le_bytes()).is_err());
    }
}
