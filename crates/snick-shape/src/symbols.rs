//! The symbol table.

mod arithmetic;
mod birth;
mod intervals;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use birth::Birth;

use crate::interval::Interval;
use crate::sym_expr::{SymExpr, SymbolId, TableId, Term};

/// Where a symbol originates. This crate does not interpret the numbers.
///
/// ```
/// # use snick::{Interval, Origin, Symbols};
/// // Layer 7, its output 0, axis 2.
/// let origin = Origin { node: 7, port: 0, axis: 2 };
/// let mut symbols = Symbols::default();
/// let size = symbols.fresh(Interval::DIM, origin);
/// assert_eq!(symbols.origin(size.as_symbol().unwrap()), origin);
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Origin {
    /// The layer.
    pub node: u32,
    /// The output port of the layer.
    pub port: u32,
    /// The axis of the output's shape, or the index of an element of its value.
    pub axis: u32,
}

/// The reason why a symbol cannot be created.
///
/// ```
/// # use snick::{Interval, Origin, Symbols};
/// let mut symbols = Symbols::default();
/// symbols.named("N", Interval::exact(3), Origin::default())?;
/// let error = symbols.named("N", Interval::exact(4), Origin::default()).unwrap_err();
/// assert_eq!(error.to_string(), "symbol `N` is declared as `3` and as `4`, which exclude each other");
/// # Ok::<(), snick::SymbolError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SymbolError {
    /// The name is used with disjoint intervals.
    #[error("symbol `{name}` is declared as `{known}` and as `{wanted}`, which exclude each other")]
    Disjoint {
        /// The name of the symbol.
        name: String,
        /// The interval of the symbol so far.
        known: Interval,
        /// The interval of the new use.
        wanted: Interval,
    },
}

/// All symbols of a graph, and the known facts about them and about expressions over them.
///
/// Constructors of expressions return `None` if a coefficient would overflow `i64`, if the expression would
/// exceed a size limit, or if a symbol belongs to another table. Callers then use a fresh symbol. Two
/// expressions are equal if they have the same normal form.
///
/// ```
/// use snick::{Interval, Origin, Symbols};
///
/// let mut symbols = Symbols::default();
/// let height = symbols.named("H", Interval::new(32, 1024).unwrap(), Origin::default())?;
/// let tiles = symbols.ceil_div(&height, &32.into()).unwrap();
/// assert_eq!(symbols.display(&tiles).to_string(), "(H+31)/32");
/// assert_eq!(symbols.interval(&tiles).to_string(), "1..32");
/// assert_eq!(symbols.eval(&tiles, &|_| Some(640)), Some(20));
/// assert!(symbols.le(&tiles, &height));
/// # Ok::<(), snick::SymbolError>(())
/// ```
///
/// A symbol belongs to its table and to copies of that table. Other tables do not know it:
///
/// ```
/// # use snick::{Interval, Origin, Symbols};
/// let [mut rows, mut columns] = [Symbols::default(), Symbols::default()];
/// let height = rows.named("H", Interval::new(1, 8).unwrap(), Origin::default())?;
/// let width = columns.named("W", Interval::DIM, Origin::default())?;
/// assert!(!rows.owns(&width) && rows.clone().owns(&height));
/// assert_eq!(rows.add(&height, &width), None);
/// assert_eq!(rows.interval(&width), Interval::ANY);
/// assert_eq!(rows.display(&width).to_string(), "?");
/// # Ok::<(), snick::SymbolError>(())
/// ```
///
/// Clones share their contents until one of them changes.
#[derive(Clone, Default, Debug)]
pub struct Symbols {
    pub(crate) id: TableId,
    pub(crate) symbols: Arc<Vec<Symbol>>,
    pub(crate) names: Arc<BTreeMap<String, SymbolId>>,
    pub(crate) refinements: Arc<BTreeMap<Vec<Term>, Interval>>,
    /// The number of the body that the table belongs to; 0 for the graph itself.
    pub(crate) body: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Symbol {
    pub name: Option<String>,
    pub interval: Interval,
    pub origin: Origin,
    /// An expression that the symbol never exceeds.
    pub upper: Option<SymExpr>,
    pub birth: Birth,
    /// The label of an unnamed symbol, if it differs from its number.
    pub label: Option<Box<str>>,
}

impl Symbol {
    pub(crate) fn new(interval: Interval, origin: Origin) -> Self {
        Self { name: None, interval, origin, upper: None, birth: Birth::Data(None), label: None }
    }
}

impl Symbols {
    /// A new unnamed symbol in `interval`. If the interval has only one value, returns that constant instead.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let unknown = symbols.fresh(Interval::DIM, Origin::default());
    /// assert_eq!(symbols.display(&unknown).to_string(), "s0");
    /// assert_eq!(symbols.fresh(Interval::exact(4), Origin::default()), 4.into());
    /// ```
    pub fn fresh(&mut self, interval: Interval, origin: Origin) -> SymExpr {
        match interval.is_exact() {
            Some(value) => SymExpr::Const(value),
            None => SymExpr::Symbol(self.push(Symbol::new(interval, origin))),
        }
    }

