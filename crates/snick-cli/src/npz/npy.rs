//! One array: a header, which is a Python literal, then the elements.

use std::fmt::Write as _;
use std::io::Read;

use snick_tensor::ElementType::{self, *};
use snick_tensor::{Storage, Tensor};

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

/// Longer headers are refused.
const MAX_HEADER: usize = 1 << 20;

/// Whether elements are stored as uint8; smaller ones packed, in one dimension.
pub(super) fn is_packed(element_type: ElementType) -> bool {
    !matches!(element_type, Dynamic | String | BF16) && CODES.iter().all(|(_, et)| *et != element_type)
}

struct Header {
    /// `<f4`, `|b1`, `<U12`.
    descr: std::string::String,
    fortran_order: bool,
    dims: Vec<usize>,
}

/// Reads an array.
pub(super) fn read(source: &mut impl Read) -> Result<Tensor, NpzError> {
    let header = read_header(source)?;
    let (order, code) = header.descr.split_at_checked(1).ok_or(NpzError::Header("the header has no type"))?;
    let unsupported = || NpzError::Type(header.descr.clone());
    let big_endian = order == ">";
    let text_width = match code.split_at_checked(1) {
        Some((kind @ ("U" | "S"), width)) => Some((kind, width.parse::<usize>().map_err(|_| unsupported())?)),
        _ => None,
    };
    let element_type = match text_width {
        Some(_) => String,
        None => CODES.iter().find(|(c, _)| *c == code).map(|(_, et)| *et).ok_or_else(unsupported)?,
    };
    let unit = match text_width {
        Some(("U", width)) => width.checked_mul(4),
        Some((_, width)) => Some(width),
        None => element_type.byte_len(1),
    };
    let count = header.dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    let needed = count.zip(unit).and_then(|(n, unit)| n.checked_mul(unit));
    let needed = needed.ok_or(NpzError::Header("its size overflows"))?;
    let mut bytes = Vec::new();
    source.take(needed as u64).read_to_end(&mut bytes)?;
    if bytes.len() < needed {
        return Err(NpzError::Short { needed, found: bytes.len() });
    }
    // Fortran order is row-major order of the axes in reverse.
    let mut dims = header.dims;
    if header.fortran_order {
        dims.reverse();
    }
    let tensor = match text_width {
        Some((kind, width)) => {
            let texts = (0..count.unwrap_or(0)).map(|i| {
                let unit = if kind == "U" { 4 * width } else { width };
                text(&bytes[i * unit..(i + 1) * unit], kind == "U", big_endian)
            });
            Tensor::strings(&dims, texts.collect::<Result<_, _>>()?)?
        }
        None => {
            if big_endian && let Some(unit) = unit {
                bytes.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
            }
            Tensor::new(element_type, &dims, Storage::heap(bytes))?
        }
    };
    Ok(if header.fortran_order { tensor.transposed() } else { tensor })
}

/// A fixed-width text without its NUL padding.
fn text(bytes: &[u8], wide: bool, big_endian: bool) -> Result<std::string::String, NpzError> {
    let bad = || NpzError::Header("an element is not valid text");
    let text = if wide {
        let (units, _) = bytes.as_chunks::<4>();
        let code =
            |unit: &[u8; 4]| if big_endian { u32::from_be_bytes(*unit) } else { u32::from_le_bytes(*unit) };
        units.iter().map(|unit| char::from_u32(code(unit))).collect::<Option<_>>().ok_or_else(bad)?
    } else {
        std::string::String::from_utf8(bytes.to_vec()).map_err(|_| bad())?
    };
    Ok(text.trim_end_matches('\0').to_string())
}

fn read_header(source: &mut impl Read) -> Result<Header, NpzError> {
    let mut start = [0; 8];
    source.read_exact(&mut start)?;
    if !start.starts_with(MAGIC) {
        return Err(NpzError::Header("it does not start with \\x93NUMPY"));
    }
    let length = match start[6] {
        1 => {
            let mut length = [0; 2];
            source.read_exact(&mut length)?;
            usize::from(u16::from_le_bytes(length))
        }
        _ => {
            let mut length = [0; 4];
            source.read_exact(&mut length)?;
            u32::from_le_bytes(length) as usize
        }
    };
    if length > MAX_HEADER {
        return Err(NpzError::Header("the header is too long"));
    }
    let mut text = vec![0; length];
    source.read_exact(&mut text)?;
    let text = std::str::from_utf8(&text).map_err(|_| NpzError::Header("the header is not text"))?;
    parse_header(text).ok_or(NpzError::Header("malformed header"))
}

/// `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`
fn parse_header(text: &str) -> Option<Header> {
    let value = |key: &str| {
        let at = text.find(&format!("'{key}'"))? + key.len() + 2;
        Some(text[at..].trim_start().strip_prefix(':')?.trim_start())
    };
    let descr = value("descr")?.strip_prefix('\'')?.split('\'').next()?.to_string();
    let fortran_order = value("fortran_order")?.starts_with("True");
    let shape = value("shape")?.strip_prefix('(')?.split(')').next()?;
    let dims = shape.split(',').map(str::trim).filter(|d| !d.is_empty()).map(|d| d.parse().ok());
    Some(Header { descr, fortran_order, dims: dims.collect::<Option<_>>()? })
}

/// Header and elements of a tensor.
pub(super) fn write(tensor: &Tensor) -> Vec<u8> {
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
    // Elements start at a multiple of 64 bytes; a line feed ends the header.
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    let mut out = Vec::with_capacity(10 + length + bytes.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&[1, 0]);
    out.extend_from_slice(&u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes());
    out.extend_from_slice(format!("{header:<width$}\n", width = length - 1).as_bytes());
    out.extend_from_slice(&bytes);
    out
}

/// The longest length, and the texts as 4-byte code points padded to it.
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

    fn through(tensor: &Tensor) -> Tensor {
        read(&mut write(tensor).as_slice()).unwrap()
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
        assert_eq!(read(&mut file.as_slice()).unwrap().to_i64_vec().unwrap(), [1, 3, 2, 4]);
        assert!(read(&mut &file[..file.len() - 1]).is_err());
        assert!(read(&mut &b"\x93NUMPY\x02\x00\xff\xff\xff\xff"[..]).is_err());
    }
}
