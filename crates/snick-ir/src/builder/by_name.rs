//! Creates ops from the names of operations and attributes in files.

use std::borrow::Cow;

use crate::{AttrValue, Attrs, Dialect, NodeRef, Op, OpError, RawNode, Version, nearest_name, ops};

impl Op {
    /// The op with this name in OpenVINO IR, in its newest definition.
    ///
    /// ```
    /// use snick::{Attrs, Op};
    ///
    /// let error = Op::by_name("Addd", Attrs::new()).unwrap_err();
    /// assert_eq!(error.to_string(), "unknown operation `Addd`; did you mean `Add`?");
    /// ```
    ///
    /// # Errors
    /// [`OpError::UnknownOp`], [`OpError::UnknownAttribute`], or an error about an attribute of the op.
    pub fn by_name(name: &str, attrs: Attrs) -> Result<Self, OpError> {
        let op = parse_declared(RawNode::openvino(name, Version::Unversioned, attrs, 1), None)?;
        match op.is_opaque() {
            true => Err(OpError::UnknownOp { name: name.to_string(), nearest: nearest(name) }),
            false => Ok(op),
        }
    }
}

impl NodeRef<'_> {
    /// The op of the node with another value of an attribute.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
    /// #             %soft = Softmax-8(%x) {axis: 1}\n  %y = Result-1(%soft)\n}\n";
    /// use snick::AttrValue;
    ///
    /// let graph = snick::text::parse(text, None)?;
    /// let soft = graph.node(graph.find("soft").expect("layer"));
    /// let op = soft.op_with("axis", AttrValue::from(0))?;
    /// assert_eq!(op.attrs().get("axis"), Some(&AttrValue::Int(0)));
    /// assert!(soft.op_with("axs", AttrValue::from(0)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OpError::UnknownAttribute`], or an error about the value. [`OpError::Unsupported`] for constants, ops
    /// with bodies and custom ops.
    pub fn op_with(self, attr: &str, value: AttrValue<'static>) -> Result<Op, OpError> {
        let op = self.op();
        let mut attrs: Attrs = op.attrs().iter().filter(|(name, _)| *name != attr).map(owned).collect();
        attrs.push(attr.to_string().into(), value);
        match op {
            Op::Const(_) | Op::SubGraph(_) | Op::Custom(_) => {
                Err(OpError::unsupported(format!("setting an attribute of {}", op.type_name())))
            }
            _ if op.is_opaque() => Ok(Op::opaque(op.type_name(), attrs)),
            _ => {
                let raw = RawNode::openvino(op.type_name(), self.version().clone(), attrs, self.outs().len());
                parse_declared(raw, Some(attr))
            }
        }
    }
}

fn owned(attr: (&str, &AttrValue<'static>)) -> (Cow<'static, str>, AttrValue<'static>) {
    (attr.0.to_string().into(), attr.1.clone())
}

/// Parses a layer and refuses attributes that its op does not declare: all of them, or only `attr`.
fn parse_declared(mut raw: RawNode, attr: Option<&str>) -> Result<Op, OpError> {
    let op = Op::parse(&mut raw)?;
    let Some(entry) = ops::find(Dialect::OpenVino, raw.op_type) else { return Ok(op) };
    let declared = || entry.attrs().into_iter().map(|spec| spec.name);
    let unread = raw.attrs.unread();
    let mut unknown =
        unread.iter().map(|(name, _)| name).filter(|name| !declared().any(|known| known == *name));
    match unknown.find(|name| attr.is_none_or(|attr| attr == *name)) {
        Some(name) => Err(OpError::UnknownAttribute {
            op_type: entry.name.name,
            name: name.to_string(),
            nearest: nearest_name(name, declared(), 2),
        }),
        None => Ok(op),
    }
}

/// The known name closest to `name`, if their edit distance is at most a third of the known name's length.
fn nearest(name: &str) -> Option<&'static str> {
    nearest_name(name, ops::reference().into_iter().map(|entry| entry.name.name), 0)
}
