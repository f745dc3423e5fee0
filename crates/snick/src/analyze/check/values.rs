//! Checks the values of constants. These checks are off by default, because they read all weights.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use snick_ir::ops::source::constant::Constant;
use snick_ir::{Code, NodeRef, Op};
use snick_tensor::{ElementType, Tensor};

use super::finding::Findings;
use super::layers::described;
use super::subject::Subject;
use super::{CheckCode, Example, Family};

pub(super) static FAMILY: Family =
    Family { codes: &[&NAN_WEIGHTS, &OVERFLOWS_F16, &REPEATED_WEIGHTS], find, reads_values: true };

static NAN_WEIGHTS: CheckCode = CheckCode {
    code: Code::NanWeights,
    meaning: "A constant contains NaN.",
    reason: "NaN propagates to everything computed from it. Typical causes are training that diverged, and a \
             division by zero during quantisation.",
    remedy: "export from a checkpoint without NaN; `snick run` counts the NaN values of each output",
    example: Example::Text(
        "  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n  %scale = Const-1 f32[2] <1.0, nan>\n  \
         %scaled = Multiply-1(%x, %scale)\n  %y = Result-1(%scaled)\n",
    ),
    on_demand: true,
};

static OVERFLOWS_F16: CheckCode = CheckCode {
    code: Code::OverflowsF16,
    meaning: "A constant has finite elements that f16 cannot represent: their magnitude exceeds 65504.",
    reason: "GPU and NPU plug-ins compute in f16 by default, and compression to f16 rounds such numbers to \
             infinity. With an attention mask of -3.4e38, for example, Softmax then returns NaN for rows \
             that are masked completely.",
    remedy: "use -65504 instead of larger numbers in masks, or run the deployed model in f32 \
             (`INFERENCE_PRECISION_HINT`)",
    example: Example::Text(
        "  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n  %mask = Const-1 f32[2] <0.0, -1000000.0>\n  \
         %masked = Add-1(%x, %mask)\n  %y = Result-1(%masked)\n",
    ),
    on_demand: true,
};

static REPEATED_WEIGHTS: CheckCode = CheckCode {
    code: Code::RepeatedWeights,
    meaning: "The file contains two constants of 4 KiB or more with equal bytes.",
    reason: "The exporter stored shared weights twice, for example those of an embedding and an output \
             projection (`lm_head`). The file is larger than necessary, and a run needs more memory.",
    remedy: "`snick canon model.xml -o new.xml` merges equal constants",
    example: Example::Files("a language model whose `lm_head` was exported as a copy of its embedding"),
    on_demand: true,
};

/// Minimum size in bytes of constants to compare.
const LEAST_REPEATED: usize = 4096;

fn find(subject: &Subject, findings: &mut Findings) {
    let mut seen: HashMap<Digest, Vec<(NodeRef, &Tensor)>> = HashMap::new();
    for node in subject.nodes() {
        let Op::Const(Constant::Here(tensor)) = node.op() else { continue };
        if !tensor.is_contiguous() || tensor.element_type() == ElementType::String {
            continue;
        }
        let bytes = tensor.storage().bytes();
        find_values(node, tensor.element_type(), bytes, findings);
        if bytes.len() >= LEAST_REPEATED {
            let same = seen.entry(digest(tensor.element_type(), bytes)).or_default();
            match same.iter().find(|(_, other)| other.storage().bytes() == bytes) {
                // Two constants that refer to the same bytes of the file waste no space.
                Some((_, other)) if std::ptr::eq(other.storage().bytes(), bytes) => {}
                Some((first, _)) => {
                    let message =
                        format!("its {} bytes are the same as those of {}", bytes.len(), described(*first));
                    findings.add(&REPEATED_WEIGHTS, node, message).origins.push(described(*first));
                }
                None => same.push((node, tensor)),
            }
        }
    }
}

/// A hash, the element type and the number of bytes. Constants with the same digest are probably equal.
type Digest = (u64, ElementType, usize);

fn digest(element_type: ElementType, bytes: &[u8]) -> Digest {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    (hasher.finish(), element_type, bytes.len())
}

/// Reports the NaN values of a constant, and the elements that f16 cannot represent.
fn find_values(node: NodeRef, element_type: ElementType, bytes: &[u8], findings: &mut Findings) {
    let found = match element_type {
        ElementType::F64 => Values::of(words(bytes).map(f64::from_le_bytes)),
        ElementType::F32 => Values::of(words(bytes).map(|word| f64::from(f32::from_le_bytes(word)))),
        // bf16 is the upper half of f32.
        ElementType::BF16 => {
            Values::of(words(bytes).map(|[low, high]| f64::from(f32::from_le_bytes([0, 0, low, high]))))
        }
        // For f16, only NaN is of interest: the exponent bits are all ones and the fraction is not 0.
        ElementType::F16 => {
            let is_nan = |word: [u8; 2]| u16::from_le_bytes(word) & 0x7fff > 0x7c00;
            Values::of(words(bytes).map(|word| if is_nan(word) { f64::NAN } else { 0.0 }))
        }
        _ => return,
    };
    let elements =
        |count: usize| if count == 1 { "1 element is".into() } else { format!("{count} elements are") };
    if found.nan > 0 {
        findings.add(&NAN_WEIGHTS, node, format!("{} NaN", elements(found.nan)));
    }
    if found.beyond > 0 {
        let message = format!("{} beyond 65504, up to {:.1e}", elements(found.beyond), found.largest);
        findings.add(&OVERFLOWS_F16, node, message);
    }
}

/// Splits bytes into words of `N` bytes. Ignores an incomplete word at the end.
pub(super) fn words<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> + '_ {
    bytes.chunks_exact(N).filter_map(|word| word.try_into().ok())
}

/// Statistics of NaN and large values in a constant.
#[derive(Default)]
struct Values {
    nan: usize,
    /// The number of finite elements that do not fit in f16.
    beyond: usize,
    /// The finite element of the largest magnitude that does not fit in f16, or 0.
    largest: f64,
}

impl Values {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        const LARGEST_F16: f64 = 65504.0;
        let mut found = Self::default();
        for value in values {
            if value.is_nan() {
                found.nan += 1;
            } else if value.abs() > LARGEST_F16 && value.is_finite() {
                found.beyond += 1;
                if value.abs() > found.largest.abs() {
                    found.largest = value;
                }
            }
        }
        found
    }
}