    /// Like [`Symbols::fresh`], for a value that never exceeds `upper`. [`Symbols::le`] uses this bound.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// let mut symbols = Symbols::default();
    /// let all = symbols.named("N", Interval::DIM, Origin::default())?;
    /// let some = symbols.fresh_at_most(&all, Interval::DIM, Origin::default());
    /// assert!(symbols.le(&some, &all) && !symbols.le(&all, &some));
    /// let pairs = symbols.ceil_div(&some, &2.into()).unwrap();
    /// assert!(symbols.le(&pairs, &all));
    /// # Ok::<(), snick::SymbolError>(())
    /// ```
    pub fn fresh_at_most(&mut self, upper: &SymExpr, interval: Interval, origin: Origin) -> SymExpr {
        match interval.is_exact() {
            Some(value) => SymExpr::Const(value),
            None => {
                let is_useful = |upper: &&SymExpr| upper.as_const().is_none() && self.owns(upper);
                let upper = Some(upper).filter(is_useful).cloned();
                SymExpr::Symbol(self.push(Symbol { upper, ..Symbol::new(interval, origin) }))
            }
        }
    }

    /// The symbol with this name, which is created on first use. Later uses restrict its interval to the
    /// intersection with `interval`. If a single value remains, returns this constant.
    ///
    /// # Errors
    /// [`SymbolError::Disjoint`] if the intersection is empty.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let n = symbols.named("N", Interval::DIM, Origin::default())?;
    /// assert_eq!(symbols.named("N", Interval::new(1, 8).unwrap(), Origin::default())?, n);
    /// assert_eq!(symbols.interval(&n).to_string(), "1..8");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn named(&mut self, name: &str, interval: Interval, origin: Origin) -> Result<SymExpr, SymbolError> {
        let id = match self.names.get(name) {
            Some(id) => *id,
            None => {
                let named = Symbol { name: Some(name.to_owned()), ..Symbol::new(interval, origin) };
                let id = self.push(Symbol { birth: Birth::Declared, ..named });
                Arc::make_mut(&mut self.names).insert(name.to_owned(), id);
                id
            }
        };
        let known = self.symbol_interval(id);
        let met = known.meet(interval).ok_or_else(|| SymbolError::Disjoint {
            name: name.to_owned(),
            known,
            wanted: interval,
        })?;
        if met != known {
            self.narrow(id, met);
        }
        Ok(met.is_exact().map_or(SymExpr::Symbol(id), SymExpr::Const))
    }

    pub(crate) fn push(&mut self, symbol: Symbol) -> SymbolId {
        // Memory runs out first: 2^32 symbols would take about 200 GB.
        let id = self.id_at(u32::try_from(self.symbols.len()).unwrap_or(u32::MAX));
        Arc::make_mut(&mut self.symbols).push(symbol);
        id
    }

