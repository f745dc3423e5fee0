//! Lays out results for a number of columns: the value of `COLUMNS`, the width of the terminal, or a default.

use std::borrow::Cow;
use std::io::IsTerminal;

/// The assumed width of pipes, and of terminals that do not report their width.
const DEFAULT_COLUMNS: usize = 80;

/// The minimum width.
const MIN_COLUMNS: usize = 40;

/// The minimum length of a shortened name.
const SHORTEST_NAME: usize = 9;

/// The number of columns for a result, and whether longer lines are shortened or broken.
#[derive(Copy, Clone, Debug)]
pub struct Layout {
    /// The width for columns and line breaks.
    pub columns: usize,
    /// Whether lines that are too long are shortened or broken. In a pipe, they are left unchanged.
    is_terminal: bool,
}

impl Default for Layout {
    /// The layout for a pipe.
    fn default() -> Self {
        Self { columns: DEFAULT_COLUMNS, is_terminal: false }
    }
}

impl Layout {
    /// The layout for a terminal with this many columns.
    #[cfg(test)]
    pub const fn terminal(columns: usize) -> Self {
        Self { columns, is_terminal: true }
    }

    /// The layout for standard output.
    pub fn of_stdout() -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let declared = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
        let columns = declared.filter(|&columns| columns > 0);
        let columns = columns.or_else(|| terminal_columns().filter(|_| is_terminal));
        Self { columns: columns.unwrap_or(DEFAULT_COLUMNS).max(MIN_COLUMNS), is_terminal }
    }

    /// Whether a line fits the terminal. In a pipe, every line fits.
    pub fn fits(&self, line: &str) -> bool {
        !self.is_terminal || width(line) <= self.columns
    }

    /// Replaces the middle of `name` with an ellipsis where it first occurs in a line, if that makes the line
    /// fit.
    pub fn shorten(&self, line: String, name: &str) -> String {
        let (length, excess) = (name.chars().count(), width(&line).saturating_sub(self.columns));
        match length.saturating_sub(excess) {
            room if self.is_terminal && excess > 0 && room >= SHORTEST_NAME => {
                line.replacen(name, &elided(name, room), 1)
            }
            _ => line,
        }
    }

    /// Breaks lines that are too long for the terminal: at spaces, or anywhere in words that are longer than
    /// a line. In a pipe, returns the text unchanged.
    pub fn fold<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if text.lines().all(|line| self.fits(line)) {
            return Cow::Borrowed(text);
        }
        let mut folded = String::with_capacity(text.len() + text.len() / 16);
        for line in text.lines() {
            self.fold_line(line, &mut folded);
        }
        Cow::Owned(folded)
    }

    fn fold_line(&self, line: &str, folded: &mut String) {
        let own = line.chars().take_while(|c| *c == ' ').count();
        let indent = (own + 4).min(self.columns / 2);
        let mut used = 0;
        for word in line.split_inclusive(' ') {
            let needed = width(word.trim_end());
            if used > indent && used + needed > self.columns && needed <= self.columns - indent {
                folded.truncate(folded.trim_end_matches(' ').len());
                *folded += &format!("\n{:indent$}", "");
                used = indent;
            }
            let mut is_escape = false;
            for (at, letter) in word.char_indices() {
                is_escape |= letter == ESCAPE;
                if is_escape {
                    folded.push(letter);
                    is_escape = letter != END_OF_ESCAPE;
                    continue;
                }
                if used == self.columns && !word[at..].trim_end().is_empty() {
                    *folded += &format!("\n{:indent$}", "");
                    used = indent;
                }
                if used < self.columns {
                    folded.push(letter);
                    used += 1;
                }
            }
        }
        folded.truncate(folded.trim_end_matches(' ').len());
        folded.push('\n');
    }

    /// The largest number of cells per row that fits, if each column of the table is as wide as its widest
    /// cell.
    pub fn in_row(&self, cells: &[String]) -> usize {
        let widths: Vec<usize> = cells.iter().map(|cell| width(cell)).collect();
        let needed = |count: usize| -> usize {
            (0..count).filter_map(|at| widths.iter().skip(at).step_by(count).max()).sum()
        };
        (1..=cells.len()).rev().find(|&count| needed(count) <= self.columns).unwrap_or(1)
    }

    /// Joins words with spaces, and breaks the text into lines that fit. Lines after the first are indented
    /// by `indent` columns; the caller has already indented the first.
    pub fn fill<'w>(&self, words: impl IntoIterator<Item = &'w str>, indent: usize) -> String {
        let (mut text, mut used) = (String::new(), indent);
        for word in words {
            let needed = width(word);
            if used > indent && used + 1 + needed > self.columns {
                text += &format!("\n{:indent$}", "");
                used = indent;
            } else if used > indent {
                text.push(' ');
                used += 1;
            }
            text += word;
            used += needed;
        }
        text
    }

    /// Breaks a formula into lines between the terms of a sum, and within a term only if it is too long for a
    /// line of its own. Lines are indented as in [`Self::fill`].
    pub fn formula(&self, formula: &str, indent: usize) -> String {
        let room = self.columns.saturating_sub(indent).max(1);
        let mut lines = vec![String::new()];
        add_terms(formula, room, &mut lines);
        lines.join(&format!("\n{:indent$}", ""))
    }
}

