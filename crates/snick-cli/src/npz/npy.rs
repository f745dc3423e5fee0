//! A single array: a header, which is a Python literal, followed by the elements.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Read;

use snick_tensor::ElementType::{self, *};
use snick_tensor::{Storage, Tensor, TensorError};

use super::NpzError;

/// The type codes of numpy, without byte order.
const CODES: [(&str, ElementType); 12] = [
    ("b1", Boolean),
    ("u1", U8),
    ("u2", U16),
    ("u4", U32),
    ("u8", U64),
    ("i1", I8),
    ("i2", I16),
    ("i4", I32),
    ("i8", I64),
    ("f2", F16),
    ("f4", F32),
    ("f8", F64),
];

const MAGIC: &[u8] = b"\x93NUMPY";

/// Maximum length of a header in bytes.
const MAX_HEADER: usize = 1 << 20;

/// Whether numpy does not have this type and its elements are stored as uint8. Elements with fewer than 8
/// bits are packed into one dimension.
pub(super) fn is_packed(element_type: ElementType) -> bool {
    !matches!(element_type, Dynamic | String | BF16) && CODES.iter().all(|(_, et)| *et != element_type)
}

/// The header of an array.
pub struct Header {
    /// The stored element type: see [`super::fit`].
    pub element_type: ElementType,
    /// The shape of the array.
    pub dims: Vec<usize>,
    encoding: Option<Encoding>,
    big_endian: bool,
    fortran_order: bool,
    /// Bytes of one element.
    unit: usize,
    /// Number of elements.
    count: usize,
    /// Bytes of the header.
    len: usize,
}

/// The encoding of strings.
#[derive(Copy, Clone, PartialEq)]
enum Encoding {
    /// Each code point takes 4 bytes.
    Utf32,
    Utf8,
}

impl Header {
    /// Reads the header and nothing after it.
    pub(super) fn read(source: &mut impl Read) -> Result<Self, NpzError> {
        let (text, len) = read_text(source)?;
        let literal = Literal::parse(&text).ok_or(NpzError::Header("malformed header"))?;
        let descr = literal.descr;
        let (order, code) = descr.split_at_checked(1).ok_or(NpzError::Header("the header has no type"))?;
        let unsupported = || NpzError::Type(descr.to_string());
        let encoding = match code.as_bytes().first() {
            Some(b'U') => Some(Encoding::Utf32),
            Some(b'S') => Some(Encoding::Utf8),
            _ => None,
        };
        let element_type = match encoding {
            Some(_) => String,
            None => CODES.iter().find(|(c, _)| *c == code).map(|(_, et)| *et).ok_or_else(unsupported)?,
        };
        let width = || code[1..].parse::<usize>().map_err(|_| unsupported());
        let unit = match encoding {
            Some(Encoding::Utf32) => width()?.checked_mul(4),
            Some(Encoding::Utf8) => Some(width()?),
            None => element_type.byte_len(1),
        };
        let overflows = || NpzError::Header("its size overflows");
        let unit = unit.ok_or_else(overflows)?;
        let dims = literal.dims;
        let count = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).ok_or_else(overflows)?;
        count.checked_mul(unit).ok_or_else(overflows)?;
        let (big_endian, fortran_order) = (order == ">", literal.fortran_order);
        Ok(Self { element_type, dims, encoding, big_endian, fortran_order, unit, count, len })
    }

    /// Bytes of the stored elements.
    pub fn byte_len(&self) -> usize {
        self.count * self.unit
    }

    /// Bytes of memory needed to read the elements. Strings are read first and then decoded, so they need
    /// more.
    pub(super) fn memory(&self) -> usize {
        match self.encoding {
            Some(_) => self.unit.saturating_mul(2).saturating_add(TEXT).saturating_mul(self.count),
            None => self.byte_len(),
        }
    }

    /// Reads the elements, which follow the header, from a file of `file_len` bytes.
    pub(super) fn elements(self, source: &mut impl Read, file_len: u64) -> Result<Tensor, NpzError> {
        let needed = self.byte_len();
        let found = usize::try_from(file_len).unwrap_or(usize::MAX).saturating_sub(self.len);
        if found < needed {
            return Err(NpzError::Short { needed, found });
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(needed).map_err(|_| TensorError::OutOfMemory { bytes: needed })?;
        source.take(needed as u64).read_to_end(&mut bytes)?;
        if bytes.len() < needed {
            return Err(NpzError::Short { needed, found: bytes.len() });
        }
        // Fortran order is the same as row-major order with the axes reversed.
        let mut dims = self.dims;
        if self.fortran_order {
            dims.reverse();
        }
        let tensor = match self.encoding {
            Some(encoding) => {
                let element = |i| text(&bytes[i * self.unit..(i + 1) * self.unit], encoding, self.big_endian);
                Tensor::strings(&dims, (0..self.count).map(element).collect::<Result<_, _>>()?)?
            }
            None => {
                if self.big_endian {
                    bytes.chunks_exact_mut(self.unit).for_each(<[u8]>::reverse);
                }
                Tensor::new(self.element_type, &dims, Storage::heap(bytes))?
            }
        };
        Ok(if self.fortran_order { tensor.transposed() } else { tensor })
    }
}

