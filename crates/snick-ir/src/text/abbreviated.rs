//! Attribute values as text of bounded length, for display.

use std::borrow::Cow;
use std::sync::Arc;

use snick_tensor::Tensor;

use crate::AttrValue;

/// The maximum number of items of a list or a tensor to show in full.
pub const MOST_SHOWN: usize = 64;

/// How many items of a longer list or tensor to show.
const FIRST: usize = 16;

/// The maximum length of text, in characters.
const LONGEST: usize = 4096;

/// Truncates text that is too long to show.
///
/// ```
/// use snick::text::shortened;
///
/// assert_eq!(shortened("relu"), "relu");
/// let long = "x".repeat(5000);
/// assert!(shortened(&long).ends_with("xx… (5000 characters)"));
/// ```
pub fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}… ({} characters)", &text[..end], text.chars().count())),
    }
}

impl AttrValue<'_> {
    /// The value in at most a few thousand characters, with strings unquoted. A list or tensor with more than
    /// [`MOST_SHOWN`] items is shortened to its first items and the number of items.
    ///
    /// ```
    /// use snick::AttrValue;
    ///
    /// assert_eq!(AttrValue::from([1, 2]).abbreviated(), "[1,2]");
    /// let many = AttrValue::from((0..1000).collect::<Vec<i64>>()).abbreviated();
    /// assert!(many.starts_with("[0,1,") && many.ends_with("15] … (1000 in all)"));
    /// ```
    pub fn abbreviated(&self) -> String {
        let text = match self {
            Self::Text(text) => return shortened(text).into_owned(),
            value => match value.first_items() {
                Some((first, count)) => format!("{first} … ({count} in all)"),
                None => value.to_string(),
            },
        };
        shortened(&text).into_owned()
    }

    /// The first items of a list or a tensor, and their total number; `None` if all of them are shown.
    fn first_items(&self) -> Option<(AttrValue<'_>, usize)> {
        let (first, count) = match self {
            Self::Ints(items) => (AttrValue::from(items.get(..FIRST)?), items.len()),
            Self::Floats(items) => (AttrValue::from(items.get(..FIRST)?), items.len()),
            Self::Texts(items) => (AttrValue::from(items.get(..FIRST)?.to_vec()), items.len()),
            Self::Tensor(tensor) => (AttrValue::Tensor(Arc::new(first_elements(tensor)?)), tensor.len()),
            Self::Text(_) | Self::Int(_) | Self::Float(_) | Self::Bool(_) => return None,
        };
        (count > MOST_SHOWN).then_some((first, count))
    }
}

fn first_elements(tensor: &Tensor) -> Option<Tensor> {
    tensor.reshape(&[tensor.len()]).ok()?.slice(0, 0, FIRST, 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_any_size_are_short() {
        let floats = vec![0.5; 100_000];
        let tensor = Tensor::from_vec(&[1000, 100], floats.clone()).unwrap();
        let texts: Vec<String> = (0..100).map(|_| "word".repeat(1000)).collect();
        for (value, end) in [
            (AttrValue::from(floats), "0.5] … (100000 in all)"),
            (AttrValue::Tensor(Arc::new(tensor)), "0.5> … (100000 in all)"),
            (AttrValue::from(texts), " characters)"),
            (AttrValue::from("a".repeat(1 << 20)), "a… (1048576 characters)"),
        ] {
            let text = value.abbreviated();
            assert!(text.ends_with(end) && text.len() < 5000, "{text}");
        }
    }

    #[test]
    fn all_of_few_items_are_shown() {
        let few: Vec<i64> = (0..MOST_SHOWN as i64).collect();
        assert!(AttrValue::from(few.clone()).abbreviated().ends_with("62,63]"));
        let tensor = Tensor::from_vec(&[few.len()], few).unwrap();
        assert!(AttrValue::Tensor(Arc::new(tensor)).abbreviated().ends_with("62, 63>"));
    }
}
