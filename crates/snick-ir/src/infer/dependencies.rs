//! Finds the sizes and elements of a layer's inputs that an output size or element depends on.
//!
//! The layer is inferred repeatedly, each time with one size or element of its inputs replaced by a new
//! symbol. An output size or element that then contains the symbol depends on the replaced one.

use std::borrow::Cow;

use snick_shape::{Interval, Origin, Shape, SymExpr, SymbolId, Symbols};

use super::Infer;
use crate::{Fact, Facts, Graph, Known, NodeId, Op, OpError, Value};

/// An input index and a part of that input.
type InputPart = (usize, Part);

/// A size or an element of a value.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,3\"}\n  \
/// #             %y = Result-1(%x)\n}\n";
/// use snick::Part;
///
/// # let mut graph = snick::text::parse(text, None)?;
/// # snick::infer(&mut graph);
/// let fact = graph.node(graph.find("x").expect("layer")).outputs().next().expect("an output");
/// let dims: Vec<_> = Part::dims(fact).filter_map(|part| part.of(fact)).collect();
/// assert_eq!(dims[1], 3.into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Part {
    /// The size of an axis.
    Dim(usize),
    /// An element of a small integer value, by its row-major index.
    Element(usize),
}

impl Part {
    /// The sizes of a value; none if its rank is unknown.
    pub fn dims(fact: &Fact) -> impl Iterator<Item = Self> + use<> {
        (0..fact.shape.rank().unwrap_or(0)).map(Self::Dim)
    }

    /// The sizes of a value, and its elements if known.
    pub fn all(fact: &Fact) -> impl Iterator<Item = Self> + use<> {
        let elements = fact.elements().map_or(0, |elements| elements.len());
        Self::dims(fact).chain((0..elements).map(Self::Element))
    }

    fn is_element(self) -> bool {
        matches!(self, Self::Element(_))
    }

    /// The expression of this part, if known.
    pub fn of(self, fact: &Fact) -> Option<SymExpr> {
        match self {
            Self::Dim(axis) => fact.shape.dims()?.get(axis).cloned(),
            Self::Element(index) => fact.elements()?.get(index).cloned(),
        }
    }

    /// The fact with this part replaced.
    fn replaced(self, fact: &Fact, by: SymExpr) -> Option<Fact> {
        let mut fact = fact.clone();
        match self {
            Self::Dim(axis) => {
                let mut dims = fact.shape.dims()?.to_vec();
                *dims.get_mut(axis)? = by;
                // The known elements belong to the old size, so they are dropped.
                fact.known = None;
                fact.shape = Shape::ranked(dims);
            }
            Self::Element(index) => {
                let mut elements = fact.elements()?;
                *elements.get_mut(index)? = by;
                fact.known = Some(Known::Elements(elements.into()));
            }
        }
        Some(fact)
    }
}

/// A part of a value of a graph.
///
/// ```
/// # let graph = snick::text::parse("snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2,3\"}\n}\n", None)?;
/// use snick::Part;
///
/// let value = graph.node(graph.find("x").expect("layer")).output(0).expect("an output");
/// assert_eq!(value.axis(1).part, Part::Dim(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub struct ValuePart {
    /// The value.
    pub value: Value,
    /// The part of the value.
    pub part: Part,
}

impl Value {
    /// The size of an axis.
    pub fn axis(self, axis: usize) -> ValuePart {
        ValuePart { value: self, part: Part::Dim(axis) }
    }

    /// An element, by its row-major index.
    pub fn element(self, index: usize) -> ValuePart {
        ValuePart { value: self, part: Part::Element(index) }
    }
}

impl ValuePart {
    /// A part of a value.
    pub fn new(value: Value, part: Part) -> Self {
        Self { value, part }
    }
}

/// Layers with more input parts than this are skipped.
const MAX_PARTS: usize = 96;

/// Like [`MAX_PARTS`], for layers with an error: there are few of these, so the limit is higher.
const MAX_CLASHING_PARTS: usize = 1024;

/// Computes which input parts of a layer an output part depends on.
///
/// ```
/// use snick::Part;
/// use snick_ir::Dependencies;
///
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,3\"}\n  \
/// #             %w = Parameter-1 {element_type: f32, shape: \"3,8\"}\n  %y = MatMul-1(%x, %w)\n  \
/// #             %r = Result-1(%y)\n}\n";
/// let mut graph = snick::text::parse(text, None)?;
/// snick::infer(&mut graph);
/// let mut dependencies = Dependencies::new(&graph);
/// let product = graph.node(graph.find("y").expect("layer")).output(0).expect("an output");
/// assert_eq!(dependencies.of(product.axis(1)), [(1, Part::Dim(1))]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Dependencies<'g> {
    graph: &'g Graph,
    /// The symbols of the graph, and the symbols that trial inferences create.
    symbols: Symbols,
}

