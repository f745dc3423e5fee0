//! Simple case folding, which maps each character to one character.

/// The simple case folding of a character, as defined by Unicode.
pub(crate) fn fold(c: char) -> char {
    match c {
        'A'..='Z' => c.to_ascii_lowercase(),
        '\0'..='\x7f' => c,
        // Outside Turkic languages, the dotless i does not fold. Cherokee letters fold to capitals.
        'ı' => c,
        '\u{13A0}'..='\u{13F5}' => c,
        '\u{13F8}'..='\u{13FD}' | '\u{AB70}'..='\u{ABBF}' => single(c.to_uppercase()).unwrap_or(c),
        // Mapping to the capital letter first unifies all forms of a letter, such as the final sigma, the
        // long s and the Kelvin sign.
        _ => {
            let capital = single(c.to_uppercase()).unwrap_or(c);
            single(capital.to_lowercase()).unwrap_or(c)
        }
    }
}

/// The only item of the iterator; `None` if there are none or several.
fn single(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let first = chars.next();
    first.filter(|_| chars.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn forms_of_a_letter_fold_to_one() {
        let pairs = [('Ä', 'ä'), ('ς', 'σ'), ('ſ', 's'), ('K', 'k'), ('ẞ', 'ß'), ('ß', 'ß'), ('ı', 'ı')];
        let more = [
            ('İ', 'İ'),
            ('ᾈ', 'ᾀ'),
            ('Ꭰ', 'Ꭰ'),
            ('ꭰ', 'Ꭰ'),
            ('\u{1C5}', '\u{1C6}'),
            ('µ', 'μ'),
            ('中', '中'),
        ];
        for (from, to) in pairs.into_iter().chain(more) {
            assert_eq!(fold(from), to, "{from}");
        }
    }
}
