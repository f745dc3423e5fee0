//! Conditions on the sizes of inputs, which a program checks before it computes. The types of MLIR do not say which dynamic
//! sizes belong together, and a compiled program would read beyond its data.

use std::collections::{HashMap, HashSet};

use snick_ir::{Condition, EmptyAxes, Graph, NodeId, Value, conditions};
use snick_shape::{SymExpr, SymbolId};
use snick_tensor::ElementType;

use super::emitter::{FunctionBuilder, OpKind, Operand, Result};

/// An axis of an input.
type InputAxis = (NodeId, usize);

/// Writes assertions for the declared sizes of the inputs, and for the conditions that layers impose on these sizes.
/// `model` is the graph before it was legalized to `graph`, whose inputs are already written.
pub(super) fn write(model: &Graph, graph: &Graph, function: &mut FunctionBuilder) -> Result {
    let inputs: Vec<(NodeId, Operand)> = graph
        .parameters()
        .filter_map(|id| Some((id, function.scope.values.get(&Value { node: id, port: 0 })?.clone())))
        .collect();
    if inputs.iter().all(|(_, x)| x.ty.dims.iter().all(|dim| dim.as_const().is_some())) {
        return Ok(());
    }
    for (id, x) in &inputs {
        let around = function.enter(graph, *id);
        let written = declared(graph, *id, x, function);
        function.leave(around);
        written?;
    }
    of_layers(model, &inputs, function)
}

/// The declared sizes of an input: intervals, and sizes that other inputs determine.
fn declared(graph: &Graph, id: NodeId, x: &Operand, function: &mut FunctionBuilder) -> Result {
    for (axis, dim) in x.ty.dims.iter().enumerate().filter(|(_, dim)| dim.as_const().is_none()) {
        let needs =
            |what: String| format!("input `{}` needs axis {axis} to be {what}", graph.node(id).name());
        let symbols = graph.symbols();
        let size = function.size(x, axis);
        let source = dim.as_symbol().and_then(|symbol| function.scope.sources.get(&symbol));
        if source.is_none_or(|(source, at)| (source.id, *at) != (x.id, axis)) {
            if function.knows(dim) {
                let want = function.number(dim)?;
                let holds = function.compares("EQ", &size, &want);
                function.assert(&holds, needs(symbols.display(dim).to_string()));
            }
            continue;
        }
        let interval = symbols.interval(dim);
        if interval.lo() > 0 {
            let holds = function.at_least(&size, interval.lo())?;
            function.assert(&holds, needs(format!("at least {}", interval.lo())));
        }
        if interval.hi() < i64::MAX {
            let most = function.number(&interval.hi().into())?;
            let holds = function.compares("LE", &size, &most);
            function.assert(&holds, needs(format!("at most {}", interval.hi())));
        }
    }
    Ok(())
}

/// The conditions of layers, without those that concern more than the sizes of inputs.
fn of_layers(model: &Graph, inputs: &[(NodeId, Operand)], function: &mut FunctionBuilder) -> Result {
    // `found` uses the symbols of this copy.
    let mut copy = model.clone();
    let found = conditions(&mut copy, EmptyAxes::Allowed);
    // The conditions assume that the elements of small integer inputs are not negative, which not every run meets.
    let has_elements =
        |id| copy.fact(Value { node: id, port: 0 }).is_some_and(|fact| fact.elements().is_some());
    if copy.parameters().any(has_elements) {
        return Ok(());
    }
    let mut places: HashMap<SymbolId, (InputAxis, SymExpr)> = HashMap::new();
    for (parameter, (_, x)) in copy.parameters().zip(inputs) {
        let fact = copy.fact(Value { node: parameter, port: 0 });
        let dims = fact.and_then(|fact| fact.shape.dims()).unwrap_or_default();
        for (axis, (own, dim)) in dims.iter().zip(&x.ty.dims).enumerate() {
            if let Some(symbol) = own.as_symbol() {
                places.entry(symbol).or_insert(((parameter, axis), dim.clone()));
            }
        }
    }
    let mut seen = HashSet::new();
    for (condition, &layer) in found.conditions.iter().zip(&found.layers) {
        let symbols: Vec<SymbolId> = condition.exprs().flat_map(SymExpr::symbols).collect();
        if !symbols.iter().all(|symbol| places.contains_key(symbol)) || !seen.insert(condition) {
            continue;
        }
        let own = |expr: &SymExpr| {
            let place = |symbol| places.get(&symbol).map(|(_, dim)| dim.clone());
            model.symbols().substitute(expr, &place)
        };
        let around = function.enter(model, layer);
        if let Some(holds) = holds(condition, own, function)? {
            let node = copy.node(layer);
            let what = spelled(&copy, condition, &places);
            function
                .assert(&holds, format!("layer `{}` ({}) needs {what}", node.name(), node.op().type_name()));
        }
        function.leave(around);
    }
    Ok(())
}

