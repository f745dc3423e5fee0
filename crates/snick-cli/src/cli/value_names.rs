//! Lists of names of values, separated by commas.

/// Splits a list at its commas, but not inside known names, which may contain commas.
pub fn split_names(list: &str, is_known: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let ends = rest.match_indices(',').map(|(at, _)| at).chain([rest.len()]);
        let known = ends.clone().find(|&end| is_known(&rest[..end]));
        let end = known.or_else(|| ends.into_iter().next()).unwrap_or(rest.len());
        names.push(&rest[..end]);
        rest = rest[end..].strip_prefix(',').unwrap_or("");
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_may_contain_commas() {
        let is_known = |name: &str| ["a", "b,c", "d"].contains(&name);
        assert_eq!(split_names("a,b,c,d", is_known), ["a", "b,c", "d"]);
        assert_eq!(split_names("a,x,d", is_known), ["a", "x", "d"]);
        assert!(split_names("", is_known).is_empty());
    }
}
