//! The reasons why symbols exist, and the labels of symbols.

use std::borrow::Cow;

use super::{Origin, Symbols};
use crate::interval::Interval;
use crate::sym_expr::{Atom, Sum, SymExpr, SymbolId, Term};

/// The reason why a symbol exists, that is, why the value is neither a number nor an expression over other
/// symbols.
///
/// ```
/// # use snick::{Birth, Interval, Origin, Symbols};
/// let mut symbols = Symbols::default();
/// let count = symbols.fresh(Interval::DIM, Origin::default()).as_symbol().unwrap();
/// assert_eq!(symbols.birth(count), &Birth::Data(None));
/// symbols.set_birth(count, Birth::Data(Some("one for each element that is not 0".into())));
/// # let named = symbols.named("N", Interval::DIM, Origin::default())?.as_symbol().unwrap();
/// assert_eq!(symbols.birth(named), &Birth::Declared);
/// # Ok::<(), snick::SymbolError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Birth {
    /// An input of the model declares a dynamic size.
    Declared,
    /// The value depends on run-time data. Contains a description if there is one.
    Data(Option<Cow<'static, str>>),
    /// The value equals both expressions, which are equal in every successful run.
    Equal(Box<[SymExpr; 2]>),
    /// The size to which two dims broadcast: the dim that is not 1.
    Broadcast(Box<[SymExpr; 2]>),
    /// The value is one of two expressions, from different branches of an If, or from before and after an
    /// iteration of a loop.
    Either(Box<[SymExpr; 2]>),
    /// The value is one of several values. Contains a description.
    Merged(Cow<'static, str>),
    /// Other symbols determine the value, but no expression for it exists. Contains the reason.
    GivenUp(Cow<'static, str>),
}

impl Birth {
    /// Creates a [`Birth::Equal`].
    pub fn equal(a: &SymExpr, b: &SymExpr) -> Self {
        Self::Equal(Box::new([a.clone(), b.clone()]))
    }

    /// Creates a [`Birth::Broadcast`].
    pub fn broadcast(a: &SymExpr, b: &SymExpr) -> Self {
        Self::Broadcast(Box::new([a.clone(), b.clone()]))
    }

    /// The expressions that the reason refers to.
    #[cfg(feature = "serde")]
    pub(crate) fn parts(&self) -> &[SymExpr] {
        match self {
            Self::Equal(both) | Self::Broadcast(both) | Self::Either(both) => both.as_slice(),
            Self::Declared | Self::Data(_) | Self::Merged(_) | Self::GivenUp(_) => &[],
        }
    }

    /// Creates a [`Birth::Either`].
    pub fn either(a: &SymExpr, b: &SymExpr) -> Self {
        Self::Either(Box::new([a.clone(), b.clone()]))
    }
}

impl Symbols {
    /// An empty table for a body. The labels of its unnamed symbols include the number of the body, as in
    /// `b2_s0` for body 2, so that they differ from the labels of other tables.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// let mut symbols = Symbols::of_body(2);
    /// let unknown = symbols.fresh(Interval::DIM, Origin::default());
    /// assert_eq!(symbols.display(&unknown).to_string(), "b2_s0");
    /// assert_eq!(symbols.parse("b2_s0"), Ok(unknown));
    /// ```
    pub fn of_body(number: u32) -> Self {
        Self { body: number, ..Self::default() }
    }

    /// The number given to [`Symbols::of_body`], or 0.
    pub fn body(&self) -> u32 {
        self.body
    }

    /// Like [`Symbols::fresh`], with a reason why the symbol exists.
    ///
    /// ```
    /// # use snick::{Birth, Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let size = symbols.fresh_born(Interval::DIM, Origin::default(), || Birth::GivenUp("no rule".into()));
    /// assert_eq!(symbols.reason(size.as_symbol().unwrap()).as_deref(), Some("no rule"));
    /// ```
    pub fn fresh_born(
        &mut self,
        interval: Interval,
        origin: Origin,
        birth: impl FnOnce() -> Birth,
    ) -> SymExpr {
        let expr = self.fresh(interval, origin);
        if let Some(symbol) = expr.as_symbol() {
            self.set_birth(symbol, birth());
        }
        expr
    }

    /// The reason why a symbol exists.
    pub fn birth(&self, symbol: SymbolId) -> &Birth {
        self.get(symbol).map_or(&Birth::Data(None), |symbol| &symbol.birth)
    }

    /// Describes the reason why a symbol exists. `None` for declared symbols, and for run-time data without a
    /// description.
    ///
    /// ```
    /// # use snick::{Birth, Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let [a, b] = ["A", "B"].map(|name| symbols.named(name, Interval::DIM, Origin::default()).unwrap());
    /// let size = symbols.fresh(Interval::DIM, Origin::default()).as_symbol().unwrap();
    /// symbols.set_birth(size, Birth::broadcast(&a, &b));
    /// assert_eq!(symbols.reason(size).as_deref(), Some("broadcasts A with B"));
    /// let least = symbols.min(&a, &64.into()).unwrap();
    /// symbols.set_birth(size, Birth::broadcast(&a, &least));
    /// let reason = "broadcasts A with min(A,64); equal only while A<=64";
    /// assert_eq!(symbols.reason(size).as_deref(), Some(reason));
    /// ```
    pub fn reason(&self, symbol: SymbolId) -> Option<String> {
        let pair = |how: &str, pair: &[SymExpr; 2], and: &str| {
            let [a, b] = pair.each_ref().map(|expr| self.display(expr));
            format!("{how}{a} {and} {b}")
        };
        Some(match self.birth(symbol) {
            Birth::Declared | Birth::Data(None) => return None,
            Birth::Data(Some(words)) | Birth::Merged(words) | Birth::GivenUp(words) => words.to_string(),
            Birth::Equal(both) => pair("the common value of ", both, "and"),
            Birth::Broadcast(both) => {
                let text = pair("broadcasts ", both, "with");
                let [a, b] = both.as_ref();
                match self.while_equal(a, b).or_else(|| self.while_equal(b, a)) {
                    Some(condition) => format!("{text}; equal only while {condition}"),
                    None => text,
                }
            }
            Birth::Either(both) => pair("either ", both, "or"),
        })
    }

    /// The condition under which a minimum and another expression are equal, such as `W<=64` for `min(W,64)`
    /// and `W`.
    fn while_equal(&self, minimum: &SymExpr, other: &SymExpr) -> Option<String> {
        let sum = minimum.sum();
        let [Term { monomial, coefficient: 1 }] = sum.terms.as_slice() else { return None };
        let Some(Atom::Min(operands)) = monomial.as_atom() else { return None };
        let shift = Sum { terms: Vec::new(), constant: sum.constant };
        let shifted: Option<Vec<SymExpr>> =
            operands.iter().map(|operand| operand.sum().plus_scaled(&shift, 1)?.pack()).collect();
        let shifted = shifted?;
        let (others, least): (Vec<_>, Vec<_>) = shifted.iter().partition(|&operand| operand == other);
        let bounds: Vec<String> = least
            .into_iter()
            .map(|bound| format!("{}<={}", self.display(other), self.display(bound)))
            .collect();
        (!others.is_empty() && !bounds.is_empty()).then(|| bounds.join(" and "))
    }

    /// Sets the reason why a symbol exists.
    pub fn set_birth(&mut self, symbol: SymbolId, birth: Birth) {
        if let Some(symbol) = self.get_mut(symbol) {
            symbol.birth = birth;
        }
    }

    /// Gives an unnamed symbol of a body the label of the corresponding symbol in the outer graph.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// let mut outer = Symbols::default();
    /// # outer.fresh(Interval::DIM, Origin::default());
    /// let size = outer.fresh(Interval::DIM, Origin::default());
    /// let mut body = Symbols::of_body(1);
    /// let inside = body.fresh(Interval::DIM, Origin::default());
    /// body.set_label(inside.as_symbol().unwrap(), &outer.label(size.as_symbol().unwrap()));
    /// assert_eq!(body.display(&inside).to_string(), "s1");
    /// ```
    pub fn set_label(&mut self, symbol: SymbolId, label: &str) {
        if let Some(symbol) = self.get_mut(symbol) {
            symbol.label = Some(label.into());
        }
    }

    /// Whether a symbol got its label from the outer graph ([`Symbols::set_label`]).
    pub fn is_outer(&self, symbol: SymbolId) -> bool {
        self.get(symbol).is_some_and(|symbol| symbol.label.is_some())
    }

    /// The text of a symbol:
    ///
    /// - its name, in backticks unless it is a word
    /// - without a name, a label such as `s3`, or `s_3` if another symbol is named `s3`
    /// - `?` for a symbol of another table
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// let mut symbols = Symbols::default();
    /// let n = symbols.named("N", Interval::DIM, Origin::default())?;
    /// let unknown = symbols.fresh(Interval::DIM, Origin::default());
    /// let labels = [n, unknown].map(|expr| symbols.label(expr.as_symbol().unwrap()).into_owned());
    /// assert_eq!(labels, ["N", "s1"]);
    /// # Ok::<(), snick::SymbolError>(())
    /// ```
    pub fn label(&self, id: SymbolId) -> Cow<'_, str> {
        if let Some(name) = self.name(id) {
            return crate::sym_expr::parse::word_or_quoted(name);
        }
        let Some(symbol) = self.get(id) else { return Cow::Borrowed("?") };
        if let Some(label) = symbol.label.as_deref() {
            return Cow::Borrowed(label);
        }
        let mut label = match self.body {
            0 => format!("s{}", id.index()),
            body => format!("b{body}_s{}", id.index()),
        };
        while self.find(&label).is_some() {
            label.insert(1, '_');
        }
        Cow::Owned(label)
    }

    /// The symbol with this label.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// let mut symbols = Symbols::default();
    /// let unknown = symbols.fresh(Interval::DIM, Origin::default());
    /// assert_eq!(symbols.labelled("s0"), unknown.as_symbol());
    /// assert_eq!(symbols.labelled("s1"), None);
    /// ```
    pub fn labelled(&self, label: &str) -> Option<SymbolId> {
        if let Some(id) = self.find(label) {
            return Some(id);
        }
        let (_, digits) = label.split_at(label.trim_end_matches(|c: char| c.is_ascii_digit()).len());
        let id = digits.parse().ok().map(|index| self.id_at(index));
        let fits = |&id: &SymbolId| self.name(id).is_none() && self.label(id) == label;
        id.filter(|id| id.index() < self.len()).filter(fits).or_else(|| {
            let has_labels = self.body != 0;
            self.ids().filter(|_| has_labels).find(|&id| self.is_outer(id) && self.label(id) == label)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_a_body_find_its_own_symbols_and_outer_ones() {
        let mut body = Symbols::of_body(1);
        let ids = [0, 1, 2].map(|_| body.fresh(Interval::DIM, Origin::default()).as_symbol().unwrap());
        let [first, second, own] = ids;
        body.set_label(first, "s7");
        body.set_label(second, "s9");
        assert_eq!(ids.map(|id| body.is_outer(id)), [true, true, false]);
        assert_eq!(["s7", "s9", "b1_s2"].map(|label| body.labelled(label)), ids.map(Some));
        assert_eq!(["s2", "b1_s0", "b2_s2", "s8"].map(|label| body.labelled(label)), [None; 4]);
        assert_eq!(body.labelled("b1_s2"), Some(own));
    }
}
