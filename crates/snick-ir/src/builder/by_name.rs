//! Ops by the names that files give them.

use crate::{Attrs, Op, OpError, RawNode, Version, ops};

impl Op {
    /// The newest definition of the op that OpenVINO IR names so.
    ///
    /// ```
    /// use snick_ir::{Attrs, Op};
    ///
    /// let error = Op::by_name("Addd", Attrs::new()).unwrap_err();
    /// assert_eq!(error.to_string(), "unknown operation `Addd`; did you mean `Add`?");
    /// ```
    ///
    /// # Errors
    /// [`OpError::UnknownOp`], and what the op says of its attributes.
    pub fn by_name(name: &str, attrs: Attrs) -> Result<Self, OpError> {
        let op = Self::parse(&mut RawNode::openvino(name, Version::Unversioned, attrs, 1))?;
        match op.is_opaque() {
            false => Ok(op),
            true => Err(OpError::UnknownOp { name: name.to_string(), nearest: nearest(name) }),
        }
    }
}

/// The known name with the fewest edits from `name`, if they are few.
fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let known = ops::reference().into_iter().map(|entry| entry.name.name);
    let nearest = known.map(|known| (edits(&name, &known.to_ascii_lowercase()), known)).min();
    nearest.filter(|(edits, known)| *edits <= known.len() / 3).map(|(_, known)| known)
}

/// The Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
