//! Weights files (`.bin`) that do not belong to their model: the constants in them make no sense.

use std::collections::{HashMap, HashSet};

use snick_ir::ops::source::constant::Constant;
use snick_ir::{Code, NodeRef, Op};
use snick_tensor::{ElementType, Tensor};

use super::finding::Findings;
use super::layers::described;
use super::subject::Subject;
use super::values::words;
use super::weights::constants;
use super::{CheckCode, Example, Family};

pub(super) static FAMILY: Family = Family { codes: &[&WRONG_WEIGHTS], find, reads_values: false };

static WRONG_WEIGHTS: CheckCode = CheckCode {
    code: Code::WrongWeights,
    meaning: "The `.bin` belongs to another model or is damaged: its contents make no sense as the constants \
              of this model.",
    reason: "An OpenVINO IR refers to its weights by offset, so a `.bin` of another model loads if it is \
             long enough. The model fails if it reads shapes or axes from the file, and otherwise computes \
             nonsense. Other findings that depend on the values of constants are suppressed.",
    remedy: "copy the .bin that was exported with this .xml; do not convert the model, because the result \
             keeps the wrong weights",
    example: Example::Files("cp other_model.bin model.bin"),
    on_demand: false,
};
use crate::analyze::counted;

fn find(subject: &Subject, findings: &mut Findings) {
    if let Some(Damage { node, why }) = Damage::of(subject) {
        let message = format!("the .bin belongs to another model or is damaged: {why}");
        findings.add(&WRONG_WEIGHTS, node, message);
    }
}

/// Evidence that the weights file does not belong to the model.
struct Damage<'m> {
    /// The constant, or a layer that reads it.
    node: NodeRef<'m>,
    why: String,
}

/// A constant, and samples of its bytes.
struct Bytes<'m> {
    node: NodeRef<'m>,
    tensor: &'m Tensor,
    sample: Vec<&'m [u8]>,
}

impl<'m> Damage<'m> {
    /// Returns `None` unless the weights contain values that are implausible in any model.
    fn of(subject: &Subject<'m>) -> Option<Self> {
        let survey = subject.survey.as_ref()?;
        let mut read: Vec<Bytes> = Vec::new();
        for (_, node) in constants(subject, survey.constants.iter().cloned()) {
            if let Op::Const(Constant::Here(tensor)) = node.op()
                && tensor.is_contiguous()
            {
                let bytes = tensor.storage().bytes();
                read.push(Bytes { node, tensor, sample: sample(bytes) });
            }
        }
        let shapes = ShapeRead::all(subject, &read);
        of_text(&read)
            .or_else(|| read.iter().find_map(of_noise))
            .or_else(|| shapes.iter().find_map(ShapeRead::impossible))
            .or_else(|| of_contradictions(subject, &shapes, &read))
    }
}

/// Size of a sampled block in bytes, and maximum number of blocks to sample per constant.
const BLOCK: usize = 1024;
const MAX_BLOCKS: usize = 16;

/// Returns blocks spread evenly over the bytes of a constant.
fn sample(bytes: &[u8]) -> Vec<&[u8]> {
    if bytes.len() <= BLOCK * MAX_BLOCKS {
        return bytes.chunks(BLOCK).collect();
    }
    let blocks = bytes.len() / BLOCK;
    (0..MAX_BLOCKS).filter_map(|i| bytes.get(i * blocks / MAX_BLOCKS * BLOCK..)?.get(..BLOCK)).collect()
}

/// The minimum number of printable bytes that count as evidence of text.
const MIN_TEXT: usize = 64;

/// Reports weights whose sampled bytes are all printable text.
fn of_text<'m>(read: &[Bytes<'m>]) -> Option<Damage<'m>> {
    // Skips 8-bit constants, which may legitimately hold text, such as vocabularies.
    let is_wide = |bytes: &&Bytes| bytes.tensor.element_type().bit_width().is_some_and(|bits| bits >= 16);
    let wide = || read.iter().filter(is_wide);
    let (mut count, mut different) = (0, HashSet::new());
    for byte in wide().flat_map(|bytes| bytes.sample.iter().copied().flatten()) {
        if !matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r') {
            return None;
        }
        count += 1;
        different.insert(*byte);
    }
    let bytes = wide().next().filter(|_| count >= MIN_TEXT && different.len() >= 12)?;
    Some(Damage { node: bytes.node, why: "its bytes are text".into() })
}

