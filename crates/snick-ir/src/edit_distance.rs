//! Similarity of names, for suggestions in messages.

/// The case-insensitive Levenshtein distance: the fewest characters to insert, remove or replace.
///
/// ```
/// use snick_ir::edit_distance;
///
/// assert_eq!(edit_distance("Addd", "Add"), 1);
/// assert_eq!(edit_distance("input_ids", "Input_id"), 1);
/// ```
pub fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The known name closest to `name`, if it takes at most `few` edits or a third of the known name's length.
///
/// ```
/// use snick_ir::nearest_name;
///
/// assert_eq!(nearest_name("Convolutoin", ["Concat", "Convolution"], 0), Some("Convolution"));
/// assert_eq!(nearest_name("axs", ["axis", "mode"], 1), Some("axis"));
/// assert_eq!(nearest_name("padding", ["axis", "mode"], 2), None);
/// ```
pub fn nearest_name<'k>(name: &str, known: impl IntoIterator<Item = &'k str>, few: usize) -> Option<&'k str> {
    let nearest = known.into_iter().map(|known| (edit_distance(name, known), known)).min();
    nearest.filter(|(edits, known)| *edits <= few.max(known.len() / 3)).map(|(_, known)| known)
}

/// `; did you mean ...?` for the end of a message about an unknown name, or nothing if no known name is
/// similar.
///
/// ```
/// assert_eq!(snick_ir::did_you_mean("infr", ["infer", "run"]), "; did you mean `infer`?");
/// assert_eq!(snick_ir::did_you_mean("fly", ["infer", "run"]), "");
/// ```
pub fn did_you_mean<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    did_you_mean_or(name, known, "")
}

/// Like [`did_you_mean`], but returns `otherwise` if no known name is similar.
///
/// ```
/// use snick_ir::did_you_mean_or;
///
/// assert_eq!(did_you_mean_or("fly", ["infer", "run"], "; `help` lists all"), "; `help` lists all");
/// ```
pub fn did_you_mean_or<'k>(name: &str, known: impl IntoIterator<Item = &'k str>, otherwise: &str) -> String {
    match nearest_name(name, known, 1) {
        Some(known) => format!("; did you mean `{known}`?"),
        None => otherwise.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(edit_distance("Input", "inptu"), 2);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("abc", ""), 3);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
    }
}
