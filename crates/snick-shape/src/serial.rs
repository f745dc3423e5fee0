//! `Serialize` and `Deserialize`, behind the feature `serde`.
//!
//! An expression is serialised as its structure, and a symbol as the number of its table and its index.
//! Expressions can therefore be deserialised separately from their table and still belong to it once the
//! table is deserialised, too. [`ShapeSpec`] and [`DimSpec`] are serialised as their text, and unbounded ends
//! of an interval as `null`.
//!
//! Deserialisation checks that terms are sorted, divisors are at least 1, all symbols belong to one table,
//! and sizes are within the limits.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::axis_slice::AxisSlice;
use crate::axis_slice::bound::SliceBound;
use crate::interval::Interval;
use crate::shape::Shape;
use crate::shape::spec::{DimSpec, ShapeSpec};
use crate::sym_expr::bounds::Fact;
use crate::sym_expr::{Atom, Monomial, Quotient, Sum, SymExpr, SymbolId, TableId, Term};
use crate::symbols::{Birth, Origin, Symbol, Symbols};

/// Implements `Serialize` and `Deserialize` through a type that derives them.
macro_rules! serde_as {
    ($type:ty, $data:ty) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                <$data>::from(self).serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::try_from(<$data>::deserialize(deserializer)?).map_err(D::Error::custom)
            }
        }
    };
}

/// Implements `Serialize` and `Deserialize` through `Display` and `FromStr`.
macro_rules! serde_as_text {
    ($type:ty) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                from_text(&String::deserialize(deserializer)?)
            }
        }
    };
}

fn from_text<T: FromStr<Err: Display>, E: serde::de::Error>(text: &str) -> Result<T, E> {
    text.parse().map_err(E::custom)
}

serde_as!(Interval, IntervalData);
serde_as!(Origin, OriginData);
serde_as!(SymExpr, ExprData);
serde_as!(SymbolId, SymbolIdData);
serde_as!(Shape, Option<Vec<SymExpr>>);
serde_as!(AxisSlice, AxisSliceData);
serde_as!(SliceBound, SliceBoundData);
serde_as!(Symbols, SymbolsData);
serde_as_text!(DimSpec);
serde_as_text!(ShapeSpec);

/// An end is `None` if the interval is unbounded there.
#[derive(Serialize, Deserialize)]
struct IntervalData {
    lo: Option<i64>,
    hi: Option<i64>,
}

impl From<&Interval> for IntervalData {
    fn from(interval: &Interval) -> Self {
        Self {
            lo: interval.has_lower().then_some(interval.lo()),
            hi: interval.has_upper().then_some(interval.hi()),
        }
    }
}

impl TryFrom<IntervalData> for Interval {
    type Error = &'static str;

    fn try_from(IntervalData { lo, hi }: IntervalData) -> Result<Self, Self::Error> {
        Self::new(lo.unwrap_or(i64::MIN), hi.unwrap_or(i64::MAX)).ok_or("the interval is empty")
    }
}

#[derive(Serialize, Deserialize)]
struct OriginData {
    node: u32,
    port: u32,
    axis: u32,
}

impl From<&Origin> for OriginData {
    fn from(Origin { node, port, axis }: &Origin) -> Self {
        Self { node: *node, port: *port, axis: *axis }
    }
}

impl From<OriginData> for Origin {
    fn from(OriginData { node, port, axis }: OriginData) -> Self {
        Self { node, port, axis }
    }
}

#[derive(Serialize, Deserialize)]
struct AxisSliceData {
    start: i64,
    len: i64,
    step: i64,
}

impl From<&AxisSlice> for AxisSliceData {
    fn from(AxisSlice { start, len, step }: &AxisSlice) -> Self {
        Self { start: *start, len: *len, step: *step }
    }
}