/// Reports floats whose exponents are spread over the whole range: such bytes are random rather than floats.
fn of_noise<'m>(bytes: &Bytes<'m>) -> Option<Damage<'m>> {
    let is_noise = |block: &&[u8]| match bytes.tensor.element_type() {
        // f32 and bf16 have 8 exponent bits.
        ElementType::F32 => Magnitudes::of(words(block), u32::from_le_bytes, 8, 23).are_noise(),
        ElementType::BF16 => {
            Magnitudes::of(words(block), |word| u16::from_le_bytes(word).into(), 8, 7).are_noise()
        }
        ElementType::F16 => {
            Magnitudes::of(words(block), |word| u16::from_le_bytes(word).into(), 5, 10).are_noise()
        }
        _ => false,
    };
    bytes.sample.iter().any(is_noise).then(|| Damage {
        node: bytes.node,
        why: format!("the elements of {} have all magnitudes, as random bytes have", described(bytes.node)),
    })
}

/// Statistics of the exponents of the floats in a block.
#[derive(Default)]
struct Magnitudes {
    all: usize,
    /// The number of floats with an exponent in the top quarter of the range, except infinity and NaN.
    huge: usize,
    /// The number of floats with an exponent in the bottom quarter of the range, except 0.
    tiny: usize,
    nan: usize,
    /// Distinct exponents.
    exponents: HashSet<u32>,
    bits: u32,
}

impl Magnitudes {
    /// Counts floats with `bits` exponent bits and `fraction` fraction bits.
    fn of<const N: usize>(
        floats: impl Iterator<Item = [u8; N]>,
        word: impl Fn([u8; N]) -> u32,
        bits: u32,
        fraction: u32,
    ) -> Self {
        let mut found = Self { bits, ..Self::default() };
        let largest = (1 << bits) - 1;
        for float in floats.map(word) {
            let (exponent, fraction) = (float >> fraction & largest, float & ((1 << fraction) - 1));
            found.all += 1;
            found.exponents.insert(exponent);
            found.nan += usize::from(exponent == largest && fraction != 0);
            found.huge += usize::from(exponent >= largest / 4 * 3 && exponent < largest);
            found.tiny += usize::from(exponent < largest / 4 && (exponent, fraction) != (0, 0));
        }
        found
    }

    /// Whether the exponents look like random bytes. In random bytes, about 25 % of the exponents are in each
    /// quarter of the range; the thresholds require half of that. Real weights never have such a spread.
    fn are_noise(&self) -> bool {
        let is_many = |count: usize| count * 8 >= self.all;
        match self.bits {
            8 => self.all >= 64 && is_many(self.huge) && is_many(self.tiny) && self.exponents.len() >= 40,
            // In f16, real weights often mix small numbers with a few large ones, so small exponents are no
            // evidence. NaNs are evidence, because real weights hardly contain any.
            _ => {
                self.all >= 256
                    && is_many(self.huge)
                    && self.nan * 128 >= self.all
                    && self.exponents.len() >= 28
            }
        }
    }
}

/// Whether an input of a layer holds sizes, axes or counts, which are always small numbers.
fn is_of_shape(op_type: &str, port: usize) -> bool {
    match op_type {
        "Reshape" | "Transpose" | "Squeeze" | "Unsqueeze" | "Tile" | "TopK" | "Broadcast" | "Split"
        | "CumSum" => port == 1,
        "VariadicSplit" | "Pad" | "Roll" => port == 1 || port == 2,
        "SpaceToBatch" | "BatchToSpace" => port > 0,
        "StridedSlice" | "Slice" => port == 3,
        "Gather" => port == 2,
        "ConvolutionBackpropData" | "GroupConvolutionBackpropData" => port == 2,
        "ScatterUpdate" | "ScatterElementsUpdate" => port == 3,
        "NormalizeL2" | "MVN" | "OneHot" => port == 1,
        _ => op_type.starts_with("Reduce") && port == 1,
    }
}

/// A layer that reads sizes, axes or counts from a constant in the weights file.
struct ShapeRead<'m> {
    reader: NodeRef<'m>,
    element_type: ElementType,
    numbers: Vec<i64>,
}

/// Maximum number of elements of a constant that may hold sizes, axes or counts.
const MAX_SHAPE: usize = 64;

