//! Tensors in files: `.npy` files of numpy, and `.npz` files, which are zip archives of them.
//!
//! Values of types that numpy does not have are stored as their bits:
//! - bf16 as uint16 with the same dims;
//! - 8-bit floats as uint8 with the same dims;
//! - types with fewer than 8 bits as uint8, packed into one dimension.
//!
//! [`fit`] reverses this. It also accepts uint8 as booleans.

mod npy;

pub use npy::Header;

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek, Write};
use std::path::{Path, PathBuf};

use snick::WrittenFile;
use snick_tensor::{ElementType, Storage, Tensor, TensorError};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// The reason why a file cannot be read.
#[derive(thiserror::Error, Debug)]
#[allow(missing_docs, reason = "the message of each variant explains its fields")]
pub enum NpzError {
    #[error("not an .npy array: {0}")]
    Header(&'static str),
    #[error("arrays of type `{0}` are not supported")]
    Type(String),
    #[error("version {major}.{minor} of the .npy format is not supported; expected 1.0, 2.0 or 3.0")]
    Version { major: u8, minor: u8 },
    /// Reading the array would exceed the memory limit.
    #[error("needs {needed} bytes of memory, more than the {free} that --max-memory leaves")]
    Memory { needed: usize, free: usize },
    #[error("needs {needed} bytes of elements, but has {found}: truncated?")]
    Short { needed: usize, found: usize },
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Zip(#[from] ZipError),
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// The error for a file of arrays that cannot be read.
#[derive(thiserror::Error, Debug)]
#[error("{}{}: {error}", path.display(), if array.is_empty() { String::new() } else { format!(": array `{array}`") })]
pub struct UnreadableFile {
    path: PathBuf,
    /// The name of the array; empty if the error is about the whole file.
    array: String,
    error: NpzError,
}

impl UnreadableFile {
    fn new(path: &Path, array: &str, error: impl Into<NpzError>) -> Self {
        Self { path: path.to_path_buf(), array: array.to_string(), error: error.into() }
    }

    /// The path and the error of the system, if the file cannot be opened or read.
    pub fn as_io(&self) -> Option<(&Path, &std::io::Error)> {
        match &self.error {
            NpzError::Io(error) => Some((&self.path, error)),
            _ => None,
        }
    }

    /// Whether reading would exceed the memory limit, or the memory is exhausted.
    pub fn is_limit(&self) -> bool {
        matches!(self.error, NpzError::Memory { .. } | NpzError::Tensor(TensorError::OutOfMemory { .. }))
    }
}

/// Reads the array of an `.npy` file. Fails if `check` rejects the header, or if the array takes more than
/// `memory` bytes.
pub fn read_npy<E: From<UnreadableFile>>(
    path: &Path,
    memory: usize,
    check: impl FnOnce(&Header) -> Result<(), E>,
) -> Result<Tensor, E> {
    let wrong = |error: std::io::Error| UnreadableFile::new(path, "", error);
    let file = File::open(path).map_err(wrong)?;
    let metadata = file.metadata().map_err(wrong)?;
    // The length of a pipe is unknown.
    let len = if metadata.is_file() { metadata.len() } else { u64::MAX };
    read_npy_from(path, BufReader::new(file), len, memory, check)
}

/// Like [`read_npy`], but reads `len` bytes from `source`. `path` is the name of the file in messages.
fn read_npy_from<E: From<UnreadableFile>>(
    path: &Path,
    mut source: impl Read,
    len: u64,
    memory: usize,
    check: impl FnOnce(&Header) -> Result<(), E>,
) -> Result<Tensor, E> {
    let wrong = |error| UnreadableFile::new(path, "", error);
    let header = Header::read(&mut source).map_err(wrong)?;
    check(&header)?;
    let tensor = within(memory, &header).and_then(|_| header.elements(&mut source, len));
    Ok(tensor.map_err(wrong)?)
}

/// The number of bytes that remain of `memory` after reading an array.
fn within(memory: usize, header: &Header) -> Result<usize, NpzError> {
    let needed = header.memory();
    memory.checked_sub(needed).ok_or(NpzError::Memory { needed, free: memory })
}

/// Writes an array to an `.npy` file.
pub fn write_npy(path: &Path, tensor: &Tensor) -> Result<WrittenFile, snick::Error> {
    let (header, elements) = npy::parts(tensor);
    WrittenFile::write(path, |file| {
        file.write_all(&header)?;
        file.write_all(&elements)
    })
}

/// The bytes of an `.npy` file.
pub fn npy_bytes(tensor: &Tensor) -> Vec<u8> {
    let (header, elements) = npy::parts(tensor);
    [&header, &*elements].concat()
}

/// Reads the arrays of an `.npz` file for which `is_wanted` returns true, in file order. Fails if `check`
/// rejects a header. The arrays may take `memory` bytes in total.
pub fn read<E: From<UnreadableFile>>(
    path: &Path,
    memory: usize,
    is_wanted: impl FnMut(&str) -> Result<bool, E>,
    check: impl FnMut(&str, &Header) -> Result<(), E>,
) -> Result<Vec<(String, Tensor)>, E> {
    let file = File::open(path).map_err(|error| UnreadableFile::new(path, "", error))?;
    read_from(path, BufReader::new(file), memory, is_wanted, check)
}

/// Like [`read`], but reads from `source`. `path` is the name of the file in messages.
fn read_from<E: From<UnreadableFile>>(
    path: &Path,
    source: impl Read + Seek,
    memory: usize,
    mut is_wanted: impl FnMut(&str) -> Result<bool, E>,
    mut check: impl FnMut(&str, &Header) -> Result<(), E>,
) -> Result<Vec<(String, Tensor)>, E> {
    let wrong = |error: ZipError| UnreadableFile::new(path, "", error);
    let mut archive = ZipArchive::new(source).map_err(wrong)?;
    let mut arrays = Vec::new();
    let mut free = memory;
    for i in 0..archive.len() {
        let mut entry = archive.by_index(i).map_err(wrong)?;
        let name = array_name(entry.name()).to_string();
        if !is_wanted(&name)? {
            continue;
        }
        let wrong = |error| UnreadableFile::new(path, &name, error);
        let header = Header::read(&mut entry).map_err(wrong)?;
        check(&name, &header)?;
        free = within(free, &header).map_err(wrong)?;
        let len = entry.size();
        let array = header.elements(&mut entry, len).map_err(wrong)?;
        arrays.push((name, array));
    }
    Ok(arrays)
}

/// The content of an `.npz` file or of an `.npy` file.
#[derive(Copy, Clone)]
pub struct ArrayBytes<'f> {
    /// The name of the file in messages.
    pub path: &'f Path,
    /// The content.
    pub bytes: &'f [u8],
}

impl ArrayBytes<'_> {
    fn is_archive(self) -> bool {
        self.bytes.starts_with(b"PK")
    }

    /// The names and headers of the arrays. The array of an `.npy` file has no name.
    pub fn headers(mut self) -> Result<Vec<(String, Header)>, UnreadableFile> {
        let wrong = |error: NpzError| UnreadableFile::new(self.path, "", error);
        if !self.is_archive() {
            return Ok(vec![(String::new(), Header::read(&mut self.bytes).map_err(wrong)?)]);
        }
        let mut archive = ZipArchive::new(Cursor::new(self.bytes)).map_err(|error| wrong(error.into()))?;
        let mut headers = Vec::new();
        for i in 0..archive.len() {
            let mut entry = archive.by_index(i).map_err(|error| wrong(error.into()))?;
            let name = array_name(entry.name()).to_string();
            let header = Header::read(&mut entry);
            headers
                .push((name.clone(), header.map_err(|error| UnreadableFile::new(self.path, &name, error))?));
        }
        Ok(headers)
    }

    /// Reads one array, of at most `memory` bytes. Fails if `check` rejects the header. Returns `None` if
    /// there is no array with this name.
    pub fn array<E: From<UnreadableFile>>(
        self,
        name: &str,
        memory: usize,
        mut check: impl FnMut(&Header) -> Result<(), E>,
    ) -> Result<Option<Tensor>, E> {
        if !self.is_archive() {
            let len = self.bytes.len() as u64;
            return read_npy_from(self.path, self.bytes, len, memory, check).map(Some);
        }
        let is_wanted = |found: &str| Ok(found == name);
        let arrays =
            read_from(self.path, Cursor::new(self.bytes), memory, is_wanted, |_, header| check(header))?;
        Ok(arrays.into_iter().next().map(|(_, array)| array))
    }
}

/// The name of the array in a member of an archive.
fn array_name(member: &str) -> &str {
    member.strip_suffix(".npy").unwrap_or(member)
}

/// Writes arrays by name, without compression. Names must be unique.
pub fn write<'a>(
    path: &Path,
    arrays: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
) -> Result<WrittenFile, snick::Error> {
    WrittenFile::write(path, |file| write_to(file, arrays))
}

