//! Translates PCRE2 patterns with Unicode properties to the syntax of `fancy_regex`.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

/// `\s`. Unlike PCRE2, `fancy_regex` excludes the Mongolian vowel separator, which is added here.
const SPACE: &str = r"\s\x{180E}";
/// `\h`
const HORIZONTAL: &str = r"\t\x{20}\x{A0}\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}";
/// `\v`
const VERTICAL: &str = r"\n\x{0B}\x{0C}\r\x{85}\x{2028}\x{2029}";
/// `\w`. Unlike `fancy_regex`, PCRE2 excludes enclosing and spacing marks.
const WORD: &str = r"\p{L}\p{N}\p{Mn}\p{Pc}";
/// `$` and `\Z`, which also match before a final line break.
const END: &str = r"(?=\n?\z)";

/// A translated pattern.
pub(crate) struct Translated {
    pub pattern: String,
    /// The original number of each group. Alternatives in `(?|...)` share numbers.
    pub groups: Vec<usize>,
}

/// An open parenthesis.
struct Frame {
    /// For `(?|`: the number of groups before it, and the highest group number so far in its alternatives.
    reset: Option<(usize, usize)>,
}

struct Translator<'p> {
    rest: Peekable<Chars<'p>>,
    out: String,
    groups: Vec<usize>,
    /// The number of the last capturing group.
    number: usize,
    frames: Vec<Frame>,
    is_multi_line: bool,
}

/// Translates a pattern.
///
/// # Errors
/// A sentence about an unsupported construct.
pub(crate) fn translate(pattern: &str) -> Result<Translated, String> {
    let mut translator = Translator {
        rest: pattern.chars().peekable(),
        out: String::with_capacity(pattern.len() * 2),
        groups: Vec::new(),
        number: 0,
        frames: Vec::new(),
        is_multi_line: false,
    };
    translator.run()?;
    Ok(Translated { pattern: translator.out, groups: translator.groups })
}

