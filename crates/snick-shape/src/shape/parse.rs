//! Parses shapes printed by [`Shape::display`].

use super::error::ShapeError;
use super::spec::{DimSpec, outer_brackets, split_dims};
use super::{Shape, expr_spec};
use crate::sym_expr::SymExpr;
use crate::symbols::{Origin, Symbols};

impl Shape {
    /// Parses a shape with expressions. Accepts the notation of [`ShapeSpec`](crate::ShapeSpec), and
    /// dimensions like `2*H+1` over symbols of the table or of earlier dimensions. A name that is a whole
    /// dimension is declared if the table does not contain it. New symbols get the given origin, with the
    /// position of the dimension added to its `axis`.
    ///
    /// Also parses the output of [`Shape::display`], in which unnamed symbols appear as intervals. Each of
    /// these becomes a new symbol.
    ///
    /// # Errors
    /// [`ShapeError`] for the first invalid dimension. Names declared before this dimension remain in the
    /// table.
    ///
    /// ```
    /// use snick::{Origin, Shape, Symbols};
    ///
    /// let mut symbols = Symbols::default();
    /// let shape = Shape::parse("[N, 3, H=16..64, (H+1)/2]", &mut symbols, Origin::default())?;
    /// assert_eq!(shape.display(&symbols).to_string(), "[N,3,H,(H+1)/2]");
    /// assert_eq!(shape.display_intervals(&symbols).to_string(), "[?,3,16..64,8..32]");
    /// let error = Shape::parse("[2*C]", &mut symbols, Origin::default()).unwrap_err();
    /// assert_eq!(error.to_string(), "bad dimension `2*C`: unknown symbol `C` at character 3 of `2*C`");
    /// # Ok::<(), snick::ShapeError>(())
    /// ```
    pub fn parse(text: &str, symbols: &mut Symbols, origin: Origin) -> Result<Self, ShapeError> {
        let inner = outer_brackets(text)?;
        if inner == "..." {
            return Ok(Self::unranked());
        }
        let dims = split_dims(inner)?.into_iter().zip(origin.axis..);
        dims.map(|(dim, axis)| dimension(dim, symbols, Origin { axis, ..origin })).collect()
    }
}

fn dimension(text: &str, symbols: &mut Symbols, origin: Origin) -> Result<SymExpr, ShapeError> {
    match text.parse::<DimSpec>()? {
        DimSpec::Expr(_) => expr_spec::dimension(text, symbols),
        spec => spec.instantiate(symbols, origin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, String> {
        let mut symbols = Symbols::default();
        let shape = Shape::parse(text, &mut symbols, Origin::default()).map_err(|error| error.to_string())?;
        let shown = shape.display(&symbols).to_string();
        let again = Shape::parse(&shown, &mut symbols, Origin::default()).unwrap();
        assert_eq!(again.display(&symbols).to_string(), shown);
        Ok(shown)
    }

    #[test]
    fn shapes_have_expressions() {
        assert_eq!(parse("N, W=1.., max(W-4, 0), W-1, ?, 2..9"), Ok("[N,W,max(W-4,0),W-1,?,2..9]".into()));
        assert_eq!(parse("[]"), Ok("[]".into()));
        assert_eq!(parse(" [...] "), Ok("[...]".into()));
        assert_eq!(parse("[`a, b`=2..3, 2*`a, b`]"), Ok("[`a, b`,2*`a, b`]".into()));
    }

    #[test]
    fn errors_name_the_dimension() {
        let fault = |text| parse(text).unwrap_err();
        assert_eq!(
            fault("[N,N-1]"),
            "dimension `N-1` may be negative: its values are -1..; bound its symbols, such as `N=1..`, or write `max(N-1,0)`"
        );
        assert_eq!(
            fault("[N,2*]"),
            "bad dimension `2*`: expected a number, a name or `(`, found the end at character 3 of `2*`"
        );
        assert_eq!(fault("[-2]"), "dimension `-2` is negative; only -1 is allowed, which means `?`");
        assert_eq!(
            fault("[N=2..3,N=5..]"),
            "symbol `N` is declared as `2..3` and as `5..`, which exclude each other"
        );
        assert_eq!(fault("[3..x]"), "bad dimension `3..x`: `x` is not a 64-bit integer");
        assert_eq!(fault("[1,,2]"), "dimension 1 is empty");
    }
}
