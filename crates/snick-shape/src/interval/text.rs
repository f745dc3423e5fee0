//! Parses and prints intervals in the notation of OpenVINO's PartialShape.

use std::fmt;
use std::str::FromStr;

use super::Interval;

/// The reason why an interval could not be parsed.
///
/// ```
/// # use snick::Interval;
/// let error = "4..2".parse::<Interval>().unwrap_err();
/// assert_eq!(error.to_string(), "`4..2` is empty: the lower end exceeds the upper one");
/// ```
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IntervalError {
    /// An end is present but not a number, or exceeds 64 bits.
    #[error("`{0}` is not a 64-bit integer")]
    NotANumber(String),
    /// The lower end exceeds the upper one.
    #[error("`{0}` is empty: the lower end exceeds the upper one")]
    Empty(String),
}

impl fmt::Display for Interval {
    /// The notation of OpenVINO for dimensions: `?` for [`Interval::DIM`], `3`, `2..4`, `5..`, and `..7` for
    /// an interval that starts at 0. Intervals with negative values are not dimensions. They are printed with
    /// both ends (`-3..4`, `-3..`), and with `-inf` if there is no lower bound.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.lo, self.hi) {
            (0, i64::MAX) => f.write_str("?"),
            (lo, hi) if lo == hi => write!(f, "{lo}"),
            (i64::MIN, i64::MAX) => f.write_str("-inf.."),
            (i64::MIN, hi) => write!(f, "-inf..{hi}"),
            (0, hi) => write!(f, "..{hi}"),
            (lo, i64::MAX) => write!(f, "{lo}.."),
            (lo, hi) => write!(f, "{lo}..{hi}"),
        }
    }
}

impl FromStr for Interval {
    type Err = IntervalError;

    /// Parses the output of `Display`. In addition, `-1` and `..` mean `?`, a missing lower end means 0, and
    /// spaces are allowed around each part.
    fn from_str(text: &str) -> Result<Self, IntervalError> {
        let text = text.trim();
        let number = |part: &str| part.parse::<i64>().map_err(|_| IntervalError::NotANumber(part.to_owned()));
        let Some((lo, hi)) = text.split_once("..") else {
            return Ok(match text {
                "?" | "-1" => Self::DIM,
                _ => Self::exact(number(text)?),
            });
        };
        let lo = match lo.trim() {
            "" => 0,
            "-inf" => i64::MIN,
            lo => number(lo)?,
        };
        let hi = match hi.trim() {
            "" => i64::MAX,
            hi => number(hi)?,
        };
        Self::new(lo, hi).ok_or_else(|| IntervalError::Empty(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Interval, IntervalError> {
        text.parse()
    }

    #[test]
    fn text_round_trips() {
        for text in ["?", "3", "0", "2..4", "5..", "..7", "-3..4", "-3..", "-inf..4", "-inf.."] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_spellings_are_parsed() {
        assert_eq!(parse("-1"), Ok(Interval::DIM));
        assert_eq!(parse(".."), Ok(Interval::DIM));
        assert_eq!(parse(" 2 .. 4 "), parse("2..4"));
        assert_eq!(parse("3..3").unwrap().to_string(), "3");
    }

    #[test]
    fn errors_name_the_text() {
        assert_eq!(parse("3..1"), Err(IntervalError::Empty("3..1".into())));
        assert_eq!(parse("x"), Err(IntervalError::NotANumber("x".into())));
        assert!(matches!(parse("99999999999999999999"), Err(IntervalError::NotANumber(_))));
        assert!(parse("").is_err());
    }
}