impl<'m> ShapeRead<'m> {
    fn all(subject: &Subject<'m>, read: &[Bytes<'m>]) -> Vec<Self> {
        let is_shape = |bytes: &&Bytes| {
            matches!(bytes.tensor.element_type(), ElementType::I64 | ElementType::I32)
                && bytes.tensor.len() <= MAX_SHAPE
        };
        let of_file: HashMap<_, &Tensor> =
            read.iter().filter(is_shape).map(|bytes| (bytes.node.loc(), bytes.tensor)).collect();
        let mut found = Vec::new();
        for graph in subject.graphs() {
            for reader in graph.ids().map(|id| graph.node(id)) {
                for (port, value) in graph.inputs(reader.id()).into_iter().enumerate() {
                    if is_of_shape(reader.op().type_name(), port)
                        && let Some(tensor) =
                            value.and_then(|value| of_file.get(&graph.node(value.node).loc()))
                        && let Ok(numbers) = tensor.to_i64_vec()
                    {
                        found.push(Self { reader, element_type: tensor.element_type(), numbers });
                    }
                }
            }
        }
        found
    }

    /// Reports a number that is too large for a size or an axis. The largest and smallest numbers of the type
    /// are allowed, because slices use them for the end of an axis.
    fn impossible(&self) -> Option<Damage<'m>> {
        let (most, end) = match self.element_type {
            ElementType::I64 => (1 << 31, u64::MAX >> 1),
            _ => (1 << 28, u64::from(u32::MAX >> 1)),
        };
        let is_possible = |number: &&i64| number.unsigned_abs() < most || number.unsigned_abs() >= end - 1;
        let number = self.numbers.iter().find(|number| !is_possible(number))?;
        let why =
            format!("{} reads {number} from it, which is neither a size nor an axis", described(self.reader));
        Some(Damage { node: self.reader, why })
    }

    /// Whether the numbers agree with the output dims that the layer declares. `None` if nothing is declared,
    /// or if the layer is neither a Reshape nor a Transpose.
    fn fits(&self, subject: &Subject) -> Option<bool> {
        let out =
            self.reader.outs().first()?.declared.as_ref()?.dims.as_deref().filter(|dims| !dims.is_empty())?;
        let input =
            subject.survey.as_ref()?.input_ports.get(&self.reader.loc()).and_then(|ports| ports.first());
        let copied = |axis: usize| input.and_then(|dims| dims.get(axis)).copied().unwrap_or(-1);
        let is_equal = |number: i64, dim: i64| number < 0 || dim < 0 || number == dim;
        match self.reader.op().type_name() {
            "Reshape" => {
                let copies = matches!(self.reader.op(), Op::Reshape(reshape) if reshape.special_zero);
                let fits = |(axis, (&number, &dim)): (usize, (&i64, &i64))| match number {
                    0 if copies => is_equal(copied(axis), dim),
                    number => number >= -1 && is_equal(number, dim),
                };
                Some(self.numbers.len() == out.len() && self.numbers.iter().zip(out).enumerate().all(fits))
            }
            "Transpose" => {
                let mut order = self.numbers.clone();
                order.sort_unstable();
                Some(
                    order.is_empty()
                        || order.len() == out.len() && (0..).zip(&order).all(|(i, &axis)| i == axis),
                )
            }
            _ => None,
        }
    }
}

/// The minimum number of zero bytes that count as evidence, because a few small constants are often all zero.
const MIN_ZEROS: usize = 128;

/// Finds layers whose declared output shapes contradict the shapes or permutations that they read from the
/// weights. If all constants are 0, one such layer is evidence enough. Otherwise, at least two layers must
/// contradict, and they must outnumber the layers that agree.
fn of_contradictions<'m>(subject: &Subject, shapes: &[ShapeRead<'m>], read: &[Bytes]) -> Option<Damage<'m>> {
    let fits = |shape: &&ShapeRead| shape.fits(subject);
    let right = shapes.iter().filter(|shape| fits(shape) == Some(true)).count();
    let wrong: Vec<&ShapeRead<'m>> = shapes.iter().filter(|shape| fits(shape) == Some(false)).collect();
    let blocks = || read.iter().flat_map(|bytes| &bytes.sample);
    let is_zero = blocks().map(|block| block.len()).sum::<usize>() >= MIN_ZEROS
        && blocks().all(|block| block.iter().all(|&byte| byte == 0));
    let node = wrong.first()?.reader;
    let why = if is_zero {
        format!("all of it is 0, and {} needs other numbers", described(node))
    } else if wrong.len() > 1 && wrong.len() > right {
        let layers = counted(wrong.len(), "layer");
        format!("{layers} read shapes from it that contradict the ports that they declare")
    } else {
        return None;
    };
    Some(Damage { node, why })
}
