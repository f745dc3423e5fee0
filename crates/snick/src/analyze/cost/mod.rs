//! The cost of a run: multiply-accumulates, operations and memory, as numbers or as expressions of symbols.

mod leading;
mod ledger;
mod memory;
mod scratch;
mod trips;
mod work;

use std::collections::HashSet;
use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use snick_ir::{Graph, Loc, NodeId, Op, OpTraits};
use snick_shape::{SymExpr, SymbolId, Symbols};

pub use self::leading::LeadingTerm;
use self::ledger::Ledger;
use super::serial;
use super::symbols::{Symbol, words};
use crate::{Error, Model};

/// A count: a number, or an expression of symbols.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Amount {
    /// The terms of a sum. There are several only if the sum is too large for one expression.
    terms: Vec<SymExpr>,
}

impl From<u64> for Amount {
    fn from(number: u64) -> Self {
        Self { terms: vec![i64::try_from(number).unwrap_or(i64::MAX).into()] }
    }
}

impl Amount {
    /// The number, if the amount contains no symbol.
    pub fn number(&self) -> Option<u64> {
        self.terms.iter().try_fold(0u64, |sum, term| sum.checked_add(u64::try_from(term.as_const()?).ok()?))
    }

    /// Displays the amount with the symbols of [`ModelCost::symbols`]. It serialises as a number if it
    /// contains no symbol.
    pub fn display<'a>(&'a self, symbols: &'a Symbols) -> impl fmt::Display + Serialize + 'a {
        Shown { amount: self, symbols }
    }

    /// Evaluates the amount for these values of symbols; `None` if a value is missing.
    pub fn at(&self, symbols: &Symbols, value: &dyn Fn(SymbolId) -> Option<i64>) -> Option<u64> {
        let values = self.terms.iter().map(|term| u64::try_from(symbols.eval(term, value)?).ok());
        values.into_iter().try_fold(0u64, |sum, value| sum.checked_add(value?))
    }
}

/// An amount with the names of its symbols.
struct Shown<'a> {
    amount: &'a Amount,
    symbols: &'a Symbols,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(number) = self.amount.number() {
            return write!(f, "{number}");
        }
        for (at, term) in self.amount.terms.iter().enumerate() {
            write!(f, "{}{}", if at > 0 { "+" } else { "" }, self.symbols.display(term))?;
        }
        Ok(())
    }
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.amount.number() {
            Some(number) => serializer.serialize_u64(number),
            None => serializer.collect_str(self),
        }
    }
}

/// The cost of a layer in one run, over all iterations of its body.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct LayerCost {
    /// The layer.
    pub name: String,
    /// Its operation type.
    pub op: String,
    /// The location of the layer in the file.
    pub loc: Loc,
    /// Multiply-accumulates.
    pub macs: Amount,
    /// Floating-point or integer operations, two for each multiply-accumulate.
    pub flops: Amount,
    /// Bytes of its outputs.
    pub bytes: Amount,
}

/// The cost of a run of a model.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
/// #             %w = Const-1 f32[4,2] <1, 2, 3, 4, 5, 6, 7, 8>\n  \
/// #             %p = MatMul-1(%x, %w) {transpose_a: false, transpose_b: false}\n  %y = Result-1(%p)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer().into_result()?;
/// let cost = model.cost()?;
/// // N rows of 4 by a matrix of 4 x 2.
/// assert_eq!(cost.macs.display(&cost.symbols).to_string(), "8*N");
/// assert_eq!((cost.parameters, cost.weights_bytes), (8, 32));
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModelCost {
    /// The symbols of all amounts.
    pub symbols: Symbols,
    /// The number of elements of all constants. Excludes integers of more than 8 bits, which usually are
    /// shapes and indices.
    pub parameters: u64,
    /// The bytes of all constants.
    pub weights_bytes: u64,
    /// Multiply-accumulates of matrix products, convolutions, recurrent layers and attention.
    pub macs: Amount,
    /// Arithmetic operations: two for each multiply-accumulate, and one for each output element of other
    /// layers that compute.
    pub flops: Amount,
    /// Bytes of all values that layers compute from the inputs; views count as zero.
    pub activation_bytes: Amount,
    /// Elements of the same values, including views. A run with this much fuel
    /// ([`Limits::fuel`](crate::Limits)) completes. Some runs need less, because several layers that are
    /// fused into one step count once.
    pub fuel: Amount,
    /// Peak bytes of the values in memory, without inputs.
    pub peak_bytes: Amount,
    /// Bytes that variables hold after a run.
    pub state_bytes: Amount,
    /// The layers with a cost, including layers of bodies, in order.
    pub layers: Vec<LayerCost>,
    /// Symbols of the amounts that occur in no shape of the model. Their values are only known at run time.
    pub unknowns: Vec<Symbol>,
    /// Notes on the accuracy of the amounts.
    pub notes: Vec<String>,
}

