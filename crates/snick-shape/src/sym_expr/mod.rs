//! Symbolic integer expressions in normal form.
//!
//! An expression is a constant plus a sum of terms. A term is a coefficient times a *monomial*, a monomial is
//! a product of *atoms*, and an atom is a symbol, a floor division, a minimum or a maximum. Expressions are
//! only built by the normalising constructors of [`Symbols`](crate::Symbols). Therefore two expressions with
//! equal structure are the same function of their symbols, and the reverse holds in most cases.
//!
//! These types do not refer to a table. The functions of these modules receive the
//! [`Symbols`](crate::Symbols), whose intervals they use to normalise expressions.

pub(crate) mod bounds;
mod collapse;
pub(crate) mod division;
pub(crate) mod eval;
mod factor;
pub(crate) mod min_max;
pub(crate) mod normal_form;
pub(crate) mod parse;
pub(crate) mod print;
pub(crate) mod proof;
pub(crate) mod renormalize;
pub(crate) mod solve;
pub(crate) mod substitute;
mod table_id;
pub mod translate;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

pub(crate) use normal_form::Sum;
pub(crate) use table_id::TableId;

/// A symbol of a [`Symbols`](crate::Symbols) table.
///
/// ```
/// # use snick::{Interval, Origin, Symbols};
/// # let mut symbols = Symbols::default();
/// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
/// let id = w.as_symbol().unwrap();
/// assert_eq!((id.index(), symbols.name(id)), (0, Some("W")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId {
    pub(crate) index: u32,
    pub(crate) table: TableId,
}

impl fmt::Debug for SymbolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SymbolId({})", self.index)
    }
}

impl SymbolId {
    /// The index of the symbol, counted from 0 in order of creation.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// assert_eq!(w.as_symbol().unwrap().index(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn index(self) -> usize {
        self.index as usize
    }
}

/// An integer expression over symbols, in normal form.
///
/// Takes 16 bytes. Constants and bare symbols need no allocation, and clones of larger expressions share
/// memory.
///
/// ```
/// use snick::{Interval, Origin, SymExpr, Symbols};
///
/// let mut symbols = Symbols::default();
/// let w = symbols.named("W", Interval::DIM, Origin::default())?;
/// let less = symbols.sub(&w, &SymExpr::Const(1)).unwrap();
/// // Equal functions have equal normal forms.
/// assert_eq!(symbols.add(&less, &1.into()), Some(w));
/// assert_eq!(symbols.display(&less).to_string(), "W-1");
/// assert_eq!(symbols.parse("W-1"), Ok(less));
/// # Ok::<(), snick::SymbolError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SymExpr {
    /// A known number.
    Const(i64),
    /// A bare symbol.
    Symbol(SymbolId),
    /// Any other sum of terms.
    Linear(Arc<Linear>),
}

/// A sum of terms, neither a constant nor a bare symbol. Opaque; see the methods of
/// [`Symbols`](crate::Symbols).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Linear {
    pub(crate) sum: Sum,
    /// The number of nodes of the expression tree. Its limit bounds every recursion.
    pub(crate) weight: u32,
    /// The nesting depth of divisions, minima and maxima.
    pub(crate) depth: u32,
    /// The table that all symbols of the sum belong to.
    pub(crate) table: Option<TableId>,
}

/// `coefficient * monomial`; the coefficient is never 0.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Term {
    pub monomial: Monomial,
    pub coefficient: i64,
}

/// A product of one or more atoms, in ascending order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Monomial(pub SmallVec<[Atom; 1]>);

/// An expression that is not a sum or a product.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Atom {
    Symbol(SymbolId),
    FloorDiv(Arc<Quotient>),
    Min(Arc<[SymExpr]>),
    Max(Arc<[SymExpr]>),
}

/// `floor(dividend / divisor)`; the divisor is at least 1.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Quotient {
    pub dividend: SymExpr,
    pub divisor: SymExpr,
}

impl Monomial {
    pub(crate) fn of(atom: Atom) -> Self {
        Self(smallvec![atom])
    }