/// The bytes of the file that [`write`] writes.
pub fn npz_bytes<'a>(arrays: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> std::io::Result<Vec<u8>> {
    let mut file = Cursor::new(Vec::new());
    write_to(&mut file, arrays)?;
    Ok(file.into_inner())
}

fn write_to<'a>(
    file: impl Write + Seek,
    arrays: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
) -> std::io::Result<()> {
    let mut archive = ZipWriter::new(file);
    for (name, tensor) in arrays {
        let (header, elements) = npy::parts(tensor);
        let len = header.len().saturating_add(elements.len());
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(len >= u32::MAX as usize);
        archive.start_file(format!("{name}.npy"), options)?;
        archive.write_all(&header)?;
        archive.write_all(&elements)?;
    }
    archive.finish()?;
    Ok(())
}

/// Reinterprets a stored array as `element_type` if numpy does not have this type. Otherwise, the array must
/// already have the type. `declared` are the dims of a packed array, if they are known.
pub fn fit(array: Tensor, element_type: ElementType, declared: Option<&[usize]>) -> Option<Tensor> {
    let stored = array.element_type();
    let dims = fitted_dims(stored, array.dims(), element_type, declared)?;
    if stored == element_type || element_type == ElementType::Dynamic {
        return Some(array);
    }
    Tensor::new(element_type, dims, Storage::heap(array.to_bytes().into_owned())).ok()
}

/// The dims of a stored array when it is viewed as an element type; `None` if this is impossible.
pub fn fitted_dims<'d>(
    stored: ElementType,
    dims: &'d [usize],
    element_type: ElementType,
    declared: Option<&'d [usize]>,
) -> Option<&'d [usize]> {
    match (stored, element_type) {
        _ if stored == element_type || element_type == ElementType::Dynamic => Some(dims),
        (ElementType::U16, ElementType::BF16) | (ElementType::U8, ElementType::Boolean) => Some(dims),
        (ElementType::U8, _) if npy::is_packed(element_type) => {
            let has_whole_bytes = element_type.bit_width() == Some(8);
            let packed = declared.unwrap_or(if has_whole_bytes { dims } else { &[] });
            let count = |dims: &[usize]| dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
            (element_type.byte_len(count(packed)?) == count(dims)).then_some(packed)
        }
        _ => None,
    }
}