impl<'g> Dependencies<'g> {
    /// Dependencies in an inferred graph.
    pub fn new(graph: &'g Graph) -> Self {
        Self { graph, symbols: graph.symbols().clone() }
    }

    /// The input parts that an output part depends on, with their input indices. Empty for ReadValue, for
    /// layers with bodies and for layers with very many parts. Misses parts that must equal parts of other
    /// inputs: the sum of `[2,3]` and `[2,3]` has the shape `[2,3]` even if the sizes of one input are
    /// replaced by symbols.
    pub fn of(&mut self, of: ValuePart) -> Vec<InputPart> {
        let ValuePart { value, part } = of;
        let is_made_of = |trial: Trial| {
            let expr = part.of(trial.facts.get(value.port as usize)?)?;
            Some(expr.symbols().contains(&trial.probe?))
        };
        self.parts_of(value.node, is_made_of)
    }

    /// The input parts that cause a layer's error: the parts that could be changed to fix the error, and the
    /// parts that they conflict with.
    ///
    /// ```
    /// use snick::Part;
    /// use snick_ir::Dependencies;
    ///
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,3\"}\n  \
    /// #             %w = Parameter-1 {element_type: f32, shape: \"4,8\"}\n  %y = MatMul-1(%x, %w)\n  \
    /// #             %r = Result-1(%y)\n}\n";
    /// let mut graph = snick::text::parse(text, None)?;
    /// assert_eq!(snick::infer(&mut graph).len(), 1);
    /// let product = graph.find("y").expect("layer");
    /// let clash = Dependencies::new(&graph).of_error(product);
    /// assert_eq!(clash, [(0, Part::Dim(1)), (1, Part::Dim(0))]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_error(&mut self, node: NodeId) -> Vec<InputPart> {
        let Some((inputs, parts)) = self.inputs_and_parts(node, MAX_CLASHING_PARTS) else {
            return Vec::new();
        };
        let is_mended = |trial: Result<Trial, OpError>| trial.is_ok_and(|trial| trial.errors == 0);
        let mut mends =
            |changed: &[InputPart], probe| self.trial(node, &inputs, changed, probe).is_some_and(is_mended);
        let mut clash: Vec<_> = parts
            .iter()
            .copied()
            .filter(|&part| mends(&[part], Probe::Large) || mends(&[part], Probe::Open))
            .collect();
        // Changing the length of a vector makes its elements unknown, which hides every error about them.
        let with_elements: Vec<usize> =
            clash.iter().filter(|(_, part)| part.is_element()).map(|(i, _)| *i).collect();
        clash.retain(|(i, part)| part.is_element() || !with_elements.contains(i));
        let has_elements = |i: usize| parts.iter().any(|&(other, part)| other == i && part.is_element());
        let mut others: Vec<_> = parts
            .iter()
            .copied()
            .filter(|part| !clash.contains(part) && (part.1.is_element() || !has_elements(part.0)))
            .collect();
        for _ in 0..2 {
            others.reverse();
            clash.extend(least(&others, |open| mends(open, Probe::Open)));
        }
        clash.sort_unstable();
        clash.dedup();
        clash
    }

    /// The input parts of a layer that `wanted` accepts. `wanted` receives the result of inferring the layer
    /// after the part is replaced by a new symbol.
    fn parts_of(&mut self, node: NodeId, wanted: impl Fn(Trial) -> Option<bool>) -> Vec<InputPart> {
        let Some((inputs, parts)) = self.inputs_and_parts(node, MAX_PARTS) else { return Vec::new() };
        let mut is_wanted = |part: &InputPart| {
            let trial = self.trial(node, &inputs, std::slice::from_ref(part), Probe::Large)?;
            wanted(trial.ok()?)
        };
        parts.into_iter().filter(|part| is_wanted(part).unwrap_or(false)).collect()
    }

    /// The facts of a layer's inputs and all their parts; `None` if there are more than `most` parts.
    fn inputs_and_parts(&self, node: NodeId, most: usize) -> Option<(Vec<&'g Fact>, Vec<InputPart>)> {
        let graph = self.graph;
        let inputs: Option<Vec<&Fact>> =
            graph.inputs(node).into_iter().map(|input| graph.fact(input?)).collect();
        let inputs = inputs?;
        let parts = inputs.iter().enumerate();
        let parts: Vec<_> = parts.flat_map(|(i, fact)| Part::all(fact).map(move |part| (i, part))).collect();
        (parts.len() <= most).then_some((inputs, parts))
    }

    /// Infers a layer with parts of its inputs replaced by new symbols; `None` if a part cannot be replaced.
    fn trial(
        &mut self,
        node: NodeId,
        inputs: &[&Fact],
        parts: &[InputPart],
        probe: Probe,
    ) -> Option<Result<Trial, OpError>> {
        let mut changed: Vec<Cow<Fact>> = inputs.iter().map(|fact| Cow::Borrowed(*fact)).collect();
        let mut symbol = None;
        for &(i, part) in parts {
            let fact = changed.get_mut(i)?;
            let interval = probe.interval(part, &self.symbols.interval(&part.of(fact)?));
            let expr = self.symbols.fresh(interval, Origin::default());
            symbol = expr.as_symbol();
            *fact = Cow::Owned(part.replaced(fact, expr)?);
        }
        let changed: Vec<&Fact> = changed.iter().map(|fact| &**fact).collect();
        let inferred = self.infer(node, &changed)?;
        Some(inferred.map(|(facts, errors)| Trial { facts, errors, probe: symbol }))
    }

    /// Infers a layer with these inputs. Returns the facts of its outputs and the number of errors.
    fn infer(&mut self, id: NodeId, inputs: &[&Fact]) -> Option<Result<(Facts, usize), OpError>> {
        let mut errors = Vec::new();
        let node = self.graph.node(id);
        let mut cx = Infer {
            inputs,
            outs: node.outs(),
            symbols: &mut self.symbols,
            errors: &mut errors,
            demands: None,
            node: u32::try_from(id.index()).unwrap_or(u32::MAX),
            fresh: 0,
        };
        let facts = match node.op() {
            Op::SubGraph(_) | Op::ReadValue(_) => return None,
            op => op.infer(&mut cx),
        };
        Some(facts.map(|facts| (facts, errors.len())))
    }
}