    pub(crate) fn id_at(&self, index: u32) -> SymbolId {
        SymbolId { index, table: self.id }
    }

    /// The symbol; `None` if it belongs to another table.
    pub(crate) fn get(&self, id: SymbolId) -> Option<&Symbol> {
        self.symbols.get(id.index()).filter(|_| id.table == self.id)
    }

    pub(crate) fn get_mut(&mut self, id: SymbolId) -> Option<&mut Symbol> {
        Arc::make_mut(&mut self.symbols).get_mut(id.index()).filter(|_| id.table == self.id)
    }

    /// Whether all symbols of an expression belong to this table. Constants belong to every table.
    pub fn owns(&self, expr: &SymExpr) -> bool {
        expr.table().is_none_or(|table| table == self.id)
    }

    /// Removes all symbols, so that the same graph can be inferred again. The table keeps its identity, so
    /// existing expressions refer to new symbols with the same numbers. `body` is the number given to
    /// [`Symbols::of_body`], or 0 for the graph itself.
    pub fn reset(&mut self, body: u32) {
        *self = Self { id: self.id, ..Self::of_body(body) };
    }

    fn narrow(&mut self, id: SymbolId, interval: Interval) {
        if let Some(symbol) = self.get_mut(id) {
            symbol.interval = interval;
        }
    }

    /// The symbol with this name.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// assert_eq!(symbols.find("W"), w.as_symbol());
    /// assert_eq!(symbols.find("H"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find(&self, name: &str) -> Option<SymbolId> {
        self.names.get(name).copied()
    }

    /// All symbols, in order of creation.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// assert_eq!(symbols.ids().collect::<Vec<_>>(), [w.as_symbol().unwrap()]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ids(&self) -> impl Iterator<Item = SymbolId> + use<> {
        let table = self.id;
        (0_u32..).take(self.symbols.len()).map(move |index| SymbolId { index, table })
    }

    /// The name of a symbol, if it has one.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// assert_eq!(symbols.name(w.as_symbol().unwrap()), Some("W"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(&self, symbol: SymbolId) -> Option<&str> {
        self.get(symbol)?.name.as_deref()
    }

    /// The origin of a symbol.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// assert_eq!(symbols.origin(w.as_symbol().unwrap()), Origin::default());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn origin(&self, symbol: SymbolId) -> Origin {
        self.get(symbol).map(|symbol| symbol.origin).unwrap_or_default()
    }

    /// Changes the origin of a symbol, for instance when its layer gets another number. Does nothing if the
    /// symbol belongs to another table.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let size = symbols.fresh(Interval::DIM, Origin::default()).as_symbol().unwrap();
    /// symbols.set_origin(size, Origin { node: 7, port: 0, axis: 0 });
    /// assert_eq!(symbols.origin(size).node, 7);
    /// ```
    pub fn set_origin(&mut self, symbol: SymbolId, origin: Origin) {
        if let Some(symbol) = self.get_mut(symbol) {
            symbol.origin = origin;
        }
    }

    /// The number of symbols.
    ///
    /// ```
    /// # use snick::{Interval, Origin, Symbols};
    /// # let mut symbols = Symbols::default();
    /// let w = symbols.named("W", Interval::new(1, 512).unwrap(), Origin::default())?;
    /// assert_eq!(symbols.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Whether there are no symbols.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// An expression that the symbol never exceeds, if one is known.
    pub(crate) fn upper(&self, symbol: SymbolId) -> Option<&SymExpr> {
        self.get(symbol)?.upper.as_ref()
    }

    pub(crate) fn symbol_interval(&self, id: SymbolId) -> Interval {
        self.get(id).map_or(Interval::ANY, |symbol| symbol.interval)
    }

    pub(crate) fn has_refinements(&self) -> bool {
        !self.refinements.is_empty()
    }

    pub(crate) fn refinement(&self, direction: &[Term]) -> Option<Interval> {
        self.refinements.get(direction).copied()
    }
}
