//! Port maps connect the ports of an op with the Parameters and Results of its body.

use std::fmt;

/// The port map of one body.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PortMap {
    /// Links from inputs of the op to Parameters.
    pub inputs: Vec<PortLink>,
    /// Links from Results to outputs of the op.
    pub outputs: Vec<PortLink>,
    /// Pairs of a Result and the Parameter that receives its value in the next iteration, as indices.
    pub back_edges: Vec<(usize, usize)>,
}

/// A link between a port of the op and a Parameter or Result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortLink {
    /// Index of the op's input or output; `None` for a value that the op itself provides or reads.
    pub external: Option<usize>,
    /// Index of the body's Parameter or Result.
    pub internal: usize,
    /// How the value is sliced or concatenated; `None` to pass it whole.
    pub cut: Option<Cut>,
    /// The special role of a value in a Loop.
    pub purpose: Option<Purpose>,
}

/// How a value is sliced into one part per iteration, or concatenated from such parts.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The axis.
    pub axis: i64,
    /// Start of the range: 0 is before the first element, -1 after the last.
    pub start: i64,
    /// End of the range: 0 is before the first element, -1 after the last.
    pub end: i64,
    /// Distance between parts; negative to go from the end to the start.
    pub stride: i64,
    /// Size of each part on the axis.
    pub part_size: i64,
}

/// Values that the Loop itself provides or reads.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// A Parameter that receives the iteration number, from 0.
    CurrentIteration,
    /// A Result that says whether the Loop continues.
    ExecutionCondition,
}

impl Purpose {
    const ALL: [(&'static str, Self); 2] =
        [("current_iteration", Self::CurrentIteration), ("execution_condition", Self::ExecutionCondition)];

    /// The name in files.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}

impl Cut {
    /// Cuts the whole axis into parts of one element.
    pub fn each(axis: i64) -> Self {
        Self { axis, start: 0, end: -1, stride: 1, part_size: 1 }
    }
}

impl PortLink {
    /// Passes a whole value.
    pub fn whole(external: usize, internal: usize) -> Self {
        Self { external: Some(external), internal, cut: None, purpose: None }
    }

    /// Passes one element of an axis per iteration.
    pub fn each(external: usize, internal: usize, axis: i64) -> Self {
        Self { cut: Some(Cut::each(axis)), ..Self::whole(external, internal) }
    }

    /// A value that the op itself provides or reads.
    pub fn inner(internal: usize, purpose: Purpose) -> Self {
        Self { external: None, internal, cut: None, purpose: Some(purpose) }
    }

    /// A link with the attributes `axis`, `start`, `end`, `stride`, `part_size` and `purpose`, looked up with
    /// `find`. Without an axis, the whole value is passed.
    ///
    /// # Errors
    /// The name of an invalid attribute.
    pub fn with_notes<'t>(
        external: Option<usize>,
        internal: usize,
        find: impl Fn(&str) -> Option<&'t str>,
    ) -> Result<Self, &'static str> {
        let number = |name: &'static str, default: i64| match find(name) {
            Some(text) => text.trim().parse().map_err(|_| name),
            None => Ok(default),
        };
        let cut = match find("axis") {
            Some(_) => Some(Cut {
                axis: number("axis", 0)?,
                start: number("start", 0)?,
                end: number("end", -1)?,
                stride: number("stride", 1)?,
                part_size: number("part_size", 1)?,
            }),
            None => None,
        };
        let purpose = match find("purpose").map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) => {
                let known = Purpose::ALL.iter().find(|(name, _)| *name == text);
                Some(known.ok_or("purpose")?.1)
            }
            None => None,
        };
        Ok(Self { external, internal, cut, purpose })
    }

    /// The link's attributes, as files write them.
    pub fn notes(&self) -> impl Iterator<Item = (&'static str, String)> {
        let cut = self.cut.into_iter().flat_map(|cut| {
            let Cut { axis, start, end, stride, part_size } = cut;
            [("axis", axis), ("start", start), ("end", end), ("stride", stride), ("part_size", part_size)]
        });
        let purpose = self.purpose.map(|purpose| ("purpose", purpose.name().to_string()));
        cut.map(|(name, value)| (name, value.to_string())).chain(purpose)
    }

    /// Parses the output of `Display`.
    pub fn parse(text: &str) -> Option<Self> {
        let (external, rest) = text.split_once(" -> ")?;
        let external = if external == "_" { None } else { Some(external.parse().ok()?) };
        let mut words = rest.split(' ');
        let internal = words.next()?.parse().ok()?;
        let notes: Vec<(&str, &str)> = words.map(|word| word.split_once('=')).collect::<Option<_>>()?;
        let find = |name: &str| notes.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
        Self::with_notes(external, internal, find).ok()
    }
}

/// `0 -> 1 axis=1 start=-1 ...`; a link without an external port begins with `_`.
impl fmt::Display for PortLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.external {
            Some(port) => write!(f, "{port} -> {}", self.internal)?,
            None => write!(f, "_ -> {}", self.internal)?,
        }
        self.notes().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_links_parse_to_themselves() {
        for text in [
            "0 -> 1",
            "2 -> 0 axis=1 start=-1 end=0 stride=-2 part_size=2",
            "_ -> 3 purpose=current_iteration",
            "_ -> 0 purpose=execution_condition",
        ] {
            assert_eq!(PortLink::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(PortLink::parse("1 -> 0 axis=2"), Some(PortLink::each(1, 0, 2)));
        for wrong in ["", "1", "1 -> x", "1 -> 0 axis", "1 -> 0 axis=y", "1 -> 0 purpose=fun"] {
            assert_eq!(PortLink::parse(wrong), None, "{wrong}");
        }
    }
}
