//! Attributes of a layer, whatever format they come from.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use snick_shape::ShapeSpec;
use snick_tensor::{ElementType, SmallVector, Tensor};

use crate::OpError;

/// An attribute value. Values from XML are always [`AttrValue::Text`], which the typed getters of [`Attrs`]
/// parse on demand; other formats and [`crate::OpDef::attrs`] use the typed variants.
///
/// ```
/// use snick::{AttrValue, Attrs};
///
/// let attrs = Attrs::new().with("axis", -1).with("mode", "nearest");
/// assert_eq!(attrs.get("axis"), Some(&AttrValue::Int(-1)));
/// assert_eq!(attrs.get("mode"), Some(&AttrValue::from("nearest")));
/// ```
// Exhaustive, so that a new variant breaks every match in the sibling crates.
#[derive(Clone, PartialEq, Debug)]
pub enum AttrValue<'a> {
    /// A name, or text that is not parsed yet.
    Text(Cow<'a, str>),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// Integers.
    Ints(SmallVector<i64, 4>),
    /// Floating-point numbers.
    Floats(Vec<f64>),
    /// Strings.
    Texts(Vec<String>),
    /// A constant tensor.
    Tensor(Arc<Tensor>),
}

impl AttrValue<'_> {
    /// An empty list. Always a list of integers, because the text form writes empty lists of all types the
    /// same way.
    fn empty_list() -> Self {
        Self::Ints(SmallVector::new())
    }

    /// Converts borrowed text to owned text.
    pub fn into_owned(self) -> AttrValue<'static> {
        match self {
            Self::Text(t) => AttrValue::Text(Cow::Owned(t.into_owned())),
            Self::Int(v) => AttrValue::Int(v),
            Self::Float(v) => AttrValue::Float(v),
            Self::Bool(v) => AttrValue::Bool(v),
            Self::Ints(v) => AttrValue::Ints(v),
            Self::Floats(v) => AttrValue::Floats(v),
            Self::Texts(v) => AttrValue::Texts(v),
            Self::Tensor(v) => AttrValue::Tensor(v),
        }
    }
}

impl From<i64> for AttrValue<'_> {
    fn from(v: i64) -> Self {
        Self::Int(v)
    }
}
impl From<bool> for AttrValue<'_> {
    fn from(v: bool) -> Self {
        Self::Bool(v)
    }
}
impl From<f64> for AttrValue<'_> {
    fn from(v: f64) -> Self {
        Self::Float(v)
    }
}
impl From<&'static str> for AttrValue<'_> {
    fn from(v: &'static str) -> Self {
        Self::Text(Cow::Borrowed(v))
    }
}
impl From<String> for AttrValue<'_> {
    fn from(v: String) -> Self {
        Self::Text(Cow::Owned(v))
    }
}
impl From<ElementType> for AttrValue<'_> {
    fn from(v: ElementType) -> Self {
        Self::Text(Cow::Borrowed(v.name()))
    }
}
impl From<&[i64]> for AttrValue<'_> {
    fn from(v: &[i64]) -> Self {
        Self::Ints(v.into())
    }
}
impl From<Vec<i64>> for AttrValue<'_> {
    fn from(v: Vec<i64>) -> Self {
        Self::Ints(v.into())
    }
}
impl<const N: usize> From<[i64; N]> for AttrValue<'_> {
    fn from(v: [i64; N]) -> Self {
        Self::Ints(v.as_slice().into())
    }
}
impl From<Vec<f64>> for AttrValue<'_> {
    fn from(v: Vec<f64>) -> Self {
        match v.is_empty() {
            true => Self::empty_list(),
            false => Self::Floats(v),
        }
    }
}
impl From<&[f64]> for AttrValue<'_> {
    fn from(v: &[f64]) -> Self {
        v.to_vec().into()
    }
}
impl From<Vec<String>> for AttrValue<'_> {
    fn from(v: Vec<String>) -> Self {
        match v.is_empty() {
            true => Self::empty_list(),
            false => Self::Texts(v),
        }
    }
}
impl From<&[usize]> for AttrValue<'_> {
    fn from(v: &[usize]) -> Self {
        Self::Ints(v.iter().map(|&d| d as i64).collect())
    }
}

