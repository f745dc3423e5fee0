//! Since when releases of OpenVINO read and run operations, element types and features of the format.
//!
//! `release/openvino.txt` is made by `tests/comparison/releases.py`, which asks the releases themselves. Lines:
//!
//! - `releases RELEASE...`: the releases that were asked.
//! - `set RELEASE SET...`: since when an operation of an earlier set may name this set as its version.
//! - `lists SET OP...`, `lacks SET OP...`: a set contains all operations of earlier sets, except that it lacks
//!   these, or lists only these.
//! - `reads RELEASE SET OP...`: since when the versions that the set defines are read. `runs` follows if the
//!   CPU plug-in runs them later or `never`.
//! - `inputs RELEASE OP-SET COUNT...`: since when the operation works with COUNT inputs, if that is later.
//! - `attribute RELEASE OP-SET NAME=VALUE...`: since when values of attributes are understood, if that is later.
//!   Earlier releases refuse or ignore them.
//! - `type RELEASE TYPE...`: since when ports have these element types. `constant` and `conversion` follow if
//!   constants of the type, or conversions to it, work later or `never`.
//! - `feature RELEASE NAME`: since when files may have a feature.

mod earlier;
mod need;
pub mod onnx_opsets;
mod table;

use std::fmt;
use std::str::FromStr;

use snick_tensor::ElementType;

use self::table::TABLE;
use crate::{Dialect, Version, ops};

pub use self::earlier::{earlier_definition, oldest_definition};
pub use self::need::{Need, NeedCause, empty_need, has_empty_fact, needs};

/// A release of OpenVINO.
///
/// ```
/// use snick::Release;
///
/// let release: Release = "2024.6.0".parse().expect("a release");
/// assert!(release > Release::new(2023, 3));
/// assert_eq!(release.to_string(), "2024.6");
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Release {
    year: u16,
    number: u8,
}

impl Release {
    /// A release given by its year and its number within the year.
    pub const fn new(year: u16, number: u8) -> Self {
        Self { year, number }
    }

    /// The releases that snick knows, from the oldest to the newest. "Since the oldest" includes older ones.
    ///
    /// ```
    /// use snick::Release;
    ///
    /// assert_eq!(Release::known().first(), Some(&Release::new(2022, 1)));
    /// ```
    pub fn known() -> &'static [Self] {
        &TABLE.releases
    }
}

impl FromStr for Release {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split('.');
        let year =
            parts.next().and_then(|year| year.parse().ok()).filter(|year| (2018..=9999).contains(year));
        let number = parts.next().and_then(|number| number.parse().ok());
        let is_patch = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        match (year, number, parts.all(is_patch)) {
            (Some(year), Some(number), true) => Ok(Self { year, number }),
            _ => Err("expected a release such as 2024.6".to_string()),
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.year, self.number)
    }
}

/// Since when an operation of a set is supported.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct OpSupport {
    /// The first release that reads the operation.
    pub reads: Release,
    /// The first release whose CPU plug-in also runs it; `None` if no known release does.
    pub runs: Option<Release>,
}

/// Since when an operation with this declared version is supported; `None` if no known release reads it.
///
/// ```
/// use snick::{Release, Version, op_support};
///
/// let since = |op, set| op_support(op, &Version::Opset(set)).map(|support| support.reads);
/// assert_eq!(since("Pad", 1), Some(Release::new(2022, 1)));
/// assert_eq!(since("Pad", 12), Some(Release::new(2023, 1)));
/// assert_eq!(since("Abs", 12), Some(Release::new(2023, 1)), "opset12 repeats Abs");
/// ```
pub fn op_support(op_type: &str, version: &Version) -> Option<OpSupport> {
    let name = ops::find(Dialect::OpenVino, op_type).map(|entry| entry.name);
    let op_type = name.map_or(op_type, |name| name.name);
    let declared = version.to_string();
    let defining = match (version, name.and_then(|name| name.defining_opset(version))) {
        (Version::Opset(_), Some(since)) => Version::Opset(since).to_string(),
        _ => declared.clone(),
    };
    let defined = *TABLE.ops.get(&(op_type, defining.as_str()))?;
    if defining == declared {
        return Some(defined);
    }
    let set = *TABLE.sets.get(declared.as_str())?;
    Some(OpSupport { reads: defined.reads.max(set), runs: defined.runs.map(|runs| runs.max(set)) })
}

