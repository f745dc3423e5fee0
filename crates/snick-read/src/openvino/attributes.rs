//! The attributes of an XML element.

use std::borrow::Cow;
use std::collections::HashSet;

/// The attributes of an element, in file order, with unique names.
#[derive(Default)]
pub(super) struct Attributes<'x> {
    list: Vec<(&'x str, Cow<'x, str>)>,
    /// If there are more than [`FEW`] attributes, the set of their names.
    names: HashSet<&'x str>,
}

/// Up to this number of names, comparing them one by one is faster than hashing.
const FEW: usize = 16;

impl<'x> Attributes<'x> {
    pub(super) fn clear(&mut self) {
        self.list.clear();
        if !self.names.is_empty() {
            self.names.clear();
        }
    }

    /// Adds an attribute. Returns `false` if the element already has an attribute of this name.
    #[must_use]
    #[inline]
    pub(super) fn push(&mut self, name: &'x str, value: Cow<'x, str>) -> bool {
        let is_new = if self.list.len() < FEW {
            self.list.iter().all(|&(other, _)| other != name)
        } else {
            if self.names.is_empty() {
                self.names.extend(self.list.iter().map(|&(other, _)| other));
            }
            self.names.insert(name)
        };
        if is_new {
            self.list.push((name, value));
        }
        is_new
    }

    // Inlined, so that comparing with a constant name is fast.
    #[inline]
    pub(super) fn get(&self, name: &str) -> Option<&Cow<'x, str>> {
        self.list.iter().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'x str> + '_ {
        self.list.iter().map(|&(name, _)| name)
    }

    /// Removes and returns all attributes.
    pub(super) fn drain(&mut self) -> std::vec::Drain<'_, (&'x str, Cow<'x, str>)> {
        self.names.clear();
        self.list.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More names than can be compared pairwise in reasonable time.
    const MANY: usize = 1_000_000;

    #[test]
    fn duplicates_are_found_among_few_and_many() {
        let names: Vec<String> = (0..MANY).map(|i| format!("a{i}")).collect();
        let mut attributes = Attributes::default();
        assert!(names.iter().all(|name| attributes.push(name, "".into())));
        for known in [0, FEW - 1, FEW, MANY - 1] {
            assert!(!attributes.push(&names[known], "".into()));
        }
        assert_eq!(attributes.drain().count(), MANY);
        assert!(attributes.push("a0", "".into()) && !attributes.push("a0", "".into()));
    }
}
