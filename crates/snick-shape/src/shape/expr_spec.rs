//! A dimension written as an expression, before its names become symbols.

use std::fmt;
use std::str::FromStr;

use super::error::ShapeError;
use crate::interval::Interval;
use crate::sym_expr::SymExpr;
use crate::sym_expr::parse::{ExprErrorKind, names};
use crate::symbols::{Origin, Symbols};

/// A dimension written as an expression: `P+T`, `H/2`, `max(W-4,0)`.
///
/// Uses the grammar of [`Symbols::parse`], except that every word is the name of a symbol. This includes
/// words like `s0`, which elsewhere denote unnamed symbols. The bounds of a symbol are declared where it is a
/// whole dimension: `P=1..8`.
///
/// ```
/// # use snick::{ExprSpec, Origin, Symbols};
/// let total: ExprSpec = "P+T".parse()?;
/// assert_eq!(total.names(), ["P", "T"]);
/// let mut symbols = Symbols::default();
/// let total = total.instantiate(&mut symbols, Origin::default())?;
/// assert_eq!(symbols.parse("T+P"), Ok(total));
/// # Ok::<(), snick::ShapeError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExprSpec {
    text: String,
    names: Vec<String>,
}

impl ExprSpec {
    /// The names in order of first use, without duplicates.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The value of the expression, if it has no names.
    pub(super) fn constant(&self) -> Option<i64> {
        Symbols::default().parse(&self.text).ok()?.as_const()
    }

    /// Creates the expression with the symbols of the table that have these names. Missing symbols are
    /// declared as `0..`.
    ///
    /// # Errors
    /// [`ShapeError`] if the value can be negative or a divisor can be 0.
    pub fn instantiate(&self, symbols: &mut Symbols, origin: Origin) -> Result<SymExpr, ShapeError> {
        for name in &self.names {
            symbols.named(name, Interval::DIM, origin)?;
        }
        dimension(&self.text, symbols)
    }
}

/// Parses a dimension whose symbols already exist in the table.
pub(super) fn dimension(text: &str, symbols: &Symbols) -> Result<SymExpr, ShapeError> {
    let dim = || text.to_owned();
    let expr = symbols.parse(text).map_err(|cause| match cause.kind {
        ExprErrorKind::ZeroDivisor(_) => ShapeError::ZeroDivisor(dim()),
        _ => ShapeError::Expr { dim: dim(), cause },
    })?;
    let interval = symbols.interval(&expr);
    match interval.has_lower() && interval.lo() >= 0 {
        true => Ok(expr),
        false => Err(ShapeError::MaybeNegative { dim: dim(), interval }),
    }
}

impl fmt::Display for ExprSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for ExprSpec {
    type Err = ShapeError;

    /// Checks only the grammar. Whether a divisor can be 0, or the value negative, depends on the bounds of
    /// symbols that do not exist yet.
    fn from_str(text: &str) -> Result<Self, ShapeError> {
        let text = text.trim();
        let fault = |cause| ShapeError::Expr { dim: text.to_owned(), cause };
        let names = names(text).map_err(fault)?;
        let spec = Self { text: text.to_owned(), names };
        match spec.instantiate(&mut Symbols::default(), Origin::default()) {
            Err(error @ ShapeError::Expr { .. }) => Err(error),
            Err(ShapeError::MaybeNegative { dim, .. }) if spec.names.is_empty() => {
                Err(ShapeError::Negative(dim))
            }
            Err(error) if spec.names.is_empty() => Err(error),
            _ => Ok(spec),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::spec::{DimSpec, ShapeSpec};

    /// Instantiates all shapes in one table, and prints each as expressions and as intervals.
    fn instantiated(specs: &[&str]) -> Result<Vec<String>, String> {
        let mut symbols = Symbols::default();
        let shapes = specs.iter().map(|spec| {
            let spec: ShapeSpec = spec.parse().map_err(|error: ShapeError| error.to_string())?;
            assert_eq!(spec.to_string().parse(), Ok(spec.clone()));
            spec.instantiate(&mut symbols, Origin::default()).map_err(|error| error.to_string())
        });
        let shapes = shapes.collect::<Result<Vec<_>, String>>()?;
        let shown = |shape: crate::Shape| {
            format!("{} {}", shape.display(&symbols), shape.display_intervals(&symbols))
        };
        Ok(shapes.into_iter().map(shown).collect())
    }

    #[test]
    fn expressions_are_dims() {
        assert_eq!(
            instantiated(&["[B, P=1..8, 4]", "[B,P + T]", "2*N,H/2,max(W-4, 0)"]),
            Ok(["[B,P,4] [?,1..8,4]", "[B,P+T] [?,1..]", "[2*N,H/2,max(W-4,0)] [?,?,?]"]
                .map(str::to_owned)
                .to_vec())
        );
        assert_eq!(
            instantiated(&["N+1,N=3", "`a, b`*2"]),
            Ok(["[N+1,3] [4,3]", "[2*`a, b`] [?]"].map(str::to_owned).to_vec())
        );
        assert_eq!(instantiated(&["W=1..,W-1,10/W"]), Ok(vec!["[W,W-1,10/W] [1..,?,..10]".to_owned()]));
    }

    #[test]
    fn constants_are_numbers() {
        assert_eq!("2*3".parse(), Ok(DimSpec::Interval(Interval::exact(6))));
        assert_eq!("2-3".parse::<DimSpec>(), Err(ShapeError::Negative("2-3".into())));
    }

    #[test]
    fn words_are_names_of_symbols() {
        // The table prints the first unnamed dim as `s0`; in a shape `s0` is an ordinary name.
        assert_eq!(instantiated(&["?,s0+1"]), Ok(vec!["[?,s0+1] [?,1..]".to_owned()]));
    }

    #[test]
    fn errors_say_what_to_do() {
        let fault = |spec: &str| instantiated(&[spec]).unwrap_err();
        assert_eq!(
            fault("P-1"),
            "dimension `P-1` may be negative: its values are -1..; bound its symbols, such as `N=1..`, or write \
             `max(P-1,0)`"
        );
        assert_eq!(
            fault("H/W"),
            "dimension `H/W` divides by a term that may be 0; bound the symbols of the divisor, such as `N=1..`"
        );
        assert_eq!(
            fault("H=W+1"),
            "bad dimension `H=W+1`: a name takes an interval, such as `N=1..8`; write the expression alone, `W+1`"
        );
        assert_eq!(
            fault("N+"),
            "bad dimension `N+`: expected a number, a name or `(`, found the end at character 3 of `N+`"
        );
        assert_eq!(
            fault("9223372036854775807*2*N"),
            "bad dimension `9223372036854775807*2*N`: the expression is too large at character 20 of \
             `9223372036854775807*2*N`"
        );
        assert!(fault("H/0").contains("divides by a term that may be 0"));
        assert!(fault("1..2*N").contains("found `.`"));
    }
}