/// What layers of this version of an operation become, in the simplest case, for the last release that does not
/// read it: the operations with their versions. `None` if no layer can be rewritten, or all releases read it.
///
/// `release/older_forms.txt` is made by a test, which rewrites the layers of all cases.
///
/// ```
/// use snick::older_form;
///
/// assert_eq!(older_form("Squeeze", 15).map(Iterator::collect), Some(vec!["Squeeze-opset1"]));
/// assert!(older_form("Squeeze", 1).is_none());
/// ```
pub fn older_form(op_type: &str, opset: u8) -> Option<impl Iterator<Item = &'static str> + use<>> {
    let prefix = format!("{op_type} opset{opset} ");
    let mut lines = include_str!("release/older_forms.txt").lines();
    let form = lines.find_map(|line| line.strip_prefix(prefix.as_str()))?;
    Some(form.split(' ').filter(|op| !op.is_empty()))
}

/// The uses of an element type.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum TypeUse {
    /// As the type of an input or output of a layer.
    Port,
    /// As the type of a constant that a run converts to floats.
    Constant,
    /// As the type that a run converts floats to.
    Conversion,
}

/// Since when a use of an element type works; `None` if it works in no known release.
///
/// ```
/// use snick::{ElementType, Release, TypeUse, type_support};
///
/// assert_eq!(type_support(ElementType::F32, TypeUse::Port), Some(Release::new(2022, 1)));
/// ```
pub fn type_support(element_type: ElementType, used: TypeUse) -> Option<Release> {
    let port = TABLE.types.get(&(element_type, TypeUse::Port)).copied().flatten();
    TABLE.types.get(&(element_type, used)).copied().unwrap_or(port)
}

/// Since when files may have a feature; `None` if they may in no known release.
pub fn feature_support(feature: IrFeature) -> Option<Release> {
    TABLE.features.get(&feature).copied().flatten()
}

