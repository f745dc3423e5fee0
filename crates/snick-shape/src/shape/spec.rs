//! Shapes as written by users and in files: the notation of OpenVINO's PartialShape, extended by named
//! symbols.

use std::fmt;
use std::str::FromStr;

use crate::interval::{Interval, IntervalError};
use crate::shape::Shape;
use crate::shape::error::ShapeError;
use crate::shape::expr_spec::ExprSpec;
use crate::sym_expr::SymExpr;
use crate::sym_expr::parse::{is_word, quoted, word_or_quoted};
use crate::symbols::{Birth, Origin, Symbols};

/// One dimension as written.
///
/// ```
/// # use snick::{DimSpec, Interval};
/// let height: DimSpec = "H=16..64".parse()?;
/// assert_eq!(height, DimSpec::Symbol { name: "H".into(), interval: Interval::new(16, 64).unwrap() });
/// assert_eq!("?".parse(), Ok(DimSpec::Interval(Interval::DIM)));
/// assert_eq!(height.to_string(), "H=16..64");
/// # Ok::<(), snick::ShapeError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DimSpec {
    /// `3`, `?`, `2..4`: an interval. It becomes a new symbol if it contains several values.
    Interval(Interval),
    /// `N`, `N=1..8`: a named symbol. All uses of the name have the same value.
    Symbol {
        /// The name of the symbol.
        name: String,
        /// The possible values of the symbol; `0..` if not written.
        interval: Interval,
    },
    /// `P+T`, `H/2`: an expression over symbols.
    Expr(ExprSpec),
}

/// A shape as written, before its symbols are created.
///
/// ```
/// # use snick::{Origin, ShapeSpec, Symbols};
/// let spec: ShapeSpec = "[N, 3, H=16..64, ?]".parse()?;
/// assert_eq!(spec.to_string(), "N,3,H=16..64,?");
/// let mut symbols = Symbols::default();
/// let shape = spec.instantiate(&mut symbols, Origin::default())?;
/// assert_eq!(shape.rank(), Some(4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ShapeSpec {
    /// `[...]` or `...`.
    Unranked,
    /// The dimensions; none for a scalar, `[]`.
    Dims(Vec<DimSpec>),
}

impl ShapeSpec {
    /// Creates the shape. Dimensions with the same name share a symbol of `symbols`. Other unknown dimensions
    /// get new symbols with the given origin, with the position of the dimension added to its `axis`.
    ///
    /// # Errors
    /// [`ShapeError`] if a name has contradictory intervals, or an expression can be negative or divide by 0.
    ///
    /// ```
    /// # use snick::{Origin, ShapeSpec, Symbols};
    /// let mut symbols = Symbols::default();
    /// let shape = "N,N=2..9".parse::<ShapeSpec>()?.instantiate(&mut symbols, Origin::default())?;
    /// assert_eq!(shape.display(&symbols).to_string(), "[N,N]");
    /// assert_eq!(shape.display_intervals(&symbols).to_string(), "[2..9,2..9]");
    /// assert!("N=1".parse::<ShapeSpec>()?.instantiate(&mut symbols, Origin::default()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn instantiate(&self, symbols: &mut Symbols, origin: Origin) -> Result<Shape, ShapeError> {
        let Self::Dims(dims) = self else { return Ok(Shape::unranked()) };
        let dims = dims.iter().zip(origin.axis..);
        dims.map(|(dim, axis)| dim.instantiate(symbols, Origin { axis, ..origin })).collect()
    }
}

impl DimSpec {
    /// Creates the dimension: the symbol with this name, the expression, or a new unnamed symbol.
    ///
    /// # Errors
    /// Same as [`ShapeSpec::instantiate`].
    pub fn instantiate(&self, symbols: &mut Symbols, origin: Origin) -> Result<SymExpr, ShapeError> {
        match self {
            Self::Interval(interval) => Ok(symbols.fresh_born(*interval, origin, || Birth::Declared)),
            Self::Symbol { name, interval } => Ok(symbols.named(name, *interval, origin)?),
            Self::Expr(expr) => expr.instantiate(symbols, origin),
        }
    }
}

