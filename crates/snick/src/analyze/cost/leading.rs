//! The leading terms of an amount, for displays without room for the whole formula.

use std::collections::BTreeMap;

use snick_shape::{ExprFolder, ExprOp, SymExpr, SymbolId};

use super::Amount;

/// A coefficient times powers of symbols.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
/// #             %w = Const-1 f32[4,2] <1, 2, 3, 4, 5, 6, 7, 8>\n  \
/// #             %p = MatMul-1(%x, %w) {transpose_a: false, transpose_b: false}\n  %y = Result-1(%p)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer().into_result()?;
/// let cost = model.cost()?;
/// let terms = cost.macs.leading_terms(&|_| Some(100), &|_| None).unwrap();
/// assert_eq!((terms.len(), terms[0].coefficient), (1, 8.0));
/// assert_eq!(terms[0].powers, [(cost.symbols.find("N").unwrap(), 1)]);
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct LeadingTerm {
    /// The coefficient.
    pub coefficient: f64,
    /// The symbols with their exponents.
    pub powers: Vec<(SymbolId, u32)>,
}

/// Terms are listed until together they reach this share of the amount.
const SHARE: f64 = 0.95;

/// A term of the highest degree is listed if it exceeds this share of the amount.
const SMALLEST_SHARE: f64 = 0.001;

/// Maximum number of listed terms.
const MAX_LISTED: usize = 4;

/// Maximum number of terms of a polynomial.
const MAX_TERMS: usize = 1024;

impl Amount {
    /// The terms that dominate the amount for these values of symbols, largest first.
    ///
    /// - Divisions are treated as exact.
    /// - A minimum or maximum is replaced by the operand that it selects for these values.
    /// - A symbol is replaced by an expression if `meaning` returns one.
    ///
    /// `None` if a value is missing, if an amount is divided by a symbol, or if there are too many terms.
    pub fn leading_terms(
        &self,
        value: &dyn Fn(SymbolId) -> Option<i64>,
        meaning: &dyn Fn(SymbolId) -> Option<SymExpr>,
    ) -> Option<Vec<LeadingTerm>> {
        let mut folder = Folder { value, meaning };
        let parts: Option<Vec<Polynomial>> =
            self.terms.iter().map(|term| term.translate(&mut folder).ok()).collect();
        let terms = parts?.into_iter().reduce(Polynomial::plus).unwrap_or_default().0;
        let mut terms: Vec<(f64, Vec<SymbolId>, f64)> = terms
            .into_iter()
            .map(|(monomial, coefficient)| {
                Some((coefficient * folder.product(&monomial)?, monomial, coefficient))
            })
            .collect::<Option<_>>()?;
        terms.sort_by(|(a, ..), (b, ..)| b.abs().total_cmp(&a.abs()));
        let total: f64 = terms.iter().map(|(size, ..)| size.abs()).sum();
        let highest = terms.iter().map(|(_, monomial, _)| monomial.len()).max();
        let mut sum = 0.0;
        terms.retain(|(size, monomial, _)| {
            let is_leading =
                sum < SHARE * total || Some(monomial.len()) == highest && size.abs() > SMALLEST_SHARE * total;
            sum += size.abs();
            is_leading
        });
        terms.truncate(MAX_LISTED);
        let term = |(_, monomial, coefficient): (f64, Vec<SymbolId>, f64)| {
            let powers = monomial.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32));
            LeadingTerm { coefficient, powers: powers.collect() }
        };
        Some(terms.into_iter().map(term).collect())
    }
}

/// Coefficients by monomial. A monomial lists its symbols in ascending order, each repeated as often as its
/// exponent says.
#[derive(Default, Clone)]
struct Polynomial(BTreeMap<Vec<SymbolId>, f64>);

impl Polynomial {
    fn constant(value: f64) -> Self {
        Self(BTreeMap::from([(Vec::new(), value)]))
    }

    fn as_constant(&self) -> Option<f64> {
        self.0.iter().all(|(monomial, _)| monomial.is_empty()).then(|| self.0.values().sum())
    }

    fn plus(mut self, other: Self) -> Self {
        other.0.into_iter().for_each(|(monomial, more)| *self.0.entry(monomial).or_default() += more);
        self
    }

    /// The quotient, assuming that symbols are multiples of the divisor: `(N+31)/32` is `N/32`.
    fn divided_by(mut self, divisor: f64) -> Option<Self> {
        if divisor <= 0.0 {
            return None;
        }
        for (monomial, coefficient) in &mut self.0 {
            *coefficient /= divisor;
            if monomial.is_empty() {
                *coefficient = coefficient.floor();
            }
        }
        Some(self)
    }

    fn times(&self, other: &Self) -> Option<Self> {
        if self.0.len().saturating_mul(other.0.len()) > MAX_TERMS {
            return None;
        }
        let mut product = Self::default();
        for (a, by) in &self.0 {
            for (b, coefficient) in &other.0 {
                let mut monomial = [a.as_slice(), b].concat();
                monomial.sort_unstable();
                *product.0.entry(monomial).or_default() += by * coefficient;
            }
        }
        Some(product)
    }
}

/// Converts an expression to a polynomial.
struct Folder<'v> {
    value: &'v dyn Fn(SymbolId) -> Option<i64>,
    meaning: &'v dyn Fn(SymbolId) -> Option<SymExpr>,
}

