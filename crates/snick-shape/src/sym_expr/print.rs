//! Prints expressions in conventional notation: `max(W-1,0)`, `(H+1)/2`, `2*N*H`.
//!
//! A sum is printed term by term, unless another form is shorter: a product (`(A+1)*(B+1)`), or the sum with
//! its constant moved into a minimum or maximum (`max(W,4)` for `max(W-4,0)+4`). The output can always be
//! parsed again.

use std::fmt;

use super::factor::Product;
use super::{Atom, Monomial, Sum, SymExpr, Term};
use crate::symbols::Symbols;

/// The maximum number of alternative forms to try while printing an expression, including its parts.
const MAX_TRIES: u32 = 64;

/// An expression together with the table that names its symbols.
pub(crate) struct Printed<'a> {
    pub symbols: &'a Symbols,
    pub expr: &'a SymExpr,
}

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.expr {
            SymExpr::Const(value) => write!(f, "{value}"),
            SymExpr::Symbol(id) => f.write_str(&self.symbols.label(*id)),
            SymExpr::Linear(linear) => {
                let mut printer = Printer { symbols: self.symbols, tries_left: MAX_TRIES };
                f.write_str(&printer.sum(&linear.sum, true).text)
            }
        }
    }
}

/// The outermost operation of a printed expression, which determines where parentheses are needed.
#[derive(Copy, Clone, PartialEq, Eq)]
enum TextKind {
    /// A name, a call or a non-negative number.
    Primary,
    /// A division.
    Quotient,
    /// Anything else.
    Sum,
}

struct Text {
    text: String,
    kind: TextKind,
}

impl Text {
    fn primary(text: String) -> Self {
        Self { text, kind: TextKind::Primary }
    }

    /// The text as an operand: adds parentheses unless it is a name, a call or a number.
    fn operand(self) -> String {
        match self.kind {
            TextKind::Primary => self.text,
            TextKind::Quotient | TextKind::Sum => format!("({})", self.text),
        }
    }
}

/// One term or product of a sum.
struct Piece {
    coefficient: i64,
    factors: Vec<Text>,
}

struct Printer<'a> {
    symbols: &'a Symbols,
    tries_left: u32,
}

impl Printer<'_> {
    fn expr(&mut self, expr: &SymExpr) -> Text {
        match expr {
            SymExpr::Const(value) if *value >= 0 => Text::primary(value.to_string()),
            SymExpr::Symbol(id) => Text::primary(self.symbols.label(*id).into_owned()),
            _ => self.sum(&expr.sum(), true),
        }
    }

    /// Prints remainders first (`W%2+H`), then the other terms. The text starts with a sign, unless the sum
    /// is positive and is the `first` part of the output.
    fn sum(&mut self, sum: &Sum, first: bool) -> Text {
        let Some((index, shorter)) = remainder(sum) else { return self.shortest(sum, first) };
        let mut text = String::from(if first { "" } else { "+" });
        if let Some(Atom::FloorDiv(quotient)) = sum.terms.get(index).and_then(|term| term.monomial.as_atom())
        {
            text += &self.expr(&quotient.dividend).operand();
            text += "%";
            text += &self.expr(&quotient.divisor).operand();
        }
        if !shorter.terms.is_empty() || shorter.constant != 0 {
            text += &self.sum(&shorter, false).text;
        }
        Text { text, kind: TextKind::Sum }
    }

    /// The first of the shortest forms of a sum.
    fn shortest(&mut self, sum: &Sum, first: bool) -> Text {
        let mut best = self.term_by_term(sum, first);
        for index in 0..sum.terms.len() {
            let Some(inside) = constant_inside(sum, index).filter(|_| self.may_try()) else { continue };
            let other = self.term_by_term(&inside, first);
            best = if other.text.len() < best.text.len() { other } else { best };
        }
        if sum.terms.len() > 1
            && self.may_try()
            && let Some(product) = Product::of(sum)
        {
            let factors = product.factors.iter().map(|factor| self.sum(factor, true)).collect();
            let piece = Piece { coefficient: product.coefficient, factors };
            let other = written(vec![piece], product.constant, first);
            best = if other.text.len() < best.text.len() { other } else { best };
        }
        best
    }

    fn may_try(&mut self) -> bool {
        let left = self.tries_left.checked_sub(1);
        self.tries_left = left.unwrap_or(0);
        left.is_some()
    }

    fn term_by_term(&mut self, sum: &Sum, first: bool) -> Text {
        let pieces = sum.terms.iter().map(|term| {
            let factors = term.monomial.0.iter().map(|atom| self.atom(atom)).collect();
            Piece { coefficient: term.coefficient, factors }
        });
        written(pieces.collect(), sum.constant, first)
    }

    fn atom(&mut self, atom: &Atom) -> Text {
        match atom {
            Atom::Symbol(id) => Text::primary(self.symbols.label(*id).into_owned()),
            Atom::FloorDiv(quotient) => {
                let [a, b] = [&quotient.dividend, &quotient.divisor].map(|expr| self.expr(expr).operand());
                Text { text: format!("{a}/{b}"), kind: TextKind::Quotient }
            }
            Atom::Min(operands) => self.call("min", operands),
            Atom::Max(operands) => self.call("max", operands),
        }
    }

    /// Prints constants last: `max(W-1,0)`.
    fn call(&mut self, name: &str, operands: &[SymExpr]) -> Text {
        let varying = operands.iter().filter(|operand| operand.as_const().is_none());
        let constant = operands.iter().filter(|operand| operand.as_const().is_some());
        let texts: Vec<String> = varying.chain(constant).map(|operand| self.expr(operand).text).collect();
        Text::primary(format!("{name}({})", texts.join(",")))
    }
}

