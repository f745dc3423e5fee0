//! Names of ops in files, and the operation sets that contain them.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::Category;
use crate::OpError;

/// Formats that name ops.
///
/// ```
/// use snick::{Attrs, Dialect, Op};
///
/// let add = Op::by_name("Add", Attrs::new())?;
/// assert_eq!(add.dialect(), Dialect::OpenVino);
/// # Ok::<(), snick::OpError>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Dialect {
    /// OpenVINO IR, opset1 and up.
    OpenVino,
    /// snick's own primitives, without versions.
    Snick,
}

/// The last operation set that includes the ops of all earlier sets. The newest set includes only a few.
const LAST_REPEATING: u8 = 16;

/// The newest operation set.
const NEWEST: u8 = 17;

/// The last operation set whose ops may also have the `version` `experimental` or `extension` in files.
const LAST_OF_EXTENSIONS: u8 = 6;

/// The `version` of ops outside all operation sets.
const EXTENSION: &str = "extension";

/// The `version` of ops created by plug-ins.
const INTERNAL: &str = "ie_internal_opset";

/// A name of an op in one dialect, with the operation sets that define it, ascending. A layer of opset N uses
/// the newest definition from opset N or earlier.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct OpName {
    /// The format of the name.
    pub dialect: Dialect,
    /// The operation type in files.
    pub name: &'static str,
    /// The operation sets that define or redefine the op.
    pub since: &'static [u8],
    /// What kind of work the op does.
    pub category: Category,
    /// What the op computes.
    pub doc: &'static str,
    /// The range of later operation sets that lack the op, inclusive.
    missing: Option<(u8, u8)>,
    /// Whether the newest operation set includes the op.
    in_newest: bool,
    /// Whether older files use `experimental` or `extension` as the operation set, because no operation set
    /// included the op yet.
    was_extension: bool,
    /// The operation sets, as bits, that redefine the op only by adding attributes.
    extending: u32,
    /// The `version` values of an op outside all operation sets, starting with the one to write; empty for
    /// other ops.
    named_sets: &'static [&'static str],
}

impl OpName {
    /// A name in OpenVINO IR.
    pub const fn openvino(name: &'static str, since: &'static [u8], category: Category) -> Self {
        let dialect = Dialect::OpenVino;
        Self {
            dialect,
            name,
            since,
            category,
            doc: "",
            missing: None,
            in_newest: false,
            was_extension: false,
            extending: 0,
            named_sets: &[],
        }
    }

    /// A primitive of snick.
    pub const fn snick(name: &'static str, category: Category) -> Self {
        Self { dialect: Dialect::Snick, ..Self::openvino(name, &[], category) }
    }

    /// Adds a description of the op.
    pub const fn doc(self, doc: &'static str) -> Self {
        Self { doc, ..self }
    }

    /// Marks operation sets `first` to `last` as lacking the op.
    pub const fn missing_in(self, first: u8, last: u8) -> Self {
        Self { missing: Some((first, last)), ..self }
    }

    /// Marks the newest operation set as including the op.
    pub const fn in_newest(self) -> Self {
        Self { in_newest: true, ..self }
    }

    /// Marks the definition of operation set `set` as one that only adds attributes to the previous definition.
    /// The defaults of these attributes stand for the previous definition.
    pub const fn extended_in(self, set: u8) -> Self {
        Self { extending: self.extending | 1 << set, ..self }
    }

    /// Also allows the `version` values `experimental` and `extension`, which older files use.
    pub const fn was_extension(self) -> Self {
        Self { was_extension: true, ..self }
    }

    /// Marks the op as outside all operation sets; its `version` in files is `extension`.
    pub const fn only_extension(self) -> Self {
        Self { named_sets: &[EXTENSION], ..self }
    }

    /// Marks the op as created by plug-ins; its `version` in files is `ie_internal_opset` or `extension`.
    pub const fn internal(self) -> Self {
        Self { named_sets: &[INTERNAL, EXTENSION], ..self }
    }

    /// Same as [`OpName::internal`], but written as `extension`.
    pub const fn internal_extension(self) -> Self {
        Self { named_sets: &[EXTENSION, INTERNAL], ..self }
    }

    /// Whether plug-ins create the op and no operation set contains it.
    pub fn is_internal(&self) -> bool {
        self.named_sets.contains(&INTERNAL)
    }

    /// The version of nodes not read from a file.
    pub(crate) fn newest(&self) -> Version {
        match (self.named_sets.first(), self.since.last()) {
            (Some(&set), _) => Version::Custom(set.into()),
            (None, Some(&opset)) => Version::Opset(opset),
            (None, None) => Version::Unversioned,
        }
    }

    /// The versions in files that define or redefine the op.
    pub fn declared_versions(&self) -> impl Iterator<Item = Version> + use<> {
        let opsets = if self.named_sets.is_empty() { self.since } else { &[] };
        let experimental = if self.was_extension { &["experimental", EXTENSION][..] } else { &[] };
        let named = self.named_sets.iter().chain(experimental);
        opsets.iter().copied().map(Version::Opset).chain(named.map(|&set| Version::Custom(set.into())))
    }

    /// The range of operation sets with the op, and the gap in that range, if any; `None` for ops outside all
    /// operation sets, such as primitives of snick.
    fn sets(&self) -> Option<(RangeInclusive<u8>, Option<RangeInclusive<u8>>)> {
        if !self.named_sets.is_empty() {
            return None;
        }
        let first = *self.since.first()?;
        let last = if self.in_newest || self.since.contains(&NEWEST) { NEWEST } else { LAST_REPEATING };
        Some((first..=last, self.missing.map(|(first, last)| first..=last)))
    }