impl Translator<'_> {
    fn run(&mut self) -> Result<(), String> {
        while let Some(c) = self.rest.next() {
            match c {
                '\\' => self.escape()?,
                '[' => self.class()?,
                '(' => self.open()?,
                ')' => self.close(),
                '|' => self.alternative(),
                '$' if !self.is_multi_line => self.out.push_str(END),
                '{' => self.repeat(),
                '}' | ']' => self.literal(c),
                _ => self.out.push(c),
            }
        }
        Ok(())
    }

    /// An opening parenthesis and the characters that determine its kind.
    fn open(&mut self) -> Result<(), String> {
        let mut ahead = self.rest.clone();
        let mut reset = None;
        match (ahead.next(), ahead.next(), ahead.next()) {
            (Some('*'), ..) => return Err("it has a backtracking verb".to_string()),
            (Some('?'), Some('|'), _) => {
                reset = Some((self.number, self.number));
                self.rest.nth(1);
                self.out.push_str("(?:");
            }
            (Some('?'), Some('#'), _) => {
                self.rest.find(|&c| c == ')');
                return Ok(());
            }
            (Some('?'), Some('<'), Some('=' | '!')) => self.out.push('('),
            (Some('?'), Some('<' | '\''), _) | (Some('?'), Some('P'), Some('<')) => {
                self.rest.find(|c| matches!(c, '<' | '\''));
                self.rest.find(|c| matches!(c, '>' | '\''));
                self.group();
            }
            (Some('?'), ..) => {
                let flags: String = ahead.clone().take_while(char::is_ascii_alphabetic).collect();
                let flag = self.rest.clone().nth(1);
                self.is_multi_line |=
                    flag == Some('m') || (flag.is_some_and(char::is_alphabetic) && flags.contains('m'));
                self.out.push('(');
            }
            _ => self.group(),
        }
        self.frames.push(Frame { reset });
        Ok(())
    }

    /// A capturing group.
    fn group(&mut self) {
        self.number += 1;
        self.groups.push(self.number);
        self.out.push('(');
    }

    fn close(&mut self) {
        if let Some(Frame { reset: Some((_, most)) }) = self.frames.pop() {
            self.number = self.number.max(most);
        }
        self.out.push(')');
    }

    fn alternative(&mut self) {
        if let Some(Frame { reset: Some((before, most)) }) = self.frames.last_mut() {
            *most = self.number.max(*most);
            self.number = *before;
        }
        self.out.push('|');
    }

    /// A quantifier in braces, or a literal brace.
    fn repeat(&mut self) {
        let inside: String = self.rest.clone().take_while(|&c| c != '}').collect();
        let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let (least, most) = inside.split_once(',').unwrap_or((&inside, ""));
        let closes = self.rest.clone().nth(inside.chars().count()) == Some('}');
        if closes && !least.is_empty() && is_number(least) && is_number(most) {
            self.rest.nth(inside.chars().count());
            let _ = write!(self.out, "{{{inside}}}");
        } else {
            self.literal('{');
        }
    }

    /// A literal character.
    fn literal(&mut self, c: char) {
        match c.is_ascii_alphanumeric() || !c.is_ascii() {
            true => self.out.push(c),
            false => drop(write!(self.out, "\\x{{{:02X}}}", u32::from(c))),
        }
    }

    /// An escape outside a class.
    fn escape(&mut self) -> Result<(), String> {
        let Some(&c) = self.rest.peek() else { return Err("it ends with a backslash".to_string()) };
        match c {
            'Z' => self.out.push_str(END),
            'R' => drop(write!(self.out, r"(?>\r\n|[{VERTICAL}])")),
            'N' => self.out.push_str(r"[^\n]"),
            'A' | 'z' | 'b' | 'B' | 'G' | 'K' | 'g' | 'k' => drop(write!(self.out, "\\{c}")),
            '1'..='9' => drop(write!(self.out, "\\{c}")),
            'Q' => {
                self.rest.next();
                return self.quoted();
            }
            _ => {
                let (before, negated) = (self.out.len(), c.is_ascii_uppercase());
                if self.shared_escape(false)? && !matches!(c, 'p' | 'P' | 'd' | 'D') {
                    let set = self.out.split_off(before);
                    let _ = write!(self.out, "[{}{set}]", if negated { "^" } else { "" });
                }
                return Ok(());
            }
        }
        self.rest.next();
        Ok(())
    }

    /// `\Q...\E`
    fn quoted(&mut self) -> Result<(), String> {
        while let Some(c) = self.rest.next() {
            if c == '\\' && self.rest.next_if_eq(&'E').is_some() {
                return Ok(());
            }
            self.literal(c);
        }
        Ok(())
    }

    /// Translates an escape that is also allowed in character classes. Returns whether the escape denotes a
    /// set of characters, which must be enclosed in brackets outside a class.
    fn shared_escape(&mut self, in_class: bool) -> Result<bool, String> {
        let c = self.rest.next().ok_or("it ends with a backslash")?;
        let set = match c.to_ascii_lowercase() {
            's' => SPACE,
            'h' => HORIZONTAL,
            'v' => VERTICAL,
            'w' => WORD,
            'd' => {
                let _ = write!(self.out, "\\{c}");
                return Ok(true);
            }
            'p' => {
                self.property(c);
                return Ok(true);
            }
            _ => {
                self.escaped_char(c)?;
                return Ok(false);
            }
        };
        match in_class && c.is_ascii_uppercase() {
            true => drop(write!(self.out, "[^{set}]")),
            false => self.out.push_str(set),
        }
        Ok(true)
    }

    /// `\p{...}`
    fn property(&mut self, c: char) {
        let _ = write!(self.out, "\\{c}");
        if self.rest.next_if_eq(&'{').is_some() {
            let name: String = self.rest.by_ref().take_while(|&c| c != '}').collect();
            let _ = match name.as_str() {
                "L&" => write!(self.out, "{{LC}}"),
                _ => write!(self.out, "{{{name}}}"),
            };
        } else if let Some(letter) = self.rest.next() {
            self.out.push(letter);
        }
    }

    /// An escape for a single character.
    fn escaped_char(&mut self, c: char) -> Result<(), String> {
        let code = match c {
            't' => 9,
            'n' => 10,
            'r' => 13,
            'f' => 12,
            'a' => 7,
            'e' => 27,
            'x' => self.hex()?,
            '0'..='7' => self.octal(c),
            c if c.is_ascii_alphanumeric() => return Err(format!("it has the escape \\{c}")),
            c => u32::from(c),
        };
        let c = char::from_u32(code).ok_or_else(|| format!("{code:#x} is not a character"))?;
        self.literal(c);
        Ok(())
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits: String = match self.rest.next_if_eq(&'{').is_some() {
            true => self.rest.by_ref().take_while(|&c| c != '}').collect(),
            false => {
                let mut digits = String::new();
                while let Some(c) = self.rest.next_if(|c| digits.len() < 2 && c.is_ascii_hexdigit()) {
                    digits.push(c);
                }
                digits
            }
        };
        match digits.is_empty() {
            true => Ok(0),
            false => {
                u32::from_str_radix(digits.trim(), 16).map_err(|_| format!("\\x{{{digits}}} is not a number"))
            }
        }
    }

    fn octal(&mut self, first: char) -> u32 {
        let mut code = first.to_digit(8).unwrap_or(0);
        for _ in 0..2 {
            let Some(digit) = self.rest.next_if(|c| c.is_digit(8)) else { break };
            code = code * 8 + digit.to_digit(8).unwrap_or(0);
        }
        code
    }

    /// A character class. Brackets in it are literal, and set operations are not supported.
    fn class(&mut self) -> Result<(), String> {
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut is_first = true;
        // Whether the last item can start a range.
        let mut starts = false;
        while let Some(c) = self.rest.next() {
            let is_char = match c {
                ']' if !is_first => {
                    self.out.push(']');
                    return Ok(());
                }
                '[' if self.rest.peek() == Some(&':') => {
                    self.posix()?;
                    false
                }
                '\\' => self.class_escape()?,
                '-' if starts && self.range_follows() => {
                    self.out.push('-');
                    is_first = false;
                    starts = false;
                    match self.rest.next() {
                        Some('\\') => drop(self.class_escape()?),
                        Some(end) => self.literal(end),
                        None => {}
                    }
                    continue;
                }
                c => {
                    self.literal(c);
                    true
                }
            };
            is_first = false;
            starts = is_char;
        }
        Err("a class has no end".to_string())
    }

    /// An escape in a class. Returns whether it is a single character.
    fn class_escape(&mut self) -> Result<bool, String> {
        match self.rest.peek() {
            Some('b') => {
                self.rest.next();
                self.literal('\u{8}');
                Ok(true)
            }
            _ => self.shared_escape(true).map(|is_set| !is_set),
        }
    }

    /// Whether the text after a hyphen ends a range.
    fn range_follows(&mut self) -> bool {
        let mut ahead = self.rest.clone();
        match ahead.next() {
            None | Some(']') => false,
            Some('\\') => !ahead.next().is_some_and(|c| "sShHvVwWdDpP".contains(c)),
            Some('[') => ahead.next() != Some(':'),
            Some(_) => true,
        }
    }

    /// `[:alpha:]`, with Unicode properties.
    fn posix(&mut self) -> Result<(), String> {
        self.rest.next();
        let name: String = self.rest.by_ref().take_while(|&c| c != ':').collect();
        self.rest.next_if_eq(&']');
        self.out.push_str(match name.as_str() {
            "alpha" => r"\p{L}",
            "alnum" => r"\p{L}\p{N}",
            "digit" => r"\p{Nd}",
            "lower" => r"\p{Ll}",
            "upper" => r"\p{Lu}",
            "space" => SPACE,
            "blank" => HORIZONTAL,
            "word" => WORD,
            "cntrl" => r"\p{Cc}",
            "punct" => r"\p{P}$+<=>\^`|~",
            "xdigit" => "0-9A-Fa-f",
            "ascii" => r"\x00-\x7F",
            name => return Err(format!("it has the class [:{name}:]")),
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::translate;

    #[test]
    fn what_the_syntaxes_read_differently_is_translated() {
        let is = |pattern: &str| translate(pattern).map(|t| t.pattern);
        assert_eq!(is(r"\<\|end\|\>"), Ok(r"\x{3C}\x{7C}end\x{7C}\x{3E}".to_string()));
        assert_eq!(is(r" ?\p{L}+|\pN{1,3}+"), Ok(r" ?\p{L}+|\pN{1,3}+".to_string()));
        assert_eq!(is(r"a{,x}]"), Ok(r"a\x{7B},x\x{7D}\x{5D}".to_string()));
        assert_eq!(is(r"[\[-`[&&]"), Ok(r"[\x{5B}-\x{60}\x{5B}\x{26}\x{26}]".to_string()));
        assert_eq!(
            is(r"[]a-][\s-\w]"),
            Ok(r"[\x{5D}a\x{2D}][\s\x{180E}\x{2D}\p{L}\p{N}\p{Mn}\p{Pc}]".to_string())
        );
        assert_eq!(is(r"\s+(?!\S)$"), Ok(r"[\s\x{180E}]+(?![^\s\x{180E}])(?=\n?\z)".to_string()));
        assert_eq!(is(r"(?i:'s|'t)\x{4E00}\x41"), Ok(r"(?i:'s|'t)\x{4E00}A".replace(r"\x{4E00}", "一")));
        assert!(is(r"(*SKIP)a").is_err() && is("[a").is_err() && is("\\").is_err() && is(r"\y").is_err());
    }

    #[test]
    fn alternatives_of_a_branch_reset_share_numbers() {
        let translated = translate(r"(x)(?| (a)| (b)(c))(y)").unwrap();
        assert_eq!(translated.pattern, r"(x)(?: (a)| (b)(c))(y)");
        assert_eq!(translated.groups, [1, 2, 2, 3, 4]);
        assert_eq!(translate(r"(?<n>a)(?<=b)(?:c)(d)").unwrap().groups, [1, 2]);
    }
}
