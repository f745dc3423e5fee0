//! Checked rewrites: every application of a rule is executed, before and after, before it is committed.
//!
//! The replaced and the new layers are cut out of the graph, down to values that both read ([`region`]). Dynamic sizes
//! take all small values in their intervals, the bounds, and some random values between; elements are random, or
//! evaluated if inference knows them as expressions ([`sample`]). Where the old layers run, the new ones must compute
//! the same: bit by bit, or within rounding for rules that declare it; dims must match the inferred ones. A failure is
//! reported in numpy's notation and as a test in text form ([`report`]).

mod evaluate;
mod region;
mod report;
mod sample;

use std::collections::HashMap;

use snick_ir::rewrite::{Check, Proposal};
use snick_ir::{Graph, Value};
use snick_shape::SymbolId;
use snick_tensor::{Listed, Tensor};

use self::region::Region;
use self::sample::{Sample, Samples};

/// The limit of elements over all samples: the time of checking grows with the graph, not with its tensors.
const MAX_ALL_ELEMENTS: usize = 1 << 29;

/// Checks applications of rules by executing them.
#[derive(Clone, Debug)]
pub struct Checker {
    seed: u64,
    checked: usize,
    unchecked: usize,
    elements: usize,
}

impl Checker {
    /// A checker with this seed of random sizes and elements.
    pub fn new(seed: u64) -> Self {
        Self { seed, checked: 0, unchecked: 0, elements: 0 }
    }

    /// The number of applications that were executed before and after, and are equal.
    pub fn checked(&self) -> usize {
        self.checked
    }

    /// The number of applications that could not be executed.
    pub fn unchecked(&self) -> usize {
        self.unchecked
    }

    /// The number of samples that agree, or the report of the first that does not.
    fn try_samples(&mut self, proposal: &Proposal, wide: bool) -> Result<usize, String> {
        let Some(region) = Region::of(proposal, wide) else { return Ok(0) };
        let seed = self.seed.wrapping_add((self.checked + self.unchecked) as u64);
        let mut agreed = 0;
        for sample in Samples::of(proposal.graph, &region, seed) {
            if self.elements > MAX_ALL_ELEMENTS {
                break;
            }
            self.elements += sample.elements();
            match compare(proposal, &region, &sample) {
                Outcome::Agrees => agreed += 1,
                Outcome::DoesNotRun => {}
                Outcome::Differs(how) => return Err(report::report(proposal, &region, &sample, &how)),
            }
        }
        Ok(agreed)
    }
}

impl Check for Checker {
    fn check(&mut self, proposal: &Proposal) -> Result<(), String> {
        // The inputs of the region are sampled independently, although they may be related. The wide region, which has
        // fewer such inputs, decides; if it fails too, the report of the smaller one is used.
        let agreed = self
            .try_samples(proposal, false)
            .or_else(|report| self.try_samples(proposal, true).map_err(|_| report))?;
        match agreed {
            0 => self.unchecked += 1,
            _ => self.checked += 1,
        }
        Ok(())
    }
}

enum Outcome {
    Agrees,
    /// The old layers do not run.
    DoesNotRun,
    Differs(String),
}

fn compare(proposal: &Proposal, region: &Region, sample: &Sample) -> Outcome {
    let graph = proposal.graph;
    let mut computed = HashMap::new();
    let mut compared = false;
    for (port, &new) in (0..).zip(proposal.values) {
        let Some(new) = new else { continue };
        let old = Value { node: proposal.root, port };
        let Ok(want) = value_of(graph, region, sample, &mut computed, old) else { continue };
        // The inputs are sampled independently. If inference contradicts the old value, they cannot occur together.
        if contradiction(graph, old, &want, &sample.symbols).is_some() {
            continue;
        }
        let got = match value_of(graph, region, sample, &mut computed, new) {
            Ok(got) => got,
            Err(error) => {
                return Outcome::Differs(format!("output {port}: the replacement fails: {error}"));
            }
        };
        let contradicted = || {
            let how = contradiction(graph, new, &got, &sample.symbols)?;
            Some(format!("output {port}: the replacement was inferred to have {how}"))
        };
        let different =
            difference(&want, &got, proposal.rule.is_exact()).map(|how| format!("output {port}: {how}"));
        if let Some(how) = different.or_else(contradicted) {
            return Outcome::Differs(how);
        }
        compared = true;
    }
    if compared { Outcome::Agrees } else { Outcome::DoesNotRun }
}

/// Evaluates a value of the region; the recursion is as deep as the region.
fn value_of(
    graph: &Graph,
    region: &Region,
    sample: &Sample,
    computed: &mut HashMap<Value, Tensor>,
    value: Value,
) -> Result<Tensor, String> {
    if let Some(tensor) = sample.tensors.get(&value).or_else(|| computed.get(&value)) {
        return Ok(tensor.clone());
    }
    let missing = || "a value is missing".to_string();
    if !region.nodes.contains(&value.node) {
        return Err(missing());
    }
    let mut inputs = Vec::new();
    for input in graph.inputs(value.node) {
        inputs.push(value_of(graph, region, sample, computed, input.ok_or_else(missing)?)?);
    }
    let specialized = graph.specialized(value.node);
    let op = specialized.as_ref().unwrap_or(graph.node(value.node).op());
    let outputs = evaluate::outputs(op, &inputs).map_err(|error| error.to_string())?;
    for (port, tensor) in (0..).zip(outputs) {
        computed.insert(Value { node: value.node, port }, tensor);
    }
    computed.get(&value).cloned().ok_or_else(missing)
}