/// The attributes of a layer, in order. Each getter marks the attribute that it reads. [`Attrs::unread`]
/// returns the others, so that attributes unknown to an op are kept.
///
/// ```
/// use snick::Attrs;
///
/// let attrs = Attrs::new().with("axis", -1).with("keep_dims", true);
/// assert_eq!(attrs.int("axis")?, Some(-1));
/// assert_eq!(attrs.bool("keep_dims")?, Some(true));
/// assert_eq!(attrs.float("epsilon")?, None);
/// assert!(attrs.bool("axis").is_err());
/// # Ok::<(), snick::OpError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Attrs<'a> {
    // Not a SmallVector, which is invariant in its item type: an `Attrs<'static>` could not be used as an
    // `Attrs<'a>`.
    items: Vec<(Cow<'a, str>, AttrValue<'a>)>,
    read: ReadMarks,
}

/// One bit for each of the first 64 attributes: whether it was read. Atomic because getters take `&self` and
/// graphs are shared between threads. Only one thread parses a layer, so a separate load and store cannot
/// lose a bit set by another thread.
#[derive(Debug, Default)]
struct ReadMarks(AtomicU64);

impl ReadMarks {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, i: usize) {
        self.0.store(self.get() | 1 << i, Ordering::Relaxed);
    }
}

impl Clone for ReadMarks {
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.get()))
    }
}

impl PartialEq for Attrs<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

impl<'a> FromIterator<(Cow<'a, str>, AttrValue<'a>)> for Attrs<'a> {
    fn from_iter<I: IntoIterator<Item = (Cow<'a, str>, AttrValue<'a>)>>(items: I) -> Self {
        Self { items: items.into_iter().collect(), read: ReadMarks::default() }
    }
}

impl<'a> Attrs<'a> {
    /// No attributes.
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an attribute.
    pub fn with(mut self, name: &'static str, value: impl Into<AttrValue<'a>>) -> Self {
        self.push(Cow::Borrowed(name), value.into());
        self
    }

    /// Appends an attribute.
    #[inline]
    pub fn push(&mut self, name: Cow<'a, str>, value: AttrValue<'a>) {
        if self.items.is_empty() {
            self.items.reserve(6);
        }
        self.items.push((name, value));
    }

    /// Appends attributes.
    pub fn extend(&mut self, more: Attrs<'a>) {
        self.items.extend(more.items);
    }

