//! The text of a shape: OpenVINO's PartialShape, extended by named symbols.

use std::fmt;
use std::str::FromStr;

use crate::interval::{Interval, IntervalError};
use crate::shape::Shape;
use crate::sym_expr::SymExpr;
use crate::sym_expr::parse::is_word;
use crate::symbols::{Origin, SymbolError, Symbols};

/// Why a text is not a shape.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ShapeError {
    /// `[` without `]`, or the reverse.
    #[error("unbalanced brackets in `{0}`")]
    Brackets(String),
    /// Nothing between two commas.
    #[error("dimension {0} is empty")]
    EmptyDim(usize),
    /// `...` beside dimensions.
    #[error("`...` stands for the whole shape; remove the other dimensions")]
    Ellipsis,
    /// A dimension below 0; only `-1`, which means `?`, is allowed.
    #[error("dimension `{0}` is negative; only -1 is allowed, which means `?`")]
    Negative(String),
    /// Dimensions separated by `x`.
    #[error("bad dimension `{dim}`; write `{instead}`")]
    Separator {
        /// The text of the dimension.
        dim: String,
        /// The dimensions that it probably means.
        instead: String,
    },
    /// A dimension that is neither an interval nor a symbol.
    #[error("bad dimension `{dim}`: {cause}")]
    Dim {
        /// The text of the dimension.
        dim: String,
        /// What is wrong with it.
        cause: IntervalError,
    },
}

/// One dimension as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DimSpec {
    /// `3`, `?`, `2..4`: an interval; a new unknown unless exact.
    Interval(Interval),
    /// `N`, `N=1..8`: the same value wherever the name occurs.
    Symbol {
        /// The name of the symbol.
        name: String,
        /// The possible values; `0..` if not written.
        interval: Interval,
    },
}

/// A shape as written, before its symbols are created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ShapeSpec {
    /// `[...]` or `...`.
    Unranked,
    /// The dimensions; none for a scalar, `[]`.
    Dims(Vec<DimSpec>),
}

impl ShapeSpec {
    /// Makes the shape: named dimensions share the symbols of `symbols`, other unknown ones get new symbols.
    /// `origin.axis` counts up from the given one.
    ///
    /// # Errors
    /// [`SymbolError`] if a name is used with intervals that exclude each other.
    pub fn instantiate(&self, symbols: &mut Symbols, origin: Origin) -> Result<Shape, SymbolError> {
        let Self::Dims(dims) = self else { return Ok(Shape::unranked()) };
        let dims = dims.iter().zip(origin.axis..).map(|(dim, axis)| {
            let origin = Origin { axis, ..origin };
            match dim {
                DimSpec::Interval(interval) => Ok(symbols.fresh(*interval, origin)),
                DimSpec::Symbol { name, interval } => symbols.named(name, *interval, origin),
            }
        });
        Ok(Shape::ranked(dims.collect::<Result<Vec<SymExpr>, _>>()?))
    }
}

/// The text that [`FromStr`] parses, without brackets; a scalar is the empty text.
impl fmt::Display for ShapeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Dims(dims) = self else { return f.write_str("...") };
        for (i, dim) in dims.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            match dim {
                DimSpec::Interval(interval) => write!(f, "{comma}{interval}")?,
                DimSpec::Symbol { name, interval } if *interval == Interval::DIM => {
                    write!(f, "{comma}{name}")?
                }
                // `Display` of an interval leaves out a lower bound of 0; `H=..7` reads back just the same.
                DimSpec::Symbol { name, interval } => write!(f, "{comma}{name}={interval}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for ShapeSpec {
    type Err = ShapeError;

    /// Parses `[1,3,?,2..4,5..,..7]`, `-1` (as `?`), `N`, `H=32..512`, `[]` and `[...]`. Brackets are optional and
    /// spaces are ignored; an empty text is a scalar.
    fn from_str(text: &str) -> Result<Self, ShapeError> {
        let text = text.trim();
        let inner = match (text.strip_prefix('['), text.ends_with(']')) {
            (Some(rest), true) => rest.strip_suffix(']').unwrap_or(rest),
            (None, false) => text,
            _ => return Err(ShapeError::Brackets(text.to_owned())),
        };
        match inner.trim() {
            "" => return Ok(Self::Dims(Vec::new())),
            "..." => return Ok(Self::Unranked),
            _ => {}
        }
        let dims = inner.split(',').enumerate().map(|(index, dim)| match dim.trim() {
            "" => Err(ShapeError::EmptyDim(index)),
            "..." => Err(ShapeError::Ellipsis),
            dim => dim.parse(),
        });
        dims.collect::<Result<_, _>>().map(Self::Dims)
    }
}

impl FromStr for DimSpec {
    type Err = ShapeError;

    /// Parses one dimension: `3`, `?`, `2..4`, `N` or `N=2..4`.
    fn from_str(text: &str) -> Result<Self, ShapeError> {
        let text = text.trim();
        let (name, range) = match text.split_once('=') {
            Some((name, range)) => (Some(name.trim()), Some(range)),
            None if is_word(text) => (Some(text), None),
            None => (None, Some(text)),
        };
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if text.contains('x') && text.split('x').all(is_number) {
            return Err(ShapeError::Separator { dim: text.to_owned(), instead: text.replace('x', ",") });
        }
        let fault = |cause| ShapeError::Dim { dim: text.to_owned(), cause };
        if let Some(name) = name.filter(|name| !is_word(name)) {
            return Err(fault(IntervalError::NotANumber(name.to_owned())));
        }
        let interval = match range {
            Some(range) => range.parse::<Interval>().map_err(fault)?,
            None => Interval::DIM,
        };
        if interval.lo() < 0 {
            return Err(ShapeError::Negative(text.to_owned()));
        }
        Ok(match name {
            Some(name) => Self::Symbol { name: name.to_owned(), interval },
            None => Self::Interval(interval),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(matches!(conflict, Err(SymbolError::Disjoint { .. })));
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
        assert!(matches!(parse("[a b]"), Err(ShapeError::Dim { .. })));
        assert!(matches!(parse("[=3]"), Err(ShapeError::Dim { .. })));
    }
}
