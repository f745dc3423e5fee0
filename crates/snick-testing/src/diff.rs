//! The difference of two texts, line by line.

/// If there are more pairs of lines than this, both texts are shown completely.
const MAX_PAIRS: usize = 1 << 24;

/// The lines of both texts in order: common lines after two spaces, removed ones after `-`, added ones after `+`. As
/// many lines as possible are common.
pub fn diff(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let mut out = String::new();
    let mut line = |mark: &str, line: &str| {
        out.push_str(mark);
        out.push_str(line);
        out.push('\n');
    };
    // same[i][j]: the number of common lines after line i of the one and line j of the other.
    let width = new.len() + 1;
    let is_small = (old.len() + 1).saturating_mul(width) <= MAX_PAIRS;
    let mut same = vec![0u32; if is_small { (old.len() + 1) * width } else { 0 }];
    if is_small {
        for i in (0..old.len()).rev() {
            for j in (0..new.len()).rev() {
                same[i * width + j] = match old[i] == new[j] {
                    true => same[(i + 1) * width + j + 1] + 1,
                    false => same[(i + 1) * width + j].max(same[i * width + j + 1]),
                };
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if is_small && i < old.len() && j < new.len() && old[i] == new[j] {
            line("  ", old[i]);
            (i, j) = (i + 1, j + 1);
        } else if i < old.len()
            && (j == new.len() || !is_small || same[(i + 1) * width + j] >= same[i * width + j + 1])
        {
            line("- ", old[i]);
            i += 1;
        } else {
            line("+ ", new[j]);
            j += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_removed_and_added_lines_are_marked() {
        assert_eq!(diff("a\nb\nc", "a\nx\nc\nd"), "  a\n- b\n+ x\n  c\n+ d\n");
        assert_eq!(diff("", ""), "");
    }
}