/// Whether a condition holds, as a boolean scalar. `None` if it is always true, or if a size is not known.
fn holds(
    condition: &Condition,
    own: impl Fn(&SymExpr) -> Option<SymExpr>,
    f: &mut FunctionBuilder,
) -> Result<Option<Operand>> {
    let mut exprs = Vec::with_capacity(2);
    for expr in condition.exprs() {
        let Some(expr) = own(expr).filter(|expr| f.knows(expr)) else { return Ok(None) };
        exprs.push(expr);
    }
    let numbers = exprs.iter().map(|expr| f.number(expr)).collect::<Result<Vec<_>>>()?;
    Ok(match (condition, numbers.as_slice()) {
        _ if exprs.iter().all(|expr| expr.as_const().is_some()) => None,
        (Condition::Equal(..), [a, b]) => Some(f.compares("EQ", a, b)),
        (Condition::Broadcast(..), [a, b]) => {
            let one = f.number(&1.into())?;
            let [are_equal, a_is_one, b_is_one] =
                [(a, b), (a, &one), (b, &one)].map(|(a, b)| f.compares("EQ", a, b));
            let is_one = f.joined("or", &a_is_one, &b_is_one);
            Some(f.joined("or", &are_equal, &is_one))
        }
        (Condition::Multiple(..), [a, b]) => {
            let [zero, one] = [f.number(&0.into())?, f.number(&1.into())?];
            let divisor = f.step("maximum", &[b, &one]);
            let rest = f.step("remainder", &[a, &divisor]);
            let is_multiple = f.compares("EQ", &rest, &zero);
            // 0 is the only multiple of 0.
            Some(match exprs[1].as_const() {
                Some(1..) => is_multiple,
                _ => {
                    let [is_divisor, is_zero] =
                        [("NE", b), ("EQ", a)].map(|(how, x)| f.compares(how, x, &zero));
                    let is_defined = f.joined("or", &is_divisor, &is_zero);
                    f.joined("and", &is_multiple, &is_defined)
                }
            })
        }
        (Condition::AtLeast(_, least), [a]) => Some(f.at_least(a, *least)?),
        _ => None,
    })
}

/// `s0 = s1, where s0 is axis 0 of x, and s1 is axis 0 of y`
fn spelled(graph: &Graph, condition: &Condition, places: &HashMap<SymbolId, (InputAxis, SymExpr)>) -> String {
    let symbols = graph.symbols();
    let text = |expr: &SymExpr| symbols.display(expr).to_string();
    let mut what = match condition {
        Condition::Equal(a, b) => format!("{} = {}", text(a), text(b)),
        Condition::Broadcast(a, b) => format!("{0} = {1}, {0} = 1 or {1} = 1", text(a), text(b)),
        Condition::Multiple(a, b) => format!("{} to be a multiple of {}", text(a), text(b)),
        Condition::AtLeast(a, least) => format!("{} >= {least}", text(a)),
        _ => String::new(),
    };
    let mut unnamed: Vec<SymbolId> = condition.exprs().flat_map(SymExpr::symbols).collect();
    unnamed.retain(|&symbol| symbols.name(symbol).is_none());
    unnamed.sort_unstable();
    unnamed.dedup();
    for (i, symbol) in unnamed.into_iter().enumerate() {
        let Some(((input, axis), _)) = places.get(&symbol) else { continue };
        let joint = if i == 0 { ", where" } else { ", and" };
        what +=
            &format!("{joint} {} is axis {axis} of `{}`", text(&symbol.into()), graph.node(*input).name());
    }
    what
}

impl FunctionBuilder {
    /// Stops the program with a message unless the boolean scalar is true.
    fn assert(&mut self, holds: &Operand, message: String) {
        self.push(OpKind::Assert(message), &[holds], &[], vec![]);
    }

    fn compares(&mut self, direction: &'static str, a: &Operand, b: &Operand) -> Operand {
        self.op("holds", OpKind::Compare(direction), &[a, b], a.ty.with(ElementType::Boolean))
    }

    fn at_least(&mut self, number: &Operand, least: i64) -> Result<Operand> {
        let least = self.number(&least.into())?;
        Ok(self.compares("GE", number, &least))
    }

    fn joined(&mut self, how: &'static str, a: &Operand, b: &Operand) -> Operand {
        self.op("holds", OpKind::Elementwise(how), &[a, b], a.ty.clone())
    }
}
