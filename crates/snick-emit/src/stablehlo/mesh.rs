//! A mesh of devices, and rules for sharding arguments over its axes.

use std::str::FromStr;

/// Devices in a grid with named axes: `batch=2,model=4`.
///
/// ```
/// let mesh: snick::Mesh = "batch=2,model=4".parse()?;
/// assert_eq!((mesh.axes()[1].0.as_str(), mesh.devices()), ("model", 8));
/// # Ok::<(), snick::ShardError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mesh {
    axes: Vec<(String, usize)>,
}

/// Rules that shard arguments over a mesh: `ids[batch],*.up.weight[model,_]`.
///
/// A rule consists of a pattern for argument names, in which `*` matches any characters and `?` matches one,
/// and for each dim an axis of the mesh or `_`. Omitted dims are not sharded.
///
/// ```
/// let rules: snick::ShardRules = "ids[batch],*.up.weight[_,model]".parse()?;
/// assert!("ids".parse::<snick::ShardRules>().is_err());
/// # Ok::<(), snick::ShardError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ShardRules {
    pub(super) rules: Vec<ShardRule>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ShardRule {
    pub(super) pattern: String,
    /// For each dim, the axis of the mesh, if any.
    pub(super) axes: Vec<Option<String>>,
}

/// The reason why a module cannot be sharded over a mesh.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ShardError {
    /// A text that is not a mesh.
    #[error("`{text}` is not a mesh: {why}; write it like batch=2,model=4")]
    Mesh {
        /// The text as given.
        text: String,
        /// The reason why it is not a mesh.
        why: String,
    },
    /// A text that is not a rule.
    #[error("`{text}` is not a sharding: {why}; write it like ids[batch],*.up.weight[model,_]")]
    Rule {
        /// The part that is wrong.
        text: String,
        /// The reason why it is not a rule.
        why: String,
    },
    /// An axis that is not in the mesh.
    #[error("`{rule}`: the mesh has no axis `{axis}`; it has {axes}")]
    UnknownAxis {
        /// The rule.
        rule: String,
        /// The axis.
        axis: String,
        /// The axes of the mesh.
        axes: String,
    },
    /// A pattern that no argument matches.
    #[error("`{rule}` matches no argument; {hint}")]
    NoMatch {
        /// The rule.
        rule: String,
        /// Similar names that exist.
        hint: String,
    },
    /// Two rules that match the same argument.
    #[error("`{rule}` and `{other}` both match `{argument}`; narrow one of them")]
    TwoRules {
        /// The argument.
        argument: String,
        /// The first rule.
        rule: String,
        /// The second rule.
        other: String,
    },
    /// A rule with more dims than the argument.
    #[error("`{rule}` has {axes} dims, but `{argument}` has {rank}")]
    Rank {
        /// The rule.
        rule: String,
        /// The argument.
        argument: String,
        /// Dims of the rule.
        axes: usize,
        /// Dims of the argument.
        rank: usize,
    },
    /// A size that is not divisible by the size of an axis.
    #[error("`{rule}`: {axis}={size} does not divide dim {dim} of `{argument}`, which is {extent}; {hint}")]
    Indivisible {
        /// The rule.
        rule: String,
        /// The argument.
        argument: String,
        /// The dim, from 0.
        dim: usize,
        /// The size of the dim.
        extent: String,
        /// The axis.
        axis: String,
        /// The size of the axis.
        size: usize,
        /// Sizes that would work.
        hint: String,
    },
}

impl Mesh {
    /// The axes with their sizes, outermost first: neighbours along the last axis have consecutive device
    /// ids.
    pub fn axes(&self) -> &[(String, usize)] {
        &self.axes
    }

    /// The number of devices.
    pub fn devices(&self) -> usize {
        self.axes.iter().fold(1, |all, (_, size)| all.saturating_mul(*size))
    }

    /// The size of an axis.
    pub(super) fn size(&self, axis: &str) -> Option<usize> {
        self.axes.iter().find(|(name, _)| name == axis).map(|&(_, size)| size)
    }
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl FromStr for Mesh {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let wrong = |why: String| ShardError::Mesh { text: text.into(), why };
        let mut axes: Vec<(String, usize)> = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (name, size) = part.split_once('=').ok_or_else(|| wrong(format!("`{part}` has no size")))?;
            let (name, size) = (name.trim(), size.trim());
            if !is_name(name) || name == "_" {
                return Err(wrong(format!("`{name}` is not an axis name")));
            }
            if axes.iter().any(|(other, _)| other == name) {
                return Err(wrong(format!("the axis `{name}` is there twice")));
            }
            match size.parse() {
                Ok(size @ 1..) => axes.push((name.into(), size)),
                _ => return Err(wrong(format!("`{size}` is not a number of devices"))),
            }
        }
        let devices = axes.iter().try_fold(1_usize, |all, (_, size)| all.checked_mul(*size));
        match devices {
            Some(..=MAX_DEVICES) => Ok(Self { axes }),
            _ => Err(wrong(format!("it has more than {MAX_DEVICES} devices"))),
        }
    }
}

/// Maximum number of devices: more than any real mesh has.
const MAX_DEVICES: usize = 1 << 24;

impl FromStr for ShardRules {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let mut rules = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let wrong = |why: &str| ShardError::Rule { text: rest.into(), why: why.into() };
            let (rule, behind) = rest.split_once(']').ok_or_else(|| wrong("`[` and `]` are missing"))?;
            let (pattern, axes) = rule.rsplit_once('[').ok_or_else(|| wrong("`[` is missing"))?;
            if pattern.trim().is_empty() {
                return Err(wrong("it names no argument"));
            }
            rules.push(ShardRule {
                pattern: pattern.trim().into(),
                axes: axes_of(axes).map_err(|why| wrong(&why))?,
            });
            let behind = behind.trim_start();
            rest = match behind.strip_prefix(',') {
                Some(next) if !next.trim().is_empty() => next.trim_start(),
                None if behind.is_empty() => behind,
                _ => return Err(wrong("expected `,` and another axis, or the end, after `]`")),
            };
        }
        Ok(Self { rules })
    }
}

fn axes_of(text: &str) -> Result<Vec<Option<String>>, String> {
    let mut axes: Vec<Option<String>> = Vec::new();
    for axis in text.split(',').map(str::trim).filter(|_| !text.trim().is_empty()) {
        let axis = match axis {
            "_" => None,
            axis if is_name(axis) => Some(axis.to_string()),
            axis => return Err(format!("`{axis}` is not an axis name")),
        };
        if axis.is_some() && axes.contains(&axis) {
            return Err(format!("the axis `{}` is there twice", axis.unwrap_or_default()));
        }
        axes.push(axis);
    }
    Ok(axes)
}