/// The width of a column for these texts, ignoring texts wider than `most`.
pub fn column<'t>(texts: impl IntoIterator<Item = &'t str>, most: usize) -> usize {
    texts.into_iter().map(width).filter(|&width| width <= most).max().unwrap_or_default()
}

/// The first character of an escape sequence that sets a colour.
const ESCAPE: char = '\u{1b}';

/// The last character of an escape sequence that sets a colour.
const END_OF_ESCAPE: char = 'm';

/// The number of columns that a text occupies. Escape sequences for colours occupy none.
pub fn width(text: &str) -> usize {
    let (plain, colored) = text.split_once(ESCAPE).unwrap_or((text, ""));
    let after_escape =
        |part: &str| part.split_once(END_OF_ESCAPE).map_or(0, |(_, rest)| rest.chars().count());
    plain.chars().count() + colored.split(ESCAPE).map(after_escape).sum::<usize>()
}

/// Shortens a name to `room` characters with an ellipsis in the middle.
fn elided(name: &str, room: usize) -> String {
    let length = width(name);
    if length <= room {
        return name.to_string();
    }
    let tail = room / 2;
    let head = room - tail - 1;
    let head: String = name.chars().take(head).collect();
    head + "\u{2026}" + &name.chars().skip(length - tail).collect::<String>()
}

/// Adds an expression to the last line, and starts new lines where there is no room.
fn add_terms(text: &str, room: usize, lines: &mut Vec<String>) {
    for piece in pieces(text) {
        let used = lines.last().map_or(0, |line| width(line));
        if used > 0 && used + width(piece) > room {
            lines.push(String::new());
        }
        if width(piece) <= room || pieces(piece).len() < 2 {
            if let Some(line) = lines.last_mut() {
                line.push_str(piece);
            }
        } else {
            add_terms(piece, room, lines);
        }
    }
}

/// Whether an expression has several terms.
pub fn is_sum(text: &str) -> bool {
    let mut depth = 0usize;
    text.chars().skip(1).any(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && matches!(letter, '+' | '-')
    })
}

/// Splits an expression at all of its best places for line breaks. From best to worst, these are:
/// - between the terms of a sum;
/// - between the terms of a parenthesised sum;
/// - between factors;
/// - within function arguments and parenthesised dividends.
fn pieces(text: &str) -> Vec<&str> {
    /// The nesting depth that the parentheses of a call or of a dividend add. Other parentheses add 1.
    const CALL: usize = 4;
    let mut breaks: Vec<(usize, usize)> = Vec::new();
    let (mut depth, mut opened) = (0usize, Vec::new());
    for (at, letter) in text.char_indices() {
        let (cost, at) = match letter {
            '(' => {
                let is_call = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
                let cost = if is_call || is_dividend(&text[at..]) { CALL } else { 1 };
                opened.push(cost);
                depth += cost;
                continue;
            }
            ')' => {
                depth -= opened.pop().unwrap_or_default();
                continue;
            }
            '+' | ',' => (0, at + 1),
            '-' => (0, at),
            '*' => (3, at + 1),
            _ => continue,
        };
        breaks.push((2 * depth + cost, at));
    }
    breaks.retain(|(_, at)| (1..text.len()).contains(at));
    let least = breaks.iter().map(|(cost, _)| *cost).min();
    let ends = breaks.into_iter().filter(|(cost, _)| Some(*cost) == least).map(|(_, at)| at);
    let mut start = 0;
    let piece = |end| &text[std::mem::replace(&mut start, end)..end];
    ends.chain([text.len()]).map(piece).collect()
}