    /// The attributes in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &AttrValue<'a>)> {
        self.items.iter().map(|(name, value)| (name.as_ref(), value))
    }

    /// Whether there are no attributes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether an attribute has this name.
    pub fn contains(&self, name: &str) -> bool {
        self.items.iter().any(|(n, _)| n == name)
    }

    /// The attributes that no getter has read. Only the first 64 attributes are tracked; later ones always
    /// count as unread.
    pub fn unread(&self) -> Attrs<'static> {
        let read = self.read.get();
        let unread = self.items.iter().enumerate().filter(|(i, _)| *i >= 64 || read & (1 << i) == 0);
        unread.map(|(_, item)| item.clone()).collect::<Attrs>().into_owned()
    }

    /// Marks all attributes as read.
    pub(crate) fn mark_all_read(&self) {
        (0..self.items.len().min(64)).for_each(|i| self.read.set(i));
    }

    /// Converts borrowed names and values to owned ones.
    pub fn into_owned(self) -> Attrs<'static> {
        let owned =
            |(name, value): (Cow<str>, AttrValue)| (Cow::Owned(name.into_owned()), value.into_owned());
        Attrs { items: self.items.into_iter().map(owned).collect(), read: ReadMarks::default() }
    }

    /// Whether every attribute has been read; always `false` for 64 or more attributes.
    #[inline]
    pub fn all_read(&self) -> bool {
        self.items.len() < 64 && self.read.get() == (1u64 << self.items.len()) - 1
    }

    /// The attribute, unparsed.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&AttrValue<'a>> {
        let i = self.items.iter().position(|(n, _)| n == name)?;
        if i < 64 {
            self.read.set(i);
        }
        Some(&self.items[i].1)
    }

    /// An integer.
    pub fn int(&self, name: &'static str) -> Result<Option<i64>, OpError> {
        self.parsed(name, "an integer", |value| match value {
            AttrValue::Int(v) => Some(*v),
            AttrValue::Text(t) => t.trim_ascii().parse().ok(),
            _ => None,
        })
    }

    /// A non-negative integer, such as a size or a count.
    pub fn size(&self, name: &'static str) -> Result<Option<usize>, OpError> {
        let Some(int) = self.int(name)? else { return Ok(None) };
        usize::try_from(int).map(Some).map_err(|_| self.bad(name, "0 or more"))
    }

    /// A floating-point number.
    pub fn float(&self, name: &'static str) -> Result<Option<f64>, OpError> {
        self.parsed(name, "a number", |value| match value {
            AttrValue::Float(v) => Some(*v),
            AttrValue::Int(v) => Some(*v as f64),
            AttrValue::Text(t) => t.trim_ascii().parse().ok(),
            _ => None,
        })
    }

    /// A boolean: `true`, `True`, `1`, `false`, ...
    pub fn bool(&self, name: &'static str) -> Result<Option<bool>, OpError> {
        self.parsed(name, "true or false", |value| match value {
            AttrValue::Bool(v) => Some(*v),
            AttrValue::Int(v @ 0..=1) => Some(*v == 1),
            AttrValue::Text(t) => match t.trim_ascii() {
                "true" | "True" | "TRUE" | "1" => Some(true),
                "false" | "False" | "FALSE" | "0" => Some(false),
                _ => None,
            },
            _ => None,
        })
    }

    /// Integers, in XML separated by commas; `""` is the empty list.
    pub fn ints(&self, name: &'static str) -> Result<Option<SmallVector<i64, 4>>, OpError> {
        self.parsed(name, "integers separated by commas", |value| match value {
            AttrValue::Ints(v) => Some(v.clone()),
            AttrValue::Int(v) => Some(SmallVector::from_slice(&[*v])),
            AttrValue::Text(t) => list(t).map(whole_number).collect(),
            _ => None,
        })
    }

    /// Floating-point numbers, in XML separated by commas; `""` is the empty list.
    pub fn floats(&self, name: &'static str) -> Result<Option<Vec<f64>>, OpError> {
        self.parsed(name, "numbers separated by commas", |value| match value {
            AttrValue::Floats(v) => Some(v.clone()),
            AttrValue::Float(v) => Some(vec![*v]),
            AttrValue::Ints(v) => Some(v.iter().map(|&i| i as f64).collect()),
            AttrValue::Int(v) => Some(vec![*v as f64]),
            AttrValue::Text(t) => list(t).map(|item| item.parse().ok()).collect(),
            _ => None,
        })
    }

    /// Non-negative integers, such as strides, dilations or sizes.
    pub fn sizes(&self, name: &'static str) -> Result<Option<SmallVector<usize, 4>>, OpError> {
        let Some(ints) = self.ints(name)? else { return Ok(None) };
        let sizes = ints.iter().map(|&v| usize::try_from(v).ok()).collect::<Option<_>>();
        sizes.map(Some).ok_or_else(|| self.bad(name, "non-negative integers"))
    }

    /// Text.
    pub fn text(&self, name: &'static str) -> Result<Option<&str>, OpError> {
        match self.get(name) {
            None => Ok(None),
            Some(AttrValue::Text(t)) => Ok(Some(t)),
            Some(_) => Err(self.bad(name, "text")),
        }
    }

    /// Strings.
    pub fn texts(&self, name: &'static str) -> Result<Option<Vec<String>>, OpError> {
        self.parsed(name, "texts", |value| match value {
            AttrValue::Texts(v) => Some(v.clone()),
            AttrValue::Ints(v) if v.is_empty() => Some(Vec::new()),
            AttrValue::Text(t) => Some(list(t).map(str::to_string).collect()),
            _ => None,
        })
    }

    /// An element type by its OpenVINO name.
    pub fn element_type(&self, name: &'static str) -> Result<Option<ElementType>, OpError> {
        self.parsed(name, "an element type", |value| match value {
            AttrValue::Text(t) => t.trim_ascii().parse().ok(),
            _ => None,
        })
    }

    /// A shape in the notation of a Parameter's `shape` attribute.
    pub fn shape(&self, name: &'static str) -> Result<Option<ShapeSpec>, OpError> {
        self.parsed(name, "a shape", |value| match value {
            AttrValue::Text(t) => t.parse().ok(),
            AttrValue::Ints(v) => {
                let text: Vec<String> = v.iter().map(i64::to_string).collect();
                text.join(",").parse().ok()
            }
            _ => None,
        })
    }

    /// A name from a closed list, compared case-insensitively as in OpenVINO's reader.
    pub fn choice<T: Copy>(
        &self,
        name: &'static str,
        choices: &'static [(&'static str, T)],
    ) -> Result<Option<T>, OpError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match choices.iter().find(|(word, _)| word.eq_ignore_ascii_case(text.trim_ascii())) {
            Some(&(_, value)) => Ok(Some(value)),
            None => {
                let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
                Err(self.bad(name, &format!("one of {}", words.join(", "))))
            }
        }
    }

    fn parsed<T>(
        &self,
        name: &'static str,
        expected: &str,
        parse: impl Fn(&AttrValue) -> Option<T>,
    ) -> Result<Option<T>, OpError> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => parse(value).map(Some).ok_or_else(|| self.bad(name, expected)),
        }
    }

    /// The error for an attribute whose value cannot be read.
    pub fn bad(&self, name: &'static str, expected: &str) -> OpError {
        let value = match self.get(name) {
            Some(AttrValue::Text(t)) => t.to_string(),
            Some(AttrValue::Tensor(_)) => "a tensor".to_string(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        OpError::BadAttribute { name, value, expected: expected.to_string() }
    }
}

/// The error for a required attribute: `attrs.int("axis")?.ok_or(missing("axis"))`.
pub(crate) fn missing(name: &'static str) -> OpError {
    OpError::MissingAttribute { name }
}

/// Parses an integer, which some converters write as `1.0`.
fn whole_number(text: &str) -> Option<i64> {
    let integer = text.parse().ok();
    integer
        .or_else(|| text.parse::<f64>().ok().filter(|v| v.fract() == 0.0 && v.abs() < 1e15).map(|v| v as i64))
}

/// The items of a comma-separated list; none for blank text.
fn list(text: &str) -> impl Iterator<Item = &str> {
    let blank = text.trim_ascii().is_empty();
    text.split(',').map(str::trim_ascii).filter(move |_| !blank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_numbers_and_texts() {
        let attrs = Attrs::new()
            .with("pads", vec![1, 2])
            .with("axes", [-1, 0])
            .with("scales", vec![0.5, 2.0])
            .with("names", vec!["a".to_string()]);
        assert_eq!(attrs.ints("pads").unwrap().unwrap().as_slice(), [1, 2]);
        assert_eq!(attrs.ints("axes").unwrap().unwrap().as_slice(), [-1, 0]);
        assert_eq!(attrs.floats("scales").unwrap().unwrap(), [0.5, 2.0]);
        assert_eq!(attrs.texts("names").unwrap().unwrap(), ["a"]);
    }

    #[test]
    fn lists_as_real_files_write_them() {
        let attrs = Attrs::new().with("a", "1, 1").with("b", "").with("c", "1,x");
        assert_eq!(attrs.ints("a").unwrap().unwrap().as_slice(), [1, 1]);
        assert!(attrs.ints("b").unwrap().unwrap().is_empty());
        assert!(attrs.ints("c").is_err());
        assert!(attrs.ints("d").unwrap().is_none());
    }

    #[test]
    fn what_was_not_read_is_kept() {
        let attrs = Attrs::new().with("axis", "1").with("odd", "2");
        attrs.int("axis").unwrap();
        assert!(!attrs.all_read());
        let unread = attrs.unread();
        assert_eq!(unread.iter().map(|(n, _)| n).collect::<Vec<_>>(), ["odd"]);
    }
}
