//! Merges the shardings of single arguments into rules: one rule for all names that differ only in digits.

use std::fmt;

use super::mesh::{Mesh, ShardRule, ShardRules};
use super::sharding::matches;

impl ShardRules {
    /// Returns rules that produce exactly these shardings. Each argument is given as its name and an axis for
    /// each dim. If there are no axes, no rule may match the argument.
    ///
    /// ```
    /// use snick::ShardRules;
    ///
    /// let model = Some("model".to_string());
    /// let arguments =
    ///     [("ids", vec![]), ("h.0.up", vec![None, model.clone()]), ("h.1.up", vec![None, model]), ("h.0.b", vec![])];
    /// let arguments: Vec<_> = arguments.iter().map(|(name, axes)| (*name, axes.as_slice())).collect();
    /// assert_eq!(ShardRules::of_arguments(&arguments).to_string(), "h.*.up[_,model]");
    /// ```
    pub fn of_arguments(arguments: &[(&str, &[Option<String>])]) -> Self {
        let mut rules: Vec<ShardRule> = Vec::new();
        for (name, axes) in arguments.iter().filter(|(_, axes)| axes.iter().any(Option::is_some)) {
            let end = axes.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            let shortest = &axes[..end];
            let is_alike = |pattern: &str| {
                let own = arguments.iter().filter(|(name, _)| matches(pattern, name));
                own.fold((0, true), |(count, alike), (_, other)| (count + 1, alike && other == axes))
            };
            let is_ruled = |rule: &ShardRule| matches(&rule.pattern, name);
            if rules.iter().any(is_ruled) {
                continue;
            }
            let general = without_numbers(name);
            let is_free = |pattern: &str| {
                // Rejects a pattern that matches an argument of another rule.
                let own = arguments.iter().filter(|(name, _)| matches(pattern, name));
                own.clone().all(|(name, _)| !rules.iter().any(|rule| matches(&rule.pattern, name)))
            };
            let (count, alike) = is_alike(&general);
            let pattern = match alike && count > 1 && is_free(&general) {
                true => general,
                false => plain(name),
            };
            rules.push(ShardRule { pattern, axes: shortest.to_vec() });
        }
        Self { rules }
    }
}

/// A pattern that matches a name, with `?` for characters that rules cannot contain.
fn plain(name: &str) -> String {
    name.chars()
        .map(|c| if matches!(c, '[' | ']' | ',' | '*') || c.is_whitespace() { '?' } else { c })
        .collect()
}

/// Replaces each number in a name with `*`.
fn without_numbers(name: &str) -> String {
    let mut pattern = String::new();
    for c in plain(name).chars() {
        match c.is_ascii_digit() {
            true if pattern.ends_with('*') => {}
            true => pattern.push('*'),
            false => pattern.push(c),
        }
    }
    pattern
}

impl fmt::Display for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, size)) in self.axes().iter().enumerate() {
            write!(f, "{}{name}={size}", if at > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Display for ShardRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, rule) in self.rules.iter().enumerate() {
            write!(f, "{}{}", if at > 0 { "," } else { "" }, rule.text())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_matches_only_what_it_is_for() {
        let model = vec![Some("model".to_string()), None];
        let none = vec![None, None];
        let rules = |arguments: &[(&str, &Vec<Option<String>>)]| {
            let arguments: Vec<_> = arguments.iter().map(|(name, axes)| (*name, axes.as_slice())).collect();
            ShardRules::of_arguments(&arguments).to_string()
        };
        assert_eq!(rules(&[("w1", &model), ("w2", &model), ("w31", &model)]), "w*[model]");
        // `w*` would also match w2, which is not sharded.
        assert_eq!(rules(&[("w1", &model), ("w2", &none), ("w3", &model)]), "w1[model],w3[model]");
        assert_eq!(rules(&[("a[0], b", &model)]), "a?0???b[model]");
        let text = rules(&[("a[0], b", &model)]);
        assert_eq!(text.parse::<ShardRules>().unwrap().to_string(), text);
        assert_eq!("a=2,b=3".parse::<Mesh>().unwrap().to_string(), "a=2,b=3");
    }
}