/// Whether a text starts with a parenthesised expression that is followed by `/` or `%`.
fn is_dividend(text: &str) -> bool {
    let mut depth = 0usize;
    let end = text.char_indices().find(|(_, letter)| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    end.is_some_and(|(at, _)| text[at + 1..].starts_with(['/', '%']))
}

/// The width of the terminal on standard output.
fn terminal_columns() -> Option<usize> {
    let (columns, _) = terminal_size::terminal_size()?;
    Some(usize::from(columns.0)).filter(|&columns| columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMINAL: Layout = Layout::terminal(40);
    const PIPE: Layout = Layout { columns: 40, is_terminal: false };

    #[test]
    fn names_are_shortened_in_the_middle_on_a_terminal() {
        let name = "model.layers.0.self_attn.q_proj.weight";
        let line = || format!("Convolution  {name}  12:3");
        assert_eq!(TERMINAL.shorten(line(), name), "Convolution  model.laye\u{2026}roj.weight  12:3");
        assert_eq!(width(&TERMINAL.shorten(line(), name)), 40);
        assert_eq!(PIPE.shorten(line(), name), line());
        assert_eq!(TERMINAL.shorten("short".into(), "short"), "short");
    }

    #[test]
    fn long_lines_are_folded_on_a_terminal() {
        let text = format!("  short\n  why: {} {}\n", "many words ".repeat(5), "x".repeat(50));
        let folded = TERMINAL.fold(&text);
        assert!(folded.lines().all(|line| width(line) <= 40), "{folded}");
        assert!(
            folded.starts_with("  short\n  why: many words many words many words\n      many words "),
            "{folded}"
        );
        let letters = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(letters(&folded), letters(&text));
        assert_eq!(PIPE.fold(&text), text);
    }

    #[test]
    fn colors_have_no_width() {
        let text = "\u{1b}[31;1merror\u{1b}[0m: ok";
        assert_eq!(width(text), 9);
        let line = format!("{text} {}", "word ".repeat(6));
        assert_eq!(TERMINAL.fold(&line).trim_end(), line.trim_end());
        let folded = TERMINAL.fold(&format!("{text}{}", "x".repeat(35))).into_owned();
        assert_eq!(folded, format!("{text}{}\n    xxxx\n", "x".repeat(31)));
    }

    #[test]
    fn formulas_break_between_terms() {
        let formula = "12345*max((s0+1)/2-1,0)+67*s0*max((s1+1)/2-1,0)+8*s1+9";
        assert_eq!(PIPE.formula(formula, 4), "12345*max((s0+1)/2-1,0)+\n    67*s0*max((s1+1)/2-1,0)+8*s1+9");
        let product = "8*s0*(27*max((s1+1)/2-1,0)+368*max((s1+3)/4-1,0))";
        assert_eq!(PIPE.formula(product, 0), "8*s0*(27*max((s1+1)/2-1,0)+\n368*max((s1+3)/4-1,0))");
        let factors = "123456*max((s0+1)/2-1,0)*max((s1+1)/2-1,0)";
        assert_eq!(PIPE.formula(factors, 8), "123456*max((s0+1)/2-1,0)*\n        max((s1+1)/2-1,0)");
        let product = format!("8*({}{})", "11*s0+".repeat(8), 7);
        let broken = PIPE.formula(&product, 0);
        assert!(broken.lines().all(|line| width(line) <= 40), "{broken}");
        assert_eq!(broken.replace('\n', ""), product);
        assert_eq!(PIPE.formula(&"x".repeat(50), 0), "x".repeat(50));
        assert_eq!(["a*b+1", "8*(a+b)", "max(a-1,0)", "-a"].map(is_sum), [true, false, false, false]);
    }
}
