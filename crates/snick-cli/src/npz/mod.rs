//! Tensors in files: numpy's `.npy`, and `.npz`, a zip archive of them.
//!
//! Types that numpy lacks are stored as their bits: bf16 as uint16 and 8-bit floats as uint8 of the same dims, smaller
//! types as packed bytes in one dimension. [`fit`] reverses that, and accepts uint8 as booleans.

mod npy;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use snick_tensor::{ElementType, Storage, Tensor};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Why a file cannot be read.
#[derive(thiserror::Error, Debug)]
#[allow(missing_docs, reason = "the message of each variant says what its fields are")]
pub enum NpzError {
    #[error("not an .npy array: {0}")]
    Header(&'static str),
    #[error("arrays of type `{0}` are not supported")]
    Type(String),
    #[error("needs {needed} bytes of elements, but has {found}: truncated?")]
    Short { needed: usize, found: usize },
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Zip(#[from] ZipError),
    #[error(transparent)]
    Tensor(#[from] snick_tensor::TensorError),
}

/// A file of arrays that cannot be read.
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
}

/// The array of an `.npy` file.
pub fn read_npy(path: &Path) -> Result<Tensor, UnreadableFile> {
    let file = File::open(path).map_err(|error| UnreadableFile::new(path, "", error))?;
    npy::read(&mut BufReader::new(file)).map_err(|error| UnreadableFile::new(path, "", error))
}

/// Writes an array to an `.npy` file.
pub fn write_npy(path: &Path, tensor: &Tensor) -> Result<(), snick::Error> {
    snick::write_file(path, |file| std::io::Write::write_all(file, &npy::write(tensor)))
}

/// The arrays of an `.npz` file with their names, in its order.
pub fn read(path: &Path) -> Result<Vec<(String, Tensor)>, UnreadableFile> {
    let file = File::open(path).map_err(|error| UnreadableFile::new(path, "", error))?;
    let wrong = |error: ZipError| UnreadableFile::new(path, "", error);
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(wrong)?;
    let mut arrays = Vec::with_capacity(archive.len().min(1 << 16));
    for i in 0..archive.len() {
        let mut entry = archive.by_index(i).map_err(wrong)?;
        let name = entry.name();
        let name = name.strip_suffix(".npy").unwrap_or(name).to_string();
        let array = npy::read(&mut entry).map_err(|error| UnreadableFile::new(path, &name, error))?;
        arrays.push((name, array));
    }
    Ok(arrays)
}

/// Writes arrays by name, uncompressed. Names must differ.
pub fn write<'a>(
    path: &Path,
    arrays: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
) -> Result<(), snick::Error> {
    snick::write_file(path, |file| {
        let mut archive = ZipWriter::new(file);
        for (name, tensor) in arrays {
            let bytes = npy::write(tensor);
            let options = SimpleFileOptions::default()
                .compression_method(CompressionMethod::Stored)
                .large_file(bytes.len() >= u32::MAX as usize);
            archive.start_file(format!("{name}.npy"), options)?;
            std::io::Write::write_all(&mut archive, &bytes)?;
        }
        archive.finish()?;
        Ok(())
    })
}

/// Reinterprets a stored array as an element type that numpy lacks; other arrays must have that type. `dims` are those
/// of a packed array, if known.
pub fn fit(array: Tensor, element_type: ElementType, dims: Option<&[usize]>) -> Option<Tensor> {
    let stored = array.element_type();
    if stored == element_type || element_type == ElementType::Dynamic {
        return Some(array);
    }
    let bytes = || Storage::heap(array.to_bytes().into_owned());
    match (stored, element_type) {
        (ElementType::U16, ElementType::BF16) | (ElementType::U8, ElementType::Boolean) => {
            Tensor::new(element_type, array.dims(), bytes()).ok()
        }
        (ElementType::U8, _) if npy::is_packed(element_type) => {
            let whole_bytes = element_type.bit_width() == Some(8);
            let dims = dims.unwrap_or_else(|| if whole_bytes { array.dims() } else { &[] });
            let count = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
            let fits = element_type.byte_len(count) == Some(array.len());
            fits.then(|| Tensor::new(element_type, dims, bytes()).ok()).flatten()
        }
        _ => None,
    }
}