/// Bytes of memory of a decoded string, excluding its characters.
const TEXT: usize = size_of::<std::string::String>();

/// Decodes a string of fixed width and removes the NUL characters at its end.
fn text(bytes: &[u8], encoding: Encoding, big_endian: bool) -> Result<std::string::String, NpzError> {
    let bad = || NpzError::Header("an element is not valid text");
    let text = if encoding == Encoding::Utf32 {
        let (units, _) = bytes.as_chunks::<4>();
        let code =
            |unit: &[u8; 4]| if big_endian { u32::from_be_bytes(*unit) } else { u32::from_le_bytes(*unit) };
        units.iter().map(|unit| char::from_u32(code(unit))).collect::<Option<_>>().ok_or_else(bad)?
    } else {
        std::string::String::from_utf8(bytes.to_vec()).map_err(|_| bad())?
    };
    Ok(text.trim_end_matches('\0').to_string())
}

/// Reads the Python literal of a header. Also returns the number of bytes up to the end of the header.
fn read_text(source: &mut impl Read) -> Result<(std::string::String, usize), NpzError> {
    let mut start = [0; 8];
    source.read_exact(&mut start)?;
    if !start.starts_with(MAGIC) {
        return Err(NpzError::Header("it does not start with \\x93NUMPY"));
    }
    let (before, length) = match [start[6], start[7]] {
        [1, 0] => {
            let mut length = [0; 2];
            source.read_exact(&mut length)?;
            (10, usize::from(u16::from_le_bytes(length)))
        }
        [2 | 3, 0] => {
            let mut length = [0; 4];
            source.read_exact(&mut length)?;
            (12, u32::from_le_bytes(length) as usize)
        }
        [major, minor] => return Err(NpzError::Version { major, minor }),
    };
    if length > MAX_HEADER {
        return Err(NpzError::Header("the header is too long"));
    }
    let mut text = vec![0; length];
    source.read_exact(&mut text)?;
    let text =
        std::string::String::from_utf8(text).map_err(|_| NpzError::Header("the header is not text"))?;
    Ok((text, before + length))
}

/// A header such as `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
struct Literal<'t> {
    /// The type, such as `<f4`, `|b1` or `<U12`.
    descr: &'t str,
    fortran_order: bool,
    dims: Vec<usize>,
}

impl<'t> Literal<'t> {
    fn parse(text: &'t str) -> Option<Self> {
        let value = |key: &str| {
            let at = text.find(&format!("'{key}'"))? + key.len() + 2;
            Some(text[at..].trim_start().strip_prefix(':')?.trim_start())
        };
        let descr = value("descr")?.strip_prefix('\'')?.split('\'').next()?;
        let fortran_order = value("fortran_order")?.starts_with("True");
        let shape = value("shape")?.strip_prefix('(')?.split(')').next()?;
        let dims = shape.split(',').map(str::trim).filter(|d| !d.is_empty()).map(|d| d.parse().ok());
        Some(Self { descr, fortran_order, dims: dims.collect::<Option<_>>()? })
    }
}

