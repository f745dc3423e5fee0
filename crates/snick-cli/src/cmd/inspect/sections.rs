//! Sections of a text with a limited number of lines.

use crate::cli::layout::Layout;

/// Maximum number of lines without `--all`.
const MAX_LINES: usize = 60;

/// A title and its items.
pub(super) struct Section {
    title: String,
    pub items: Vec<Item>,
    /// Whether all items are always shown.
    is_uncut: bool,
}

/// One or more lines.
pub(super) struct Item {
    pub text: String,
    /// The number of entries that the item represents.
    pub count: usize,
}

impl Section {
    /// A section whose items each represent one entry.
    pub fn new(title: &str, items: impl IntoIterator<Item = String>) -> Self {
        let items = items.into_iter().map(|text| Item { text, count: 1 });
        Self { title: title.to_string(), items: items.collect(), is_uncut: false }
    }

    /// The section with these items.
    pub fn with(self, items: impl Iterator<Item = Item>) -> Self {
        Self { items: items.collect(), ..self }
    }

    /// The section without a limit on its items.
    pub fn uncut(self) -> Self {
        Self { is_uncut: true, ..self }
    }

    /// The number of items that fit in `most` lines, and the number of lines that they take.
    fn fitting(&self, most: usize) -> (usize, usize) {
        let mut lines = 0;
        let fits = |item: &&Item| {
            lines += item.text.lines().count();
            lines <= most || self.is_uncut
        };
        let count = self.items.iter().take_while(fits).count();
        // The first item is always shown.
        let count = count.max(1).min(self.items.len());
        (count, self.items[..count].iter().map(|item| item.text.lines().count()).sum())
    }

    /// The number of lines of the section if its items take at most `most` lines.
    fn lines(&self, most: usize) -> usize {
        let (count, lines) = self.fitting(most);
        match self.items.len() {
            0 => 0,
            all => 2 + lines + usize::from(count < all),
        }
    }

    fn write(&self, most: usize, text: &mut String) {
        if self.items.is_empty() {
            return;
        }
        let (count, _) = self.fitting(most);
        let (shown, hidden) = self.items.split_at(count);
        *text += &format!("\n{}\n", self.title);
        shown.iter().for_each(|item| *text += &format!("{}\n", item.text));
        let hidden: usize = hidden.iter().map(|item| item.count).sum();
        if hidden > 0 {
            *text += &format!("  {hidden} more; --all shows all\n");
        }
    }
}

/// Writes the head and the sections. Unless `is_whole`, the items of all sections are cut to the same number
/// of lines, the largest with which the total does not exceed [`MAX_LINES`].
///
/// The last section depends on the text above it, so `last` creates it afterwards. `reserved` is the last
/// section for a text without cuts; its lines count towards the total.
pub(super) fn render(
    head: String,
    mut sections: Vec<Section>,
    reserved: Section,
    last: impl Fn(&str) -> Section,
    is_whole: bool,
    layout: Layout,
) -> String {
    for item in sections.iter_mut().flat_map(|section| &mut section.items) {
        item.text = layout.fold(&item.text).trim_end().to_string();
    }
    let used = |most: usize| {
        let all = sections.iter().chain([&reserved]).map(|section| section.lines(most));
        head.lines().count() + all.sum::<usize>()
    };
    let most = match is_whole {
        true => usize::MAX,
        false => (1..MAX_LINES).rev().find(|&most| used(most) <= MAX_LINES).unwrap_or(1),
    };
    let mut text = head;
    sections.iter().for_each(|section| section.write(most, &mut text));
    last(&text).write(most, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(title: &str, items: usize) -> Section {
        Section::new(title, (0..items).map(|at| format!("  {title} {at}")))
    }

    fn rendered(sizes: [usize; 3], is_whole: bool) -> String {
        let sections = vec![section("a", sizes[0]), section("b", sizes[1])];
        let last = |_: &str| section("c", sizes[2]);
        render("head\n".into(), sections, last(""), last, is_whole, Layout::default())
    }

    #[test]
    fn the_longest_sections_are_cut() {
        assert_eq!(rendered([1, 0, 1], false), "head\n\na\n  a 0\n\nc\n  c 0\n");
        let text = rendered([200, 3, 100], false);
        assert_eq!(text.lines().count(), 60);
        assert!(text.contains("  a 23\n  176 more; --all shows all\n\nb\n"), "{text}");
        assert!(text.contains("  b 2\n\nc\n") && text.ends_with("\n  76 more; --all shows all\n"), "{text}");
        assert_eq!(rendered([200, 3, 100], true).lines().count(), 1 + 6 + 303);
    }

    #[test]
    fn items_of_several_lines_are_whole() {
        let section = Section::new("t", ["  1\n    2".to_string(), "  3\n    4".to_string()]);
        assert_eq!((section.fitting(1), section.fitting(3), section.fitting(4)), ((1, 2), (1, 2), (2, 4)));
        assert_eq!((section.lines(3), section.lines(4)), (5, 6));
    }
}
