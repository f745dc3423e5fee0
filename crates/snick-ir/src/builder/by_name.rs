//! Creates ops by their names in files.

use crate::{Attrs, Dialect, Op, OpError, RawNode, Version, nearest_name, ops};

impl Op {
    /// The op with this name in OpenVINO IR, in its newest definition.
    ///
    /// ```
    /// use snick_ir::{Attrs, Op};
    ///
    /// let error = Op::by_name("Addd", Attrs::new()).unwrap_err();
    /// assert_eq!(error.to_string(), "unknown operation `Addd`; did you mean `Add`?");
    /// ```
    ///
    /// # Errors
    /// [`OpError::UnknownOp`], [`OpError::UnknownAttribute`], or an error about an attribute of the op.
    pub fn by_name(name: &str, attrs: Attrs) -> Result<Self, OpError> {
        let mut raw = RawNode::openvino(name, Version::Unversioned, attrs, 1);
        let op = Self::parse(&mut raw)?;
        if op.is_opaque() {
            return Err(OpError::UnknownOp { name: name.to_string(), nearest: nearest(name) });
        }
        let Some(entry) = ops::find(Dialect::OpenVino, name) else { return Ok(op) };
        let declared = || entry.attrs().into_iter().map(|spec| spec.name);
        match raw.attrs.unread().iter().find(|(attr, _)| !declared().any(|name| name == *attr)) {
            Some((attr, _)) => Err(OpError::UnknownAttribute {
                op_type: entry.name.name,
                name: attr.to_string(),
                nearest: nearest_name(attr, declared(), 2),
            }),
            None => Ok(op),
        }
    }
}

/// The known name closest to `name`, if their edit distance is at most a third of the known name's length.
fn nearest(name: &str) -> Option<&'static str> {
    nearest_name(name, ops::reference().into_iter().map(|entry| entry.name.name), 0)
}