/// Prints the notation that [`FromStr`] parses, without brackets; a scalar prints as an empty string.
impl fmt::Display for ShapeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Dims(dims) = self else { return f.write_str("...") };
        for (i, dim) in dims.iter().enumerate() {
            write!(f, "{}{dim}", if i > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

/// Prints the notation that [`FromStr`] parses. A name that is not a word is put in backticks.
impl fmt::Display for DimSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interval(interval) => interval.fmt(f),
            Self::Symbol { name, interval } if *interval == Interval::DIM => {
                f.write_str(&word_or_quoted(name))
            }
            // The printed interval omits a lower bound of 0, as in `H=..7`. It parses back to the same
            // interval.
            Self::Symbol { name, interval } => write!(f, "{}={interval}", word_or_quoted(name)),
            Self::Expr(expr) => expr.fmt(f),
        }
    }
}

impl FromStr for ShapeSpec {
    type Err = ShapeError;

    /// Parses `[1,3,?,2..4,5..,..7]`, `-1` (as `?`), `N`, `H=32..512`, `P+T`, `[]` and `[...]`. Brackets are
    /// optional and spaces are ignored; an empty text is a scalar.
    fn from_str(text: &str) -> Result<Self, ShapeError> {
        match outer_brackets(text)? {
            "..." => Ok(Self::Unranked),
            inner => split_dims(inner)?.into_iter().map(str::parse).collect::<Result<_, _>>().map(Self::Dims),
        }
    }
}

/// The text inside the optional brackets.
pub(super) fn outer_brackets(text: &str) -> Result<&str, ShapeError> {
    let text = text.trim();
    match (text.strip_prefix('['), text.ends_with(']')) {
        (Some(rest), true) => Ok(rest.strip_suffix(']').unwrap_or(rest).trim()),
        (None, false) => Ok(text),
        _ => Err(ShapeError::Brackets(text.to_owned())),
    }
}

/// Splits at commas outside parentheses and backticks.
pub(super) fn split_dims(text: &str) -> Result<Vec<&str>, ShapeError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let (mut depth, mut is_name) = (0_usize, false);
    let dims = text.split(|c| {
        match c {
            '`' => is_name = !is_name,
            '(' if !is_name => depth += 1,
            ')' if !is_name => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0 && !is_name
    });
    let dims = dims.enumerate().map(|(index, dim)| match dim.trim() {
        "" => Err(ShapeError::EmptyDim(index)),
        "..." => Err(ShapeError::Ellipsis),
        dim => Ok(dim),
    });
    dims.collect()
}

impl FromStr for DimSpec {
    type Err = ShapeError;

    /// Parses a dimension: `3`, `?`, `2..4`, `N`, `N=2..4` or an expression such as `2*N+1`.
    fn from_str(text: &str) -> Result<Self, ShapeError> {
        let text = text.trim();
        match Self::interval_or_symbol(text) {
            Err(error) if is_expr(text) => match text.split_once('=') {
                Some((name, range)) if is_word(name.trim()) => match range.parse::<ExprSpec>() {
                    Ok(expr) => Err(ShapeError::NamedExpr { dim: text.to_owned(), expr: expr.to_string() }),
                    Err(_) => Err(error),
                },
                _ => Self::expression(text),
            },
            result => result,
        }
    }
}

/// Whether text that is neither an interval nor a symbol is meant as an expression. Only expressions contain
/// these characters, apart from the sign of a number.
fn is_expr(text: &str) -> bool {
    text.contains(['+', '*', '/', '%', '(', '`']) || text.trim_start_matches('-').contains('-')
}

impl DimSpec {
    /// Parses an expression; a number if it has no symbols.
    fn expression(text: &str) -> Result<Self, ShapeError> {
        let spec: ExprSpec = text.parse()?;
        Ok(spec.constant().map_or(Self::Expr(spec), |value| Self::Interval(Interval::exact(value))))
    }

    /// Parses `3`, `?`, `2..4`, `N` or `N=2..4`.
    fn interval_or_symbol(text: &str) -> Result<Self, ShapeError> {
        let fault = |cause| ShapeError::Dim { dim: text.to_owned(), cause };
        if let Some((name, length)) = text.starts_with('`').then(|| quoted(text)).flatten() {
            return match text.get(length..).unwrap_or_default().trim_start().strip_prefix('=') {
                None if text.len() == length => Ok(Self::Symbol { name, interval: Interval::DIM }),
                None => Err(fault(IntervalError::NotANumber(text.to_owned()))),
                Some(range) => Ok(Self::Symbol { name, interval: size(text, range)? }),
            };
        }
        let (name, range) = match text.split_once('=') {
            Some((name, range)) => (Some(name.trim()), Some(range)),
            None if is_word(text) => (Some(text), None),
            None => (None, Some(text)),
        };
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if text.contains('x') && text.split('x').all(is_number) {
            return Err(ShapeError::Separator { dim: text.to_owned(), instead: text.replace('x', ",") });
        }
        if let Some(name) = name.filter(|name| !is_word(name)) {
            return Err(fault(IntervalError::NotANumber(name.to_owned())));
        }
        let interval = range.map_or(Ok(Interval::DIM), |range| size(text, range))?;
        Ok(match name {
            Some(name) => Self::Symbol { name: name.to_owned(), interval },
            None => Self::Interval(interval),
        })
    }
}