/// The header and the elements of a tensor.
pub(super) fn parts(tensor: &Tensor) -> (Vec<u8>, Cow<'_, [u8]>) {
    let element_type = tensor.element_type();
    let bytes = tensor.to_bytes();
    let packed_dims = [bytes.len()];
    let code = |et| CODES.iter().find(|(_, t)| *t == et).map_or("u1", |(code, _)| code);
    let (descr, dims, bytes) = match element_type {
        String => {
            let (width, bytes) = wide_texts(&tensor.as_strings().unwrap_or_default());
            (format!("<U{width}"), tensor.dims(), bytes.into())
        }
        BF16 => ("<u2".to_string(), tensor.dims(), bytes),
        _ if is_packed(element_type) && element_type.bit_width() != Some(8) => {
            ("|u1".to_string(), &packed_dims[..], bytes)
        }
        _ => {
            let order = if element_type.bit_width() == Some(8) { '|' } else { '<' };
            (format!("{order}{}", code(element_type)), tensor.dims(), bytes)
        }
    };
    let mut shape = std::string::String::new();
    for dim in dims {
        let _ = write!(shape, "{dim}, ");
    }
    let shape = if dims.len() == 1 { shape.trim_end() } else { shape.trim_end_matches(", ") };
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    // The format aligns elements to 64 bytes, and ends the header with a line feed.
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    let mut out = Vec::with_capacity(10 + length);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&[1, 0]);
    out.extend_from_slice(&u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes());
    out.extend_from_slice(format!("{header:<width$}\n", width = length - 1).as_bytes());
    (out, bytes)
}

/// The maximum length of the strings, and the strings as 4-byte code points, padded to this length.
fn wide_texts(texts: &[&str]) -> (usize, Vec<u8>) {
    let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
    let mut bytes = Vec::with_capacity(4 * width * texts.len());
    for (i, text) in texts.iter().enumerate() {
        text.chars().for_each(|c| bytes.extend_from_slice(&u32::from(c).to_le_bytes()));
        bytes.resize(4 * width * (i + 1), 0);
    }
    (width, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut bytes: &[u8]) -> Result<Tensor, NpzError> {
        let len = bytes.len() as u64;
        Header::read(&mut bytes)?.elements(&mut bytes, len)
    }

    fn through(tensor: &Tensor) -> Tensor {
        let (header, elements) = parts(tensor);
        read(&[&header[..], &elements].concat()).unwrap()
    }

    #[test]
    fn arrays_round_trip() {
        let scalar = Tensor::scalar(1.5f32);
        let row = Tensor::from_vec(&[3], vec![1i64, -2, 3]).unwrap();
        let texts = Tensor::strings(&[2, 1], ["ü", ""].map(Into::into).into()).unwrap();
        let flags = Tensor::from_bools(&[2], &[true, false]).unwrap();
        let back = row.slice(0, 2, 3, -1).unwrap();
        for tensor in [scalar, row, texts, flags, back, Tensor::zeros(F16, &[0, 2]).unwrap()] {
            assert_eq!(through(&tensor), tensor);
        }
    }

    #[test]
    fn types_that_numpy_lacks_are_stored_as_bits() {
        let half = Tensor::from_vec(&[2, 1], vec![1.0f32, -2.0]).unwrap();
        let bf16 = through(&half.cast(BF16).unwrap());
        assert_eq!((bf16.element_type(), bf16.dims()), (U16, &[2, 1][..]));
        let four = half.cast(I4).unwrap();
        let bytes = through(&four);
        assert_eq!((bytes.element_type(), bytes.dims()), (U8, &[1][..]));
        assert_eq!(super::super::fit(bytes, I4, Some(&[2, 1])), Some(four));
    }

    #[test]
    fn fortran_order_and_big_endian() {
        let mut file = b"\x93NUMPY\x01\x00\x46\x00".to_vec();
        file.extend(
            format!("{:<69}\n", "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }").bytes(),
        );
        file.extend([0, 1, 0, 2, 0, 3, 0, 4]);
        assert_eq!(read(&file).unwrap().to_i64_vec().unwrap(), [1, 3, 2, 4]);
        assert!(read(&file[..file.len() - 1]).is_err());
        assert!(read(b"\x93NUMPY\x02\x00\xff\xff\xff\xff").is_err());
    }
}
