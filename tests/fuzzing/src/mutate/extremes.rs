//! Replaces each number of a text in turn by extreme ones, which a random search finds late.

use std::ops::Range;

/// The replacements.
const EXTREMES: [i64; 6] = [i64::MIN, i64::MAX, -1, 0, 1 << 31, 3];

/// Variants of a graph in text form with one integer in its attributes and elements replaced.
pub fn extremes(text: &str) -> impl Iterator<Item = String> + '_ {
    numbers(text).into_iter().flat_map(move |place| {
        let (before, number, after) = (&text[..place.start], &text[place.clone()], &text[place.end..]);
        let others =
            EXTREMES.map(|extreme| extreme.to_string()).into_iter().filter(move |other| other != number);
        others.map(move |other| [before, &other, after].concat())
    })
}

/// The positions of integers: after a brace or angle bracket in their line, and not part of a name or a
/// float.
fn numbers(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_.%~\"$-/".contains(c);
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let first = line.find(['{', '<']).unwrap_or(line.len());
        let mut at = first;
        for word in line[first..].split(|c| !is_part(c)) {
            if word.parse::<i64>().is_ok() {
                found.push(start + at..start + at + word.len());
            }
            // Separators are single bytes or do not follow numbers.
            at += word.len() + line[at + word.len()..].chars().next().map_or(0, char::len_utf8);
        }
        start += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_attributes_and_elements_are_replaced_one_by_one() {
        let text = "%x2 = Const-1 i64[2] <4, -1>\n%y = A-1(%x2) {size: 3, name: n1, real: 0.5}\n";
        let texts: Vec<String> = extremes(text).collect();
        assert_eq!(texts.len(), 3 * EXTREMES.len() - 2);
        assert_eq!(texts[0], text.replace("<4", &format!("<{}", i64::MIN)));
        assert!(texts.contains(&text.replace("size: 3", "size: 2147483648")));
        assert!(
            texts.iter().all(|text| text.contains("%x2 = Const-1 i64[2]") && text.contains("n1, real: 0.5"))
        );
    }
}