impl Folder<'_> {
    fn product(&self, monomial: &[SymbolId]) -> Option<f64> {
        monomial.iter().map(|&symbol| Some((self.value)(symbol)? as f64)).product()
    }

    fn value_of(&self, polynomial: &Polynomial) -> Option<f64> {
        polynomial.0.iter().map(|(monomial, by)| Some(by * self.product(monomial)?)).sum()
    }

    /// Orders two amounts by their values for the given sizes, largest first. Of two equal amounts, one with
    /// symbols comes first.
    fn greater(&self, a: Polynomial, b: Polynomial) -> Option<[Polynomial; 2]> {
        let size = |of: &Polynomial| Some((self.value_of(of)?, of.as_constant().is_none()));
        Some(if size(&a)? >= size(&b)? { [a, b] } else { [b, a] })
    }
}

impl ExprFolder for Folder<'_> {
    type Output = Polynomial;
    type Error = ();

    fn constant(&mut self, value: i64) -> Result<Polynomial, ()> {
        Ok(Polynomial::constant(value as f64))
    }

    fn symbol(&mut self, symbol: SymbolId) -> Result<Polynomial, ()> {
        match (self.meaning)(symbol) {
            Some(meaning) => meaning.translate(self),
            None => Ok(Polynomial(BTreeMap::from([(vec![symbol], 1.0)]))),
        }
    }

    fn combine(&mut self, how: ExprOp, a: Polynomial, b: Polynomial) -> Result<Polynomial, ()> {
        let combined = match how {
            ExprOp::Add => Some(a.plus(b)),
            ExprOp::Multiply => a.times(&b),
            ExprOp::FloorDivide => b.as_constant().and_then(|divisor| a.divided_by(divisor)),
            ExprOp::Max => self.greater(a, b).map(|[greater, _]| greater),
            ExprOp::Min => self.greater(a, b).map(|[_, smaller]| smaller),
        };
        combined.ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use snick_shape::{Interval, Origin, SymExpr, Symbols};

    use super::super::Amount;

    /// The leading terms of expressions at these sizes of `B`, `H` and `W`, as text.
    fn leading(exprs: &[&str], sizes: [i64; 3]) -> Option<String> {
        let mut symbols = Symbols::default();
        let names = ["B", "H", "W"];
        let ids = names.map(|name| {
            let symbol = symbols.named(name, Interval::DIM, Origin::default()).unwrap();
            symbol.as_symbol().unwrap()
        });
        let terms: Vec<SymExpr> = exprs.iter().map(|expr| symbols.parse(expr).unwrap()).collect();
        let value = |id| Some(sizes[ids.iter().position(|&other| other == id)?]);
        let terms = Amount { terms }.leading_terms(&value, &|_| None)?;
        let text = terms.iter().map(|term| {
            let powers = term.powers.iter().map(|(id, n)| format!(" {}^{n}", symbols.label(*id)));
            format!("{}{}", term.coefficient, powers.collect::<String>())
        });
        Some(text.collect::<Vec<_>>().join(" + "))
    }

    #[test]
    fn divisions_leave_no_remainder_and_small_terms_are_dropped() {
        let image = "B*(64*max((H+1)/2-1,0)*max((W+1)/2-1,0)+64*max((H+1)/2-1,0)+7)+100";
        assert_eq!(leading(&[image], [1, 640, 640]).unwrap(), "16 B^1 H^1 W^1");
        let padded = "B*(((H+31)/32)*((W+31)/32)*2048+((H-7)/2+1)*8)";
        assert_eq!(leading(&[padded], [1, 64, 64]).unwrap(), "2 B^1 H^1 W^1");
        assert_eq!(leading(&["3*B", "5*B"], [9, 1, 1]).unwrap(), "8 B^1");
        assert_eq!(leading(&["7"], [1, 1, 1]).unwrap(), "7");
        assert_eq!(leading(&[], [1, 1, 1]).unwrap(), "");
    }

    #[test]
    fn large_terms_of_low_degree_and_the_highest_degree_stay() {
        // The weights of a language model, and its attention.
        let attention = "1000000*B*H+100*B*H*H";
        assert_eq!(leading(&[attention], [1, 128, 1]).unwrap(), "1000000 B^1 H^1 + 100 B^1 H^2");
        assert_eq!(leading(&[attention], [1, 1, 1]).unwrap(), "1000000 B^1 H^1");
    }

    #[test]
    fn extremes_are_those_of_the_example() {
        assert_eq!(leading(&["max(3*H,100)"], [1, 640, 1]).unwrap(), "3 H^1");
        assert_eq!(leading(&["max(3*H,100)"], [1, 2, 1]).unwrap(), "100");
        assert_eq!(leading(&["B*min(H,100)"], [1, 640, 1]).unwrap(), "100 B^1");
        // For a batch of one, both operands are 1. The symbol wins, because it grows with the batch.
        assert_eq!(leading(&["max(B,1)*H"], [1, 640, 1]).unwrap(), "1 B^1 H^1");
    }

    #[test]
    fn quotients_of_symbols_have_no_leading_terms() {
        assert_eq!(leading(&["H/max(W,1)"], [1, 640, 640]), None);
    }
}