/// Parses the interval of a dimension.
fn size(dim: &str, text: &str) -> Result<Interval, ShapeError> {
    let interval: Interval = text.parse().map_err(|cause| ShapeError::Dim { dim: dim.to_owned(), cause })?;
    if interval.lo() < 0 { Err(ShapeError::Negative(dim.to_owned())) } else { Ok(interval) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::SymbolError;

    fn parse(text: &str) -> Result<ShapeSpec, ShapeError> {
        text.parse()
    }

    fn printed(text: &str) -> String {
        let mut symbols = Symbols::default();
        let shape = parse(text).unwrap().instantiate(&mut symbols, Origin::default()).unwrap();
        shape.display(&symbols).to_string()
    }

    #[test]
    fn shapes_are_parsed() {
        assert_eq!(printed("[1,3,?,2..4,5..,..7]"), "[1,3,?,2..4,5..,..7]");
        assert_eq!(printed(" 1 , -1, [".trim_end_matches(", [")), "[1,?]");
        assert_eq!(printed("[]"), "[]");
        assert_eq!(printed("[...]"), "[...]");
        assert_eq!(printed("..."), "[...]");
        assert_eq!(printed("[N, H=32..512, N=0.., ..]"), "[N,H,N,?]");
        assert_eq!(printed("[N, N=3]"), "[N,3]");
    }

    #[test]
    fn one_name_is_one_symbol() {
        let mut symbols = Symbols::default();
        let shape = parse("N,N=2..9,N=..5").unwrap();
        let shape = shape.instantiate(&mut symbols, Origin::default()).unwrap();
        let dims = shape.dims().unwrap();
        assert!(dims[0] == dims[1] && dims[1] == dims[2]);
        assert_eq!(symbols.interval(&dims[0]), Interval::new(2, 5).unwrap());
        let conflict = parse("N=7").unwrap().instantiate(&mut symbols, Origin::default());
        assert!(matches!(conflict, Err(ShapeError::Symbol(SymbolError::Disjoint { .. }))));
    }

    #[test]
    fn errors_name_the_dimension() {
        assert!(matches!(parse("[3..1]"), Err(ShapeError::Dim { .. })));
        assert_eq!(parse("[-2]"), Err(ShapeError::Negative("-2".into())));
        assert_eq!(parse("[N=-2..3]"), Err(ShapeError::Negative("N=-2..3".into())));
        assert_eq!(parse("[1,,2]"), Err(ShapeError::EmptyDim(1)));
        assert_eq!(parse("[1,...]"), Err(ShapeError::Ellipsis));
        assert_eq!(parse("[1"), Err(ShapeError::Brackets("[1".into())));
        assert_eq!(parse("1]"), Err(ShapeError::Brackets("1]".into())));
        assert_eq!(parse("1x16").unwrap_err().to_string(), "bad dimension `1x16`; write `1,16`");
        assert_eq!(
            parse("[a b]").unwrap_err().to_string(),
            "bad dimension `a b`; write a number, a range such as `2..4`, `?` or a name"
        );
        assert!(matches!(parse("[=3]"), Err(ShapeError::Dim { .. })));
    }

    #[test]
    fn commas_in_parentheses_and_names_separate_no_dims() {
        assert_eq!(split_dims("`a,b`,3"), Ok(vec!["`a,b`", "3"]));
        assert_eq!(split_dims("max(N,2),3"), Ok(vec!["max(N,2)", "3"]));
        assert_eq!(split_dims("max((N),2),3"), Ok(vec!["max((N),2)", "3"]));
        // Parentheses within a name are part of it.
        assert_eq!(split_dims("`a(`,3"), Ok(vec!["`a(`", "3"]));
        assert_eq!(split_dims("max(`a)`,2),3"), Ok(vec!["max(`a)`,2)", "3"]));
    }
}
