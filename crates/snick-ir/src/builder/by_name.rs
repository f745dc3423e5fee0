//! Ops by the names that files give them.

use crate::{Attrs, Op, OpError, RawNode, Version, edit_distance, ops};

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
    let known = ops::reference().into_iter().map(|entry| entry.name.name);
    let nearest = known.map(|known| (edit_distance(name, known), known)).min();
    nearest.filter(|(edits, known)| *edits <= known.len() / 3).map(|(_, known)| known)
}