/// Declares features with their names in the table.
macro_rules! features {
    ($($(#[$doc:meta])+ $feature:ident $name:literal,)+) => {
        /// A feature of the IR format, or of an operation, that the releases do not share.
        #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum IrFeature {
            $($(#[$doc])+ $feature,)+
        }

        impl IrFeature {
            /// All features.
            pub const ALL: [Self; [$(Self::$feature),+].len()] = [$(Self::$feature),+];

            /// The name in words.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$feature => $name,)+ }
            }
        }
    };
}

features! {
    /// IR version 10.
    Version10 "IR version 10",
    /// IR version 11.
    Version11 "IR version 11",
    /// Shapes with bounded dims, such as `1..8`.
    Intervals "intervals in shapes",
    /// Ports with the precision `UNSPECIFIED`.
    Unspecified "ports of unspecified precision",
    /// Layers that share a name, other than an input and an output.
    EqualNames "layers of equal names",
    /// ReadValue and Assign.
    Variables "variables",
    /// ReadValue with an input other than zeros. Older releases ignore the input: their variables start as zeros.
    InitialValues "initial values of variables",
    /// ReadValue whose sizes are known only at run time. Older releases read it, but the CPU plug-in fails.
    DynamicVariables "variables of dynamic shape",
    /// ReadValue without an input.
    NoInitialValue "variables without initial value",
    /// `rt_info` of a layer.
    Info "rt_info of layers",
    /// Attributes in the `rt_info` of a layer that declare no version.
    InfoWithoutVersion "rt_info without version",
    /// Other elements in the `rt_info` of a layer.
    InfoWithoutName "rt_info without name",
    /// Files whose `<net>` ends within the first 512 bytes.
    Short "files below 512 bytes",
    /// Inputs and outputs of the model without elements. Other values may be empty in all releases.
    Empty "inputs and outputs of size 0",
    /// Outputs without elements whose size of 0 is not known before a run.
    EmptyAtRunTime "outputs of size 0 at run time",
    /// Weights that are decompressed in half floats and then converted to f32. Older releases round each step.
    HalfDecompression "decompression in half floats without rounding",
    /// A StridedSlice whose begin has more elements than the input and the new axes have axes: its ellipsis
    /// stands for no axis.
    EmptyEllipsis "StridedSlice with more bounds than axes",
    /// A StridedSlice of data of dynamic shape with a bound behind a new axis. Older releases apply the bounds
    /// to other axes.
    NewAxes "StridedSlice with new axes before bounds of dynamic data",
    /// A StridedSlice of data of dynamic shape that goes backward from the end or to the start of an axis by a mask.
    /// Older releases return nothing.
    BackwardMask "StridedSlice with masked bounds of negative steps of dynamic data",
    /// A part of a vector, other than the first one, that a layer of dynamic shape reads. Older CPU plug-ins fail.
    SplitVector "parts of vectors in layers of dynamic shape",
    /// FakeConvert. Older releases turn large magnitudes into infinity or NaN, or round small ones down.
    FakeConvertRange "FakeConvert of very small and very large magnitudes",
    /// BitwiseNot of booleans. Older releases invert all bits of a byte, so the result is always true.
    BooleanNot "BitwiseNot of booleans",
    /// A mask with a row or column that stands for all rows or columns of the scores.
    BroadcastMask "broadcast masks of ScaledDotProductAttention",
    /// A boolean mask. Older releases read it, but compute something else.
    BooleanMask "boolean masks of ScaledDotProductAttention",
}

#[cfg(test)]
mod tests {
    use super::*;

    fn support(op_type: &str, set: u8) -> Option<OpSupport> {
        op_support(op_type, &Version::Opset(set))
    }

    #[test]
    fn an_inherited_operation_needs_its_definition_and_the_set_that_repeats_it() {
        let [defined, repeated] = [support("TopK", 11), support("TopK", 12)].map(Option::unwrap);
        assert_eq!(defined.reads, TABLE.ops[&("TopK", "opset11")].reads);
        assert_eq!(repeated.reads, defined.reads.max(TABLE.sets["opset12"]));
        assert!(repeated.reads > defined.reads);
        assert_eq!(support("topk", 11), Some(defined), "the case of names is ignored");
        assert_eq!(support("TopK", 99), None);
        assert_eq!(support("Nothing", 1), None);
    }

    #[test]
    fn named_sets_have_their_own_versions() {
        let proposal = |set: &str| op_support("Proposal", &Version::from_ir(set));
        assert!(proposal("experimental").is_some());
        assert_eq!(proposal("my.ops"), None);
    }

    #[test]
    fn a_use_without_a_line_works_as_soon_as_the_type_is_read() {
        let since = |used| type_support(ElementType::F16, used).unwrap();
        assert_eq!(since(TypeUse::Constant), since(TypeUse::Port));
        let since = |used| type_support(ElementType::U4, used).unwrap();
        assert!(since(TypeUse::Constant) > since(TypeUse::Port), "releases read nibbles in two orders");
        assert_eq!(type_support(ElementType::String, TypeUse::Conversion), None);
    }

    #[test]
    fn every_feature_has_a_line() {
        for feature in IrFeature::ALL {
            assert!(TABLE.features.contains_key(&feature), "{feature:?}");
        }
        assert!(feature_support(IrFeature::InitialValues) > feature_support(IrFeature::Variables));
    }
}