/// Serialized in the format of `cost --format json`.
impl Serialize for ModelCost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Layers<'c>(&'c ModelCost);
        impl Serialize for Layers<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                #[derive(Serialize)]
                struct Layer<'c> {
                    name: &'c str,
                    op: &'c str,
                    #[serde(serialize_with = "serial::loc", skip_serializing_if = "serial::is_nowhere")]
                    loc: Loc,
                    macs: Shown<'c>,
                    flops: Shown<'c>,
                    bytes: Shown<'c>,
                }
                serializer.collect_seq(self.0.layers.iter().map(|layer| {
                    let LayerCost { name, op, loc, .. } = layer;
                    let [macs, flops, bytes] = [&layer.macs, &layer.flops, &layer.bytes]
                        .map(|amount| Shown { amount, symbols: &self.0.symbols });
                    Layer { name, op, loc: *loc, macs, flops, bytes }
                }))
            }
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("parameters", &self.parameters)?;
        map.serialize_entry("weights_bytes", &self.weights_bytes)?;
        for (key, amount) in self.totals() {
            map.serialize_entry(key, &amount.display(&self.symbols))?;
        }
        map.serialize_entry("layers", &Layers(self))?;
        map.serialize_entry("notes", &self.notes)?;
        map.end()
    }
}

impl ModelCost {
    /// The totals of the run, each with the name of its field.
    pub fn totals(&self) -> [(&'static str, &Amount); 6] {
        [
            ("macs", &self.macs),
            ("flops", &self.flops),
            ("activation_bytes", &self.activation_bytes),
            ("peak_bytes", &self.peak_bytes),
            ("state_bytes", &self.state_bytes),
            ("fuel", &self.fuel),
        ]
    }

    /// All symbols that occur in a text about the costs, from [`Model::symbols_in`] and
    /// [`ModelCost::unknowns`].
    pub fn symbols_in(&self, model: &Model, text: &str) -> Vec<Symbol> {
        let words: HashSet<&str> = words(text).collect();
        let unknowns = self.unknowns.iter().filter(|symbol| words.contains(symbol.name.as_str()));
        model.symbols_in(text).into_iter().chain(unknowns.cloned()).collect()
    }
}

impl Model {
    /// The cost of a run. Call [`Model::infer`] first.
    ///
    /// # Errors
    /// The graph has a cycle, so it cannot run.
    pub fn cost(&self) -> Result<ModelCost, Error> {
        self.graph().order()?;
        let mut count = Count { ledger: Ledger::new(self.graph()), ..Count::default() };
        let one = SymExpr::from(1);
        count.graph(self.graph(), &one);
        let state_bytes = count.states(self.graph());
        let peak_bytes = memory::peak(self.graph(), &mut count.ledger);
        let Count { ledger, layers, fuel, parameters, weights } = count;
        let sum = |of: fn(&LayerCost) -> &Amount| {
            let mut total = Amount::default();
            layers.iter().for_each(|layer| ledger.add(&mut total, of(layer)));
            total
        };
        let (macs, flops) = (sum(|layer| &layer.macs), sum(|layer| &layer.flops));
        let activation_bytes = sum(|layer| &layer.bytes);
        Ok(ModelCost {
            macs,
            flops,
            activation_bytes,
            fuel,
            peak_bytes,
            state_bytes,
            parameters,
            weights_bytes: weights,
            layers,
            unknowns: ledger.unknowns,
            notes: ledger.notes,
            symbols: ledger.symbols,
        })
    }
}

/// The costs counted so far.
#[derive(Default)]
struct Count {
    ledger: Ledger,
    layers: Vec<LayerCost>,
    fuel: Amount,
    parameters: u64,
    weights: u64,
}

impl Count {
    /// Adds the cost of a graph that runs this many times.
    fn graph(&mut self, graph: &Graph, times: &SymExpr) {
        let varies = varying(graph);
        for id in graph.ids() {
            let node = graph.node(id);
            if let Op::Const(constant) = node.op() {
                let count = constant.dims().iter().fold(1usize, |n, &d| n.saturating_mul(d));
                let element_type = constant.element_type();
                let bytes = element_type.byte_len(count).unwrap_or_default();
                self.weights = self.weights.saturating_add(bytes as u64);
                if element_type.is_float() || element_type.bit_width().is_some_and(|bits| bits <= 8) {
                    self.parameters = self.parameters.saturating_add(count as u64);
                }
            }
            if varies.contains(&id) {
                self.layer(graph, id, times);
            }
            let trips = trips::of(graph, id, &mut self.ledger);
            for (_, body) in node.op().bodies() {
                let times = self.ledger.product([times, &trips]);
                self.graph(body, &times);
            }
        }
    }