/// A minimal subset of `parts` whose replacement fixes an error, found by dropping every part that is not
/// needed. Empty if replacing all parts does not fix the error.
fn least(parts: &[InputPart], mut mends: impl FnMut(&[InputPart]) -> bool) -> Vec<InputPart> {
    let mut left = parts.to_vec();
    if left.is_empty() || !mends(&left) {
        return Vec::new();
    }
    for part in parts {
        let without: Vec<_> = left.iter().copied().filter(|other| other != part).collect();
        if !without.is_empty() && mends(&without) {
            left = without;
        }
    }
    left
}

/// The range of a symbol that replaces a part.
#[derive(Copy, Clone)]
enum Probe {
    /// 2 or more for sizes and for positive elements, which may be sizes. This excludes 0 and 1, which behave
    /// differently in broadcasts, and -1, which stands for the remaining size in a Reshape.
    Large,
    /// 0 or more for sizes and for positive elements.
    Open,
}

impl Probe {
    fn interval(self, part: Part, known: &Interval) -> Interval {
        let least = match self {
            Self::Large => 2,
            Self::Open => 0,
        };
        let sizes = |most: i64| Interval::new(least, most).unwrap_or(Interval::DIM);
        match part {
            Part::Dim(_) => sizes(i64::MAX),
            Part::Element(_) if known.lo() >= 1 => sizes(i64::from(i32::MAX)),
            Part::Element(_) => Interval::ANY,
        }
    }
}

/// The result of inferring a layer with some input parts replaced.
struct Trial {
    facts: Facts,
    errors: usize,
    /// The symbol that replaced the last part.
    probe: Option<SymbolId>,
}

#[cfg(test)]
mod tests {
    use super::{Dependencies, Part};
    use crate::{infer, text};

    /// Changing the length of the target shape would hide the error, but its cause is an element of that
    /// shape.
    #[test]
    fn the_error_of_a_wrong_element_is_not_that_of_the_length() {
        let layers = "%x = Parameter-1 {element_type: f32, shape: \"5,4\"}\n%to = Const-1 i64[2] <6, 5>\n\
                      %y = Reshape-1(%x, %to) {special_zero: false}";
        let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
        assert_eq!(infer(&mut graph).len(), 1);
        let clash = Dependencies::new(&graph).of_error(graph.find("y").unwrap());
        assert!(clash.contains(&(1, Part::Element(0))) && clash.contains(&(0, Part::Dim(0))), "{clash:?}");
        assert!(!clash.contains(&(1, Part::Dim(0))), "{clash:?}");
    }
}