/// Finds a remainder, `x - c*(x/c)`: the index of the division, and the rest of the sum.
fn remainder(sum: &Sum) -> Option<(usize, Sum)> {
    sum.terms.iter().enumerate().find_map(|(index, term)| {
        let Some(Atom::FloorDiv(quotient)) = term.monomial.as_atom() else { return None };
        let divisor = quotient.divisor.as_const()?;
        let rest = sum.without(index).plus_scaled(&quotient.dividend.sum(), -1)?;
        let shorter = rest.terms.len() + 1 < sum.terms.len();
        (term.coefficient.checked_neg() == Some(divisor) && shorter).then_some((index, rest))
    })
}

/// Adds the constant of the sum to the operands of the minimum or maximum in the term at `index`. Only for
/// printing, because the result is not in normal form.
fn constant_inside(sum: &Sum, index: usize) -> Option<Sum> {
    let Term { monomial, coefficient } = sum.terms.get(index)?;
    if sum.constant == 0 || sum.constant.checked_rem(*coefficient)? != 0 {
        return None;
    }
    let shift = sum.constant.checked_div(*coefficient)?;
    let shifted = |operand: &SymExpr| {
        let operand = operand.sum().into_owned().shifted(shift)?;
        // Numbers close to the extremes of i64 are not real bounds, and their differences overflow.
        (operand.constant.unsigned_abs() < 1 << 62).then(|| operand.finish())?
    };
    let atom = match monomial.as_atom()? {
        Atom::Min(operands) => Atom::Min(operands.iter().map(shifted).collect::<Option<_>>()?),
        Atom::Max(operands) => Atom::Max(operands.iter().map(shifted).collect::<Option<_>>()?),
        Atom::Symbol(_) | Atom::FloorDiv(_) => return None,
    };
    let mut inside = Sum { terms: sum.terms.clone(), constant: 0 };
    *inside.terms.get_mut(index)? = Term { monomial: Monomial::of(atom), coefficient: *coefficient };
    Some(inside)
}

/// Prints positive pieces, then negative ones, then the constant. A positive constant comes first if
/// all pieces are negative (`5-W`).
fn written(pieces: Vec<Piece>, constant: i64, mut first: bool) -> Text {
    if pieces.is_empty() && first && constant >= 0 {
        return Text::primary(constant.to_string());
    }
    let mut text = String::new();
    let mut kind = TextKind::Sum;
    if let ([Piece { coefficient: 1, factors }], 0, true) = (pieces.as_slice(), constant, first)
        && let [only] = factors.as_slice()
    {
        kind = only.kind;
    }
    let negative_only = pieces.iter().all(|piece| piece.coefficient < 0);
    let constant_leads = first && negative_only && (constant > 0 || pieces.is_empty());
    if constant_leads {
        text += &constant.to_string();
        first = false;
    }
    let (positive, negative): (Vec<_>, Vec<_>) = pieces.into_iter().partition(|piece| piece.coefficient > 0);
    for piece in positive.into_iter().chain(negative) {
        piece.write(&mut text, first);
        first = false;
    }
    if constant != 0 && !constant_leads {
        text += &format!("{constant:+}");
    }
    Text { text, kind }
}

impl Piece {
    fn write(self, into: &mut String, first: bool) {
        let is_negative = self.coefficient < 0;
        *into += match (is_negative, first) {
            (true, _) => "-",
            (false, false) => "+",
            (false, true) => "",
        };
        let size = self.coefficient.unsigned_abs();
        // `-(H/2)`: without parentheses it would parse as floor(-H / 2).
        let is_bare = size == 1 && self.factors.len() == 1 && !(is_negative && first);
        let mut factors: Vec<String> = Vec::with_capacity(self.factors.len() + 1);
        if size != 1 {
            factors.push(size.to_string());
        }
        factors.extend(self.factors.into_iter().map(|factor| match factor.kind {
            TextKind::Quotient if is_bare => factor.text,
            _ => factor.operand(),
        }));
        *into += &factors.join("*");
    }
}
