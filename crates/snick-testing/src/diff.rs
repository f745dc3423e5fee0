//! Line-by-line diffs.

use similar::TextDiff;

/// How many unchanged lines to show around changes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Context {
    /// All unchanged lines.
    All,
    /// This many lines before and after each change. The other lines are omitted. A line such as
    /// `@@ -3,7 +3,6 @@` gives the position and length of the part that follows.
    Lines(usize),
}

/// A diff in the format of `diff -u`: common lines start with a space, removed lines with `-`, and added
/// lines with `+`. Empty if the texts are equal, unless the context is [`Context::All`].
///
/// ```
/// use snick_testing::{Context, diff};
///
/// let (before, after) = ("a\nb\nc\nd\ne\n", "a\nb\nx\nd\ne\n");
/// assert_eq!(diff(before, after, Context::Lines(1)), "@@ -2,3 +2,3 @@\n b\n-c\n+x\n d\n");
/// assert_eq!(diff(before, after, Context::All), " a\n b\n-c\n+x\n d\n e\n");
/// ```
pub fn diff(before: &str, after: &str, context: Context) -> String {
    let [before, after]: [Vec<&str>; 2] = [before, after].map(|text| text.lines().collect());
    let lines = TextDiff::from_slices(&before, &after);
    match context {
        Context::All => {
            let mut out = String::new();
            for change in lines.iter_all_changes() {
                push_line(&mut out, &format!("{}{change}", change.tag()));
            }
            out
        }
        Context::Lines(lines_around) => {
            let mut unified = lines.unified_diff();
            unified.context_radius(lines_around).missing_newline_hint(false);
            let mut out = String::new();
            for hunk in unified.iter_hunks() {
                push_line(&mut out, &hunk.header().to_string());
                for change in hunk.iter_changes() {
                    push_line(&mut out, &format!("{}{change}", change.tag()));
                }
            }
            out
        }
    }
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end_matches('\n'));
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_removed_and_added_lines_are_marked() {
        assert_eq!(diff("a\nb\nc", "a\nx\nc\nd", Context::All), " a\n-b\n+x\n c\n+d\n");
        assert_eq!(diff("", "", Context::All), "");
        assert_eq!(diff("a\n", "a\n", Context::Lines(3)), "");
    }

    #[test]
    fn a_change_in_a_long_text_is_shown_alone() {
        let lines = |n: usize| (0..n).map(|i| format!("{i}\n")).collect::<String>();
        let (before, after) = (lines(20_000), lines(20_000).replace("\n15000\n", "\nnew\n"));
        let expected = "@@ -15000,3 +15000,3 @@\n 14999\n-15000\n+new\n 15001\n";
        assert_eq!(diff(&before, &after, Context::Lines(1)), expected);
    }
}
