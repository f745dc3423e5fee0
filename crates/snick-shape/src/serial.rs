//! `Serialize` and `Deserialize`, behind the feature `serde`.
//!
//! An expression is written as its structure, with symbols by index: it is read without a table, which need not exist.
//! What is read is checked: it is sorted, its divisors are not below 1, and it is within the size limits. Shapes and
//! dimensions as written ([`ShapeSpec`], [`DimSpec`]) are their text; an unbounded end of an interval is `null`.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::axis_slice::AxisSlice;
use crate::axis_slice::bound::SliceBound;
use crate::interval::Interval;
use crate::shape::Shape;
use crate::shape::spec::{DimSpec, ShapeSpec};
use crate::sym_expr::{Atom, Monomial, Quotient, Sum, SymExpr, SymbolId, Term};
use crate::symbols::{Origin, Symbol, Symbols};

/// Implements both traits by a type that derives them.
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

/// Implements both traits by `Display` and `FromStr`.
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
serde_as!(Shape, Option<Vec<SymExpr>>);
serde_as!(AxisSlice, AxisSliceData);
serde_as!(SliceBound, SliceBoundData);
serde_as!(Symbols, SymbolsData);
serde_as_text!(DimSpec);
serde_as_text!(ShapeSpec);

/// Ends that are absent are unbounded.
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
    Symbol(u32),
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
    Symbol(u32),
    FloorDiv(Box<[ExprData; 2]>),
    Min(Vec<ExprData>),
    Max(Vec<ExprData>),
}

impl From<&SymExpr> for ExprData {
    fn from(expr: &SymExpr) -> Self {
        match expr {
            SymExpr::Const(value) => Self::Const(*value),
            SymExpr::Symbol(id) => Self::Symbol(id.0),
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
            Atom::Symbol(id) => Self::Symbol(id.0),
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
            ExprData::Symbol(id) => return Ok(Self::Symbol(SymbolId(id))),
            ExprData::Sum { terms, constant } => (terms, constant),
        };
        let terms: Vec<Term> = terms.into_iter().map(Term::try_from).collect::<Result<_, _>>()?;
        if !terms.is_sorted_by(|a, b| a.monomial < b.monomial) {
            return Err("the terms of the sum are not sorted");
        }
        Sum { terms, constant }.pack().ok_or("the expression is too large")
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
            AtomData::Symbol(id) => Ok(Self::Symbol(SymbolId(id))),
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
struct SymbolsData {
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
}

impl From<&Symbols> for SymbolsData {
    fn from(table: &Symbols) -> Self {
        let symbols = table.symbols.iter().cloned();
        let symbols = symbols.map(|Symbol { name, interval, origin, upper, .. }| SymbolData {
            name,
            interval,
            origin,
            upper,
        });
        // A direction came from an expression and is no larger.
        let refinements = table.refinements.iter().filter_map(|(direction, interval)| {
            Some((Sum { terms: direction.clone(), constant: 0 }.pack()?, *interval))
        });
        Self { symbols: symbols.collect(), refinements: refinements.collect() }
    }
}

impl TryFrom<SymbolsData> for Symbols {
    type Error = &'static str;

    fn try_from(data: SymbolsData) -> Result<Self, Self::Error> {
        let mut table = Self::default();
        for SymbolData { name, interval, origin, upper } in data.symbols {
            let id = table.push(Symbol { name: name.clone(), upper, ..Symbol::new(interval, origin) });
            if let Some(name) = name
                && table.names.insert(name, id).is_some()
            {
                return Err("two symbols have the same name");
            }
        }
        let count = table.symbols.len();
        let is_known = |expr: &SymExpr| expr.symbols().last().is_none_or(|id| id.index() < count);
        let uppers = table.symbols.iter().filter_map(|symbol| symbol.upper.as_ref());
        if !uppers.chain(data.refinements.iter().map(|(expr, _)| expr)).all(is_known) {
            return Err("an expression mentions a symbol that the table does not have");
        }
        for (expr, interval) in data.refinements {
            table.refine(&expr, interval);
        }
        Ok(table)
    }
}

impl Serialize for SymbolId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SymbolId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u32::deserialize(deserializer).map(Self)
    }
}