/// How `got` contradicts the inferred fact of a value.
fn contradiction(
    graph: &Graph,
    value: Value,
    got: &Tensor,
    sizes: &HashMap<SymbolId, i64>,
) -> Option<String> {
    let fact = graph.fact(value)?;
    let symbols = graph.symbols();
    let dims = fact.shape.dims()?;
    if dims.len() != got.rank() {
        return Some(format!("rank {}, but has rank {}", dims.len(), got.rank()));
    }
    dims.iter().zip(got.dims()).enumerate().find_map(|(axis, (dim, &size))| {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let inferred = symbols.eval(dim, &|symbol| sizes.get(&symbol).copied());
        let contradicts =
            !symbols.interval(dim).contains(size) || inferred.is_some_and(|inferred| inferred != size);
        contradicts.then(|| format!("size {} on axis {axis}, but has {size}", symbols.display(dim)))
    })
}

/// The first difference of two tensors.
fn difference(want: &Tensor, got: &Tensor, exact: bool) -> Option<String> {
    if want == got {
        return None;
    }
    let describe = |tensor: &Tensor| format!("{}{}", tensor.element_type(), Listed(tensor.dims()));
    if want.element_type() != got.element_type() || want.dims() != got.dims() {
        return Some(format!("{}, expected {}", describe(got), describe(want)));
    }
    let (Ok(a), Ok(b)) = (want.to_f64_vec(), got.to_f64_vec()) else {
        return Some("the elements differ".into());
    };
    let largest = a.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    let is_close =
        |x: f64, y: f64| !exact && want.element_type().is_float() && (x - y).abs() <= 1e-3 * largest;
    let at = a.iter().zip(&b).position(|(&x, &y)| x.to_bits() != y.to_bits() && !is_close(x, y));
    match at {
        Some(at) => Some(format!("element {at} of {} is {}, expected {}", describe(got), b[at], a[at])),
        None => exact.then(|| "the bits differ".into()),
    }
}

#[cfg(test)]
mod tests {
    use snick_ir::rewrite::{Patch, RewriteResult, Rule};
    use snick_ir::{Op, OpError, infer};
    use snick_shape::AxisSlice;

    use crate::selection::Selection;
    use crate::{Pass, RewriteOptions, apply};

    /// Composes slices, ignoring the step of the inner one.
    const WRONG: Rule = Rule::exact("wrong-merge", wrong);

    fn wrong(patch: &mut Patch) -> Result<RewriteResult, OpError> {
        let (Some(outer), Ok(middle)) = (Selection::of(patch.node().op()), patch.input(0)) else {
            return Ok(RewriteResult::NoMatch);
        };
        let Some(inner) = Selection::of(patch.op_of(middle)) else { return Ok(RewriteResult::NoMatch) };
        let data = patch.input_of(middle, 0)?;
        let merged = inner.iter().map(|(axis, a)| {
            let b = outer.on(axis).copied().unwrap_or(AxisSlice::whole(a.len));
            (axis, AxisSlice { start: a.start + b.start, ..b })
        });
        Selection::new(merged.collect::<Vec<_>>()).apply(patch, data).map(RewriteResult::one)
    }

    /// Removes ReLU, which is right for sizes and for elements that are not negative.
    const NO_RELU: Rule = Rule::exact("no-relu", |patch| match patch.node().op() {
        Op::Unary(_) => Ok(RewriteResult::one(patch.input(0)?)),
        _ => Ok(RewriteResult::NoMatch),
    });

    fn check_failures(rules: &'static [Rule], layers: &str) -> Vec<String> {
        let text = format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n");
        let mut graph = snick_ir::text::parse(&text, None).unwrap();
        assert!(infer(&mut graph).is_empty());
        let passes = [Pass::of_rules("test", rules)];
        let report = apply(&mut graph, &passes, &RewriteOptions::new().check(true).seed(1));
        assert!(report.applied.is_empty());
        report.check_failures.into_iter().map(|failure| failure.report).collect()
    }

    #[test]
    fn a_wrong_rule_is_reported_with_a_test() {
        let reports = check_failures(
            const { &[WRONG] },
            "%x = Parameter-1 {element_type: f32, shape: \"N,10\"}
             %a = ReLU-1(%x)
             %b = slice(%a) {axes: [1], start: [1], len: [4], step: [2]}
             %c = slice(%b) {axes: [1], start: [1], len: [2], step: [1]}
             %y = Result-1(%c)",
        );
        let [report] = reports.as_slice() else { panic!("{reports:?}") };
        for part in [
            "wrong-merge at `c`",
            "[:, 1:9:2]",
            "[:, 1:3]",
            "// RUN: snick canon --passes wrong-merge --verify",
            "%c = slice(%b)",
            "shape: \"",
        ] {
            assert!(report.contains(part), "{part} is not in\n{report}");
        }
        assert!(!report.contains("ReLU"), "{report}");
    }

    #[test]
    fn elements_are_compared() {
        let layers = "%x = Parameter-1 {element_type: f32, shape: \"3\"}\n%a = ReLU-1(%x)\n%y = Result-1(%a)";
        assert_eq!(check_failures(const { &[NO_RELU] }, layers).len(), 1);
    }
}