impl From<AxisSliceData> for AxisSlice {
    fn from(AxisSliceData { start, len, step }: AxisSliceData) -> Self {
        Self { start, len, step }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SliceBoundData {
    Masked,
    At(SymExpr),
    Unknown,
}

impl From<&SliceBound> for SliceBoundData {
    fn from(bound: &SliceBound) -> Self {
        match bound {
            SliceBound::Masked => Self::Masked,
            SliceBound::At(expr) => Self::At(expr.clone()),
            SliceBound::Unknown => Self::Unknown,
        }
    }
}

impl From<SliceBoundData> for SliceBound {
    fn from(bound: SliceBoundData) -> Self {
        match bound {
            SliceBoundData::Masked => Self::Masked,
            SliceBoundData::At(expr) => Self::At(expr),
            SliceBoundData::Unknown => Self::Unknown,
        }
    }
}

impl From<&Shape> for Option<Vec<SymExpr>> {
    fn from(shape: &Shape) -> Self {
        shape.dims().map(<[SymExpr]>::to_vec)
    }
}

impl From<Option<Vec<SymExpr>>> for Shape {
    fn from(dims: Option<Vec<SymExpr>>) -> Self {
        dims.map_or(Self::unranked(), Self::ranked)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ExprData {
    Const(i64),
    Symbol(SymbolId),
    Sum { terms: Vec<TermData>, constant: i64 },
}

#[derive(Serialize, Deserialize)]
struct TermData {
    coefficient: i64,
    factors: Vec<AtomData>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AtomData {
    Symbol(SymbolId),
    FloorDiv(Box<[ExprData; 2]>),
    Min(Vec<ExprData>),
    Max(Vec<ExprData>),
}

impl From<&SymExpr> for ExprData {
    fn from(expr: &SymExpr) -> Self {
        match expr {
            SymExpr::Const(value) => Self::Const(*value),
            SymExpr::Symbol(id) => Self::Symbol(*id),
            SymExpr::Linear(linear) => {
                let terms = linear.sum.terms.iter().map(|term| TermData {
                    coefficient: term.coefficient,
                    factors: term.monomial.0.iter().map(AtomData::from).collect(),
                });
                Self::Sum { terms: terms.collect(), constant: linear.sum.constant }
            }
        }
    }
}

impl From<&Atom> for AtomData {
    fn from(atom: &Atom) -> Self {
        let all = |operands: &[SymExpr]| operands.iter().map(ExprData::from).collect();
        match atom {
            Atom::Symbol(id) => Self::Symbol(*id),
            Atom::FloorDiv(quotient) => {
                Self::FloorDiv(Box::new([(&quotient.dividend).into(), (&quotient.divisor).into()]))
            }
            Atom::Min(operands) => Self::Min(all(operands)),
            Atom::Max(operands) => Self::Max(all(operands)),
        }
    }
}

impl TryFrom<ExprData> for SymExpr {
    type Error = &'static str;

    fn try_from(data: ExprData) -> Result<Self, Self::Error> {
        let (terms, constant) = match data {
            ExprData::Const(value) => return Ok(Self::Const(value)),
            ExprData::Symbol(id) => return Ok(Self::Symbol(id)),
            ExprData::Sum { terms, constant } => (terms, constant),
        };
        let terms: Vec<Term> = terms.into_iter().map(Term::try_from).collect::<Result<_, _>>()?;
        if !terms.is_sorted_by(|a, b| a.monomial < b.monomial) {
            return Err("the terms of the sum are not sorted");
        }
        let expr = Sum { terms, constant }.pack().ok_or("the expression is too large")?;
        match expr.symbols().iter().all(|id| Some(id.table) == expr.table()) {
            true => Ok(expr),
            false => Err("the expression has symbols of several tables"),
        }
    }
}

impl TryFrom<TermData> for Term {
    type Error = &'static str;

    fn try_from(TermData { coefficient, factors }: TermData) -> Result<Self, Self::Error> {
        let atoms = factors.into_iter().map(Atom::try_from).collect::<Result<_, _>>()?;
        let monomial = Monomial(atoms);
        match coefficient {
            0 => Err("the coefficient is 0"),
            _ if monomial.0.is_empty() || !monomial.0.is_sorted() => Err("the factors are not sorted"),
            _ => Ok(Self { monomial, coefficient }),
        }
    }
}

impl TryFrom<AtomData> for Atom {
    type Error = &'static str;

    fn try_from(data: AtomData) -> Result<Self, Self::Error> {
        let all = |operands: Vec<ExprData>| match operands.len() {
            0 | 1 => Err("a minimum or maximum needs two operands"),
            _ => operands.into_iter().map(SymExpr::try_from).collect::<Result<_, _>>(),
        };
        match data {
            AtomData::Symbol(id) => Ok(Self::Symbol(id)),
            AtomData::FloorDiv(sides) => {
                let [dividend, divisor] = sides.map(SymExpr::try_from);
                let (dividend, divisor) = (dividend?, divisor?);
                match divisor.as_const() {
                    Some(..=0) => Err("the divisor is below 1"),
                    _ => Ok(Self::FloorDiv(Quotient { dividend, divisor }.into())),
                }
            }
            AtomData::Min(operands) => Ok(Self::Min(all(operands)?)),
            AtomData::Max(operands) => Ok(Self::Max(all(operands)?)),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SymbolIdData {
    /// The number of the table, and the index of the symbol.
    OfTable(u32, u32),
    /// The index of a symbol whose table has no number.
    Index(u32),
}

impl From<&SymbolId> for SymbolIdData {
    fn from(SymbolId { index, table }: &SymbolId) -> Self {
        Self::OfTable(table.0, *index)
    }
}

impl From<SymbolIdData> for SymbolId {
    fn from(data: SymbolIdData) -> Self {
        let (table, index) = match data {
            SymbolIdData::OfTable(table, index) => (table, index),
            SymbolIdData::Index(index) => (UNNUMBERED, index),
        };
        Self { index, table: TableId(table) }
    }
}

/// The table id of symbols that were serialised without one. All such symbols are treated as symbols of one
/// table.
const UNNUMBERED: u32 = 0;

#[derive(Serialize, Deserialize)]
struct SymbolsData {
    #[serde(default)]
    table: u32,
    /// The number of the body; 0 for the graph itself.
    #[serde(default)]
    body: u32,
    symbols: Vec<SymbolData>,
    /// Expressions and their intervals.
    refinements: Vec<(SymExpr, Interval)>,
}

#[derive(Serialize, Deserialize)]
struct SymbolData {
    name: Option<String>,
    interval: Interval,
    origin: Origin,
    /// An expression that the symbol never exceeds.
    upper: Option<SymExpr>,
    /// `None` if the data contains no reason for the symbol.
    birth: Option<Birth>,
    /// The label of an unnamed symbol, if it differs from its number.
    label: Option<Box<str>>,
}

impl From<&Symbols> for SymbolsData {
    fn from(table: &Symbols) -> Self {
        let symbols = table.symbols.iter().cloned();
        let symbols = symbols.map(|Symbol { name, interval, origin, upper, birth, label }| SymbolData {
            name,
            interval,
            origin,
            upper,
            birth: Some(birth),
            label,
        });
        // Packing cannot fail: a direction is derived from an expression within the limits and is not larger
        // than it.
        let refinements = table.refinements.iter().filter_map(|(direction, interval)| {
            Some((Sum { terms: direction.clone(), constant: 0 }.pack()?, *interval))
        });
        Self {
            table: table.id.0,
            body: table.body,
            symbols: symbols.collect(),
            refinements: refinements.collect(),
        }
    }
}

impl TryFrom<SymbolsData> for Symbols {
    type Error = &'static str;

    fn try_from(data: SymbolsData) -> Result<Self, Self::Error> {
        let mut table = Self { id: TableId(data.table), ..Self::of_body(data.body) };
        for SymbolData { name, interval, origin, upper, birth, label } in data.symbols {
            let birth = birth.unwrap_or(if name.is_some() { Birth::Declared } else { Birth::Data(None) });
            let id = table.push(Symbol { name: name.clone(), interval, origin, upper, birth, label });
            if let Some(name) = name
                && Arc::make_mut(&mut table.names).insert(name, id).is_some()
            {
                return Err("two symbols have the same name");
            }
        }
        let parts = table.symbols.iter().flat_map(|symbol| symbol.upper.iter().chain(symbol.birth.parts()));
        let refined = data.refinements.iter().map(|(expr, _)| expr);
        let is_known = |expr: &SymExpr| expr.symbols().iter().all(|&id| table.get(id).is_some());
        if !parts.chain(refined).all(is_known) {
            return Err("an expression mentions a symbol that the table does not have");
        }
        for (expr, interval) in data.refinements {
            // The refinement was checked before it was serialised, so it is not compared with the other facts
            // again.
            let fact = Fact::new(&expr, interval).ok_or("a constant is refined")?;
            Arc::make_mut(&mut table.refinements).insert(fact.direction, fact.interval);
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again<T: Serialize + for<'de> Deserialize<'de>>(value: &T) -> T {
        serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
    }

    /// A table with a symbol for each kind of [`Birth`].
    fn table() -> Symbols {
        let mut symbols = Symbols::of_body(3);
        let [a, b] = ["A", "not a word"]
            .map(|name| symbols.named(name, Interval::new(1, 512).unwrap(), Origin::default()).unwrap());
        let least = symbols.min(&a, &64.into()).unwrap();
        for birth in [
            Birth::Data(None),
            Birth::Data(Some("one for each element that is not 0".into())),
            Birth::equal(&a, &b),
            Birth::broadcast(&a, &least),
            Birth::either(&least, &b),
            Birth::Merged("the largest of all".into()),
            Birth::GivenUp("no rule".into()),
        ] {
            symbols.fresh_born(Interval::DIM, Origin { node: 7, port: 1, axis: 2 }, || birth);
        }
        let labelled = symbols.fresh_at_most(&b, Interval::DIM, Origin::default());
        symbols.set_label(labelled.as_symbol().unwrap(), "s5");
        let gap = symbols.sub(&b, &a).unwrap();
        symbols.refine(&gap, Interval::DIM);
        symbols
    }

    #[test]
    fn a_table_is_read_without_loss() {
        let written = table();
        let read = again(&written);
        assert_eq!((read.body(), read.len()), (written.body(), written.len()));
        for id in written.ids() {
            assert_eq!(read.birth(id), written.birth(id));
            assert_eq!(read.reason(id), written.reason(id));
            assert_eq!((read.name(id), read.label(id)), (written.name(id), written.label(id)));
            assert_eq!((read.is_outer(id), read.origin(id)), (written.is_outer(id), written.origin(id)));
            assert_eq!(
                (read.upper(id), read.symbol_interval(id)),
                (written.upper(id), written.symbol_interval(id))
            );
        }
        assert_eq!((&read.refinements, &read.names), (&written.refinements, &written.names));
        assert_eq!(serde_json::to_string(&read).unwrap(), serde_json::to_string(&written).unwrap());
    }

    #[test]
    fn expressions_belong_to_the_table_that_is_read_with_them() {
        let mut written = table();
        let expr = written.parse("max(A-5,0)").unwrap();
        let (read, same) = again(&(written.clone(), expr.clone()));
        assert_eq!((&same, read.display(&same).to_string()), (&expr, "max(A-5,0)".to_string()));
        // A new table with equal symbols is still a different table.
        written = table();
        assert!(read.owns(&same) && !written.owns(&same));
        assert_eq!(written.add(&same, &1.into()), None);
    }

    #[test]
    fn symbols_of_two_tables_are_not_read_as_one_expression() {
        let [a, b] = [0, 1]
            .map(|index| format!("{{\"coefficient\":1,\"factors\":[{{\"symbol\":[{index},{index}]}}]}}"));
        let sum = format!("{{\"sum\":{{\"terms\":[{a},{b}],\"constant\":0}}}}");
        assert!(serde_json::from_str::<SymExpr>(&sum).unwrap_err().is_data());
        assert!(serde_json::from_str::<SymExpr>(&sum.replace("[1,1]", "[0,1]")).is_ok());
        let text = serde_json::to_string(&table()).unwrap();
        let foreign = text.replacen(
            "\"refinements\":[[{\"sum\"",
            "\"refinements\":[[{\"symbol\":[0,0]},{\"lo\":0,\"hi\":1}],[{\"sum\"",
            1,
        );
        assert_ne!(foreign, text);
        assert!(serde_json::from_str::<Symbols>(&foreign).is_err());
    }
}