    /// The atom of a monomial that consists of a single atom.
    pub(crate) fn as_atom(&self) -> Option<&Atom> {
        match self.0.as_slice() {
            [atom] => Some(atom),
            _ => None,
        }
    }
}

impl SymExpr {
    /// The value of a constant expression.
    ///
    /// ```
    /// # use snick::SymExpr;
    /// assert_eq!(SymExpr::from(3).as_const(), Some(3));
    /// ```
    pub fn as_const(&self) -> Option<i64> {
        match self {
            Self::Const(value) => Some(*value),
            _ => None,
        }
    }

    /// The symbol, if the expression is just a symbol.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// assert_eq!(w.as_symbol(), symbols.find("W"));
    /// assert_eq!(symbols.parse("2*W")?.as_symbol(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_symbol(&self) -> Option<SymbolId> {
        match self {
            Self::Symbol(id) => Some(*id),
            _ => None,
        }
    }

    /// Whether the expression depends on `symbol`.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// let w = w.as_symbol().unwrap();
    /// assert!(symbols.parse("max(W-1,0)")?.mentions(w) && !symbols.parse("W-W")?.mentions(w));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mentions(&self, symbol: SymbolId) -> bool {
        self.symbols().binary_search(&symbol).is_ok()
    }

    /// The symbols that the expression depends on, ascending and without duplicates.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let area = symbols.parse_or_declare("(H+1)/2*W", Interval::DIM, Origin::default())?;
    /// let names: Vec<_> = area.symbols().into_iter().filter_map(|id| symbols.name(id)).collect();
    /// assert_eq!(names, ["H", "W"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn symbols(&self) -> Vec<SymbolId> {
        let mut found = Vec::new();
        self.collect_symbols(&mut found);
        found.sort_unstable();
        found.dedup();
        found
    }

    fn collect_symbols(&self, into: &mut Vec<SymbolId>) {
        match self {
            Self::Const(_) => {}
            Self::Symbol(id) => into.push(*id),
            Self::Linear(linear) => {
                for atom in linear.sum.terms.iter().flat_map(|term| &term.monomial.0) {
                    match atom {
                        Atom::Symbol(id) => into.push(*id),
                        Atom::FloorDiv(quotient) => {
                            quotient.dividend.collect_symbols(into);
                            quotient.divisor.collect_symbols(into);
                        }
                        Atom::Min(operands) | Atom::Max(operands) => {
                            operands.iter().for_each(|operand| operand.collect_symbols(into));
                        }
                    }
                }
            }
        }
    }

    /// The expression as a sum, borrowed if it is stored as one.
    pub(crate) fn sum(&self) -> Cow<'_, Sum> {
        match self {
            Self::Const(value) => Cow::Owned(Sum::constant(*value)),
            Self::Symbol(id) => Cow::Owned(Sum::atom(Atom::Symbol(*id))),
            Self::Linear(linear) => Cow::Borrowed(&linear.sum),
        }
    }

    pub(crate) fn weight(&self) -> u32 {
        match self {
            Self::Const(_) | Self::Symbol(_) => 1,
            Self::Linear(linear) => linear.weight,
        }
    }

    /// The table of the symbols of the expression; `None` for a constant.
    pub(crate) fn table(&self) -> Option<TableId> {
        match self {
            Self::Const(_) => None,
            Self::Symbol(id) => Some(id.table),
            Self::Linear(linear) => linear.table,
        }
    }

    pub(crate) fn depth(&self) -> u32 {
        match self {
            Self::Const(_) | Self::Symbol(_) => 0,
            Self::Linear(linear) => linear.depth,
        }
    }
}

impl From<i64> for SymExpr {
    fn from(value: i64) -> Self {
        Self::Const(value)
    }
}

impl From<SymbolId> for SymExpr {
    fn from(symbol: SymbolId) -> Self {
        Self::Symbol(symbol)
    }
}

impl From<&SymExpr> for SymExpr {
    fn from(expr: &SymExpr) -> Self {
        expr.clone()
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