    /// Checks that the operation set of a layer contains the op.
    pub(crate) fn check(&self, declared: &Version) -> Result<(), OpError> {
        let (Version::Opset(set), Some((sets, missing))) = (declared, self.sets()) else { return Ok(()) };
        if sets.contains(set) && !missing.as_ref().is_some_and(|missing| missing.contains(set)) {
            return Ok(());
        }
        let but = missing
            .map_or(String::new(), |sets| format!(", but not opset{} to opset{}", sets.start(), sets.end()));
        let expected = format!("opset{} to opset{}{but}", sets.start(), sets.end());
        Err(OpError::mismatch("the operation set", declared, expected))
    }

    /// The operation set of the previous definition, if the definition of operation set `since` only adds
    /// attributes to it.
    pub(crate) fn extended_definition(&self, since: u8) -> Option<u8> {
        let is_extending = self.extending.checked_shr(since.into()).is_some_and(|sets| sets & 1 == 1);
        self.since.iter().rev().copied().find(|&set| is_extending && set < since)
    }

    /// The operation set with the definition that a declared version refers to; `None` if there is none.
    pub fn defining_opset(&self, declared: &Version) -> Option<u8> {
        let up_to = |limit: u8| self.since.iter().rev().copied().find(|&since| since <= limit);
        match declared {
            Version::Opset(_) if !self.named_sets.is_empty() => None,
            Version::Opset(declared) => up_to(*declared),
            Version::Unversioned => Some(self.since.last().copied().unwrap_or(0)),
            Version::Custom(text) if self.named_sets.contains(&&**text) => self.since.last().copied(),
            Version::Custom(text)
                if matches!(&**text, "experimental" | "extension") && self.was_extension =>
            {
                up_to(LAST_OF_EXTENSIONS).or_else(|| self.since.first().copied())
            }
            Version::Custom(_) => None,
        }
    }
}

/// The operation set a layer belongs to.
///
/// ```
/// use snick::Version;
///
/// assert_eq!(Version::from_ir("opset8"), Version::Opset(8));
/// assert_eq!(Version::from_ir("my.ops"), Version::Custom("my.ops".into()));
/// ```
// Exhaustive, so that a new variant breaks every match in the sibling crates.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Version {
    /// `opsetN` of OpenVINO.
    Opset(u8),
    /// `experimental`, `extension`, or anything else.
    Custom(Arc<str>),
    /// A primitive of snick, or a layer without a declared version.
    #[default]
    Unversioned,
}

impl Version {
    /// From the `version` attribute of a layer.
    pub fn from_ir(text: &str) -> Self {
        match text.strip_prefix("opset").and_then(|n| n.parse().ok()) {
            Some(n) => Self::Opset(n),
            None if text.is_empty() => Self::Unversioned,
            None => Self::Custom(text.into()),
        }
    }

    /// Whether this is an operation set of OpenVINO that snick knows completely.
    pub fn is_known_set(&self) -> bool {
        matches!(self, Self::Opset(1..=NEWEST))
    }
}

/// The `version` attribute of a layer.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opset(n) => write!(f, "opset{n}"),
            Self::Custom(text) => f.write_str(text),
            Self::Unversioned => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_op_is_in_the_sets_from_its_first_definition_to_the_last_that_repeats_it() {
        let contains = |name: OpName, set| name.check(&Version::Opset(set)).is_ok();
        let mish = |set| contains(OpName::openvino("Mish", &[4], Category::Other), set);
        assert!(!mish(3) && mish(4) && mish(16) && !mish(17) && !mish(99));
        let convert = |set| contains(OpName::openvino("Convert", &[1], Category::Other).in_newest(), set);
        assert!(convert(1) && convert(17) && !convert(18));
        let new = |set| contains(OpName::openvino("New", &[17], Category::Other), set);
        assert!(!new(16) && new(17));
        let cell = |set| contains(OpName::openvino("RNNCell", &[1], Category::Other).missing_in(2, 2), set);
        assert!(cell(1) && !cell(2) && cell(3));
        let xor = |set| contains(OpName::openvino("Xor", &[1], Category::Other).missing_in(2, 17), set);
        assert!(xor(1) && !xor(2) && !xor(17));
        assert!(OpName::openvino("Mish", &[4], Category::Other).check(&Version::Unversioned).is_ok());
    }

    #[test]
    fn a_layer_means_the_last_definition_that_is_not_above_its_set() {
        let topk = OpName::openvino("TopK", &[1, 3, 11], Category::Other);
        let meant = |version| topk.defining_opset(&version);
        assert_eq!(meant(Version::Opset(2)), Some(1));
        assert_eq!(meant(Version::Opset(10)), Some(3));
        assert_eq!(meant(Version::Unversioned), Some(11));
        assert_eq!(meant(Version::Custom("extension".into())), None);
        let proposal = OpName::openvino("Proposal", &[1, 4], Category::Other).was_extension();
        assert_eq!(proposal.defining_opset(&Version::Custom("extension".into())), Some(4));
        let split = OpName::openvino("RegexSplit", &[1], Category::Other).only_extension();
        assert_eq!(split.defining_opset(&split.newest()), Some(1));
        assert_eq!(split.defining_opset(&Version::Unversioned), Some(1));
        assert_eq!(split.defining_opset(&Version::Opset(1)), None);
        let rope = OpName::openvino("RoPE", &[1], Category::Other).internal();
        assert_eq!(rope.newest(), Version::Custom("ie_internal_opset".into()));
        assert_eq!(rope.defining_opset(&rope.newest()), Some(1));
        assert_eq!(rope.defining_opset(&split.newest()), Some(1));
        assert_eq!(split.defining_opset(&rope.newest()), None);
    }
}
