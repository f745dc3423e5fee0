//! Unique names.

use std::collections::HashMap;

/// Makes names unique, in linear time even if many names collide.
#[derive(Default)]
pub(crate) struct UniqueNames {
    /// The last number appended to each name.
    last: HashMap<String, u64>,
}

impl UniqueNames {
    /// Returns the name. If it is taken, appends a separator and the smallest number above `from` that makes
    /// it unique.
    pub(crate) fn give(&mut self, name: String, separator: char, from: u64) -> String {
        let Some(&last) = self.last.get(&name) else {
            self.last.insert(name.clone(), from);
            return name;
        };
        let mut number = last;
        let numbered = loop {
            number += 1;
            let numbered = format!("{name}{separator}{number}");
            if !self.last.contains_key(&numbered) {
                break numbered;
            }
        };
        self.last.insert(name, number);
        self.last.insert(numbered.clone(), from);
        numbered
    }
}

#[cfg(test)]
mod tests {
    use super::UniqueNames;

    #[test]
    fn no_two_names_are_alike() {
        let mut names = UniqueNames::default();
        let mut give = |name: &str| names.give(name.to_string(), '~', 1);
        assert_eq!(
            ["a", "a~3", "a", "a", "a~3", "b"].map(&mut give),
            ["a", "a~3", "a~2", "a~4", "a~3~2", "b"]
        );
    }

    #[test]
    fn a_hundred_thousand_equal_names_are_told_apart() {
        let mut names = UniqueNames::default();
        let last = (0..100_000).map(|_| names.give("x".into(), '_', 0)).last();
        assert_eq!(last.as_deref(), Some("x_99999"));
    }
}
