//! Metadata that is kept as written: the element trees of `rt_info` and `meta_data`.

/// An XML-like element that snick keeps without interpreting it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Info {
    /// Element name.
    pub name: String,
    /// Attributes in file order, unescaped.
    pub attrs: Vec<(String, String)>,
    /// Child elements in file order.
    pub children: Vec<Info>,
    /// Text directly below the element, trimmed.
    pub text: String,
}