    fn layer(&mut self, graph: &Graph, id: NodeId, times: &SymExpr) {
        let node = graph.node(id);
        let work = work::of(graph, id, &mut self.ledger);
        let bytes = match memory::is_view(graph, id) || matches!(node.op(), Op::Parameter(_) | Op::Assign(_))
        {
            true => Amount::default(),
            false => self.ledger.bytes_of_outputs(graph, id),
        };
        let scaled = |ledger: &mut Ledger, amount: Amount| {
            let terms = amount.terms.iter().map(|term| ledger.product([term, times])).collect();
            Amount { terms }
        };
        let fuel = self.fuel(graph, id);
        let [macs, flops, bytes, fuel] =
            [work.macs, work.flops, bytes, fuel].map(|amount| scaled(&mut self.ledger, amount));
        self.ledger.add(&mut self.fuel, &fuel);
        if [&macs, &flops, &bytes].iter().any(|amount| amount.number() != Some(0)) {
            let (name, op) = (node.name().to_string(), node.op().type_name().to_string());
            self.layers.push(LayerCost { name, op, loc: node.loc(), macs, flops, bytes });
        }
    }

    /// The elements of the outputs of a layer; an empty output counts as one.
    fn fuel(&mut self, graph: &Graph, id: NodeId) -> Amount {
        let node = graph.node(id);
        let mut total = Amount::default();
        if matches!(node.op(), Op::Parameter(_)) {
            return total;
        }
        for out in node.outs() {
            let elements = self.ledger.elements(graph, id, &out.fact);
            let at_least_one = self.ledger.symbols.max(&elements, &SymExpr::from(1));
            let elements = self.ledger.amount(at_least_one.unwrap_or(elements));
            self.ledger.add(&mut total, &elements);
        }
        total
    }

    /// The bytes that variables hold after a run: the assigned values, or else the initial ones.
    fn states(&mut self, graph: &Graph) -> Amount {
        let assigned: HashSet<&str> = graph
            .ids()
            .filter_map(|id| match graph.node(id).op() {
                Op::Assign(op) => Some(op.variable_id.as_str()),
                _ => None,
            })
            .collect();
        let mut total = Amount::default();
        for id in graph.ids() {
            let is_kept = match graph.node(id).op() {
                Op::Assign(_) => true,
                Op::ReadValue(op) => !assigned.contains(op.variable_id.as_str()),
                _ => false,
            };
            if is_kept {
                let bytes = self.ledger.bytes_of_outputs(graph, id);
                self.ledger.add(&mut total, &bytes);
            }
        }
        total
    }
}

/// The layers whose values differ between runs. Values computed from constants only are excluded, because
/// they are computed once.
fn varying(graph: &Graph) -> HashSet<NodeId> {
    let mut found = HashSet::new();
    for id in graph.order().unwrap_or_default() {
        let node = graph.node(id);
        let is_known = !node.outs().is_empty()
            && node.outs().iter().all(|out| out.fact.as_tensor().is_some())
            && node.op().traits().is_foldable();
        let varies = matches!(node.op(), Op::Parameter(_) | Op::ReadValue(_))
            || node.op().has(OpTraits::RANDOM)
            || graph.inputs(id).into_iter().flatten().any(|value| found.contains(&value.node));
        if varies && !is_known {
            found.insert(id);
        }
    }
    found
}
