//! Random inputs. The same seed and model give the same tensors on every machine.
//!
//! Each input has its own random number generator.

use std::collections::HashMap;

use snick_ir::{EmptyAxes, Graph, Located, NodeId, Op, OpError};
use snick_shape::{Interval, SymExpr, SymbolId};
use snick_tensor::{ElementType, SplitMix, Tensor, TensorError};

use crate::fit_sizes::{Demands, FittedSizes, Larger};
use crate::integer_roles::{Roles, input_role, integers};

/// How to choose sizes of dynamic dims.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
/// #             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
/// use snick::{DimPolicy, draw_inputs};
///
/// let mut model = snick::parse(text)?;
/// model.infer().into_result()?;
/// let inputs = draw_inputs(model.graph(), vec![None], 7, DimPolicy::MultipleOf(16)).unwrap();
/// assert_eq!(inputs[0].dims(), [16]);
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum DimPolicy {
    /// The smallest allowed size, but at least 1.
    Smallest,
    /// A random size near the smallest allowed one.
    Drawn,
    /// The smallest allowed positive multiple of this number; if no multiple is allowed, the smallest allowed
    /// size.
    MultipleOf(usize),
    /// Sizes that satisfy the conditions of the layers (see [`snick_ir::conditions`]): the smallest such
    /// sizes, plus this number where allowed. Integers that a layer uses as indices, axes, lengths or shapes
    /// are chosen to fit these sizes.
    Fitting(usize),
    /// Like `Fitting(0)`, but makes one dim longer by 1 if allowed. The number is the index of this dim among
    /// the dynamic dims of all inputs, where the dims of outermost axes come last.
    Longer(usize),
}

/// The distribution of random inputs.
///
/// ```
/// use snick::{DimPolicy, InputSpec};
///
/// // The smallest sizes, and integers that are valid indices into axes of 2.
/// let spec = InputSpec { integers: (0, 1), ..InputSpec::from(DimPolicy::Smallest) };
/// assert_eq!(spec.dims, DimPolicy::Smallest);
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct InputSpec {
    /// Sizes of dynamic dims.
    pub dims: DimPolicy,
    /// The smallest and the largest integer, clamped to the element type.
    pub integers: (u8, u8),
}

/// Integers from 0 to 3 by default.
impl From<DimPolicy> for InputSpec {
    fn from(dims: DimPolicy) -> Self {
        Self { dims, integers: (0, 3) }
    }
}

/// Maximum difference between a random size and the smallest allowed size.
const SPREAD: u64 = 12;

/// The number of axes chosen for an input of unknown rank.
const UNKNOWN_RANK: usize = 4;

/// The maximum number of elements of a tensor whose sizes are not all declared.
const MAX_CHOSEN: usize = 1 << 24;

/// The maximum number of elements of one tensor.
const MAX_ELEMENTS: usize = 1 << 28;

/// Generates a random tensor for each input of an inferred graph that is `None`. Floats are in [-1, 1), and
/// integers are between 0 and 3 unless `spec` says otherwise. A symbol has the same value in all inputs,
/// including the provided ones.
///
/// # Errors
/// A tensor would be too large.
pub fn draw_inputs(
    graph: &Graph,
    mut given: Vec<Option<Tensor>>,
    seed: u64,
    spec: impl Into<InputSpec>,
) -> Result<Vec<Tensor>, Located> {
    let InputSpec { dims, integers } = spec.into();
    let parameters: Vec<NodeId> = graph.parameters().collect();
    given.resize(parameters.len(), None);
    let larger = match dims {
        DimPolicy::Fitting(above) => Some(Larger::All(i64::try_from(above).unwrap_or(i64::MAX))),
        DimPolicy::Longer(place) => Some(Larger::One(place)),
        _ => None,
    };
    if let Some(larger) = larger {
        return draw_fitting(graph, given, seed, larger, integers);
    }
    let mut sizes = Sizes { graph, policy: dims, values: HashMap::new(), equations: Vec::new() };
    parameters.iter().zip(&given).for_each(|(&id, tensor)| sizes.bind(id, tensor.as_ref()));
    sizes.solve();
    let drawn = (0u64..).zip(given.into_iter().zip(parameters)).map(|(i, (given, id))| {
        if let Some(tensor) = given {
            return Ok(tensor);
        }
        let mut random = generator(seed, i);
        let dims = sizes.of(id, &mut random);
        check_chosen(graph, id, &dims)?;
        located(graph, id, tensor(element_type(graph, id), &dims, integers, &mut random))
    });
    drawn.collect()
}

/// Random inputs for [`DimPolicy::Fitting`] and [`DimPolicy::Longer`].
fn draw_fitting(
    graph: &Graph,
    given: Vec<Option<Tensor>>,
    seed: u64,
    larger: Larger,
    range: (u8, u8),
) -> Result<Vec<Tensor>, Located> {
    let demands = Demands::of(graph, EmptyAxes::Ignored);
    let sizes = demands.fit(&given, larger);
    if sizes.unmet() == 0 {
        return draw_sized(graph, given, seed, &sizes, range);
    }
    // Allows empty axes only if this satisfies more conditions.
    let all = Demands::of(graph, EmptyAxes::Allowed);
    let others = all.fit(&given, larger);
    let best = if others.unmet() < sizes.unmet() { &others } else { &sizes };
    draw_sized(graph, given, seed, best, range)
}

/// Rejects inputs that are too large if their sizes were chosen here. Declared sizes may be large.
fn check_chosen(graph: &Graph, id: NodeId, dims: &[usize]) -> Result<(), Located> {
    let declared = graph.node(id).outs().first().is_some_and(|out| out.fact.shape().is_static());
    if declared || dims.iter().fold(1usize, |n, &size| n.saturating_mul(size)) <= MAX_CHOSEN {
        return Ok(());
    }
    located(
        graph,
        id,
        Err(TensorError::TooLarge { element_type: element_type(graph, id), dims: dims.into() }),
    )
}

/// Generates random inputs of these sizes.
pub(crate) fn draw_sized(
    graph: &Graph,
    given: Vec<Option<Tensor>>,
    seed: u64,
    sizes: &FittedSizes,
    range: (u8, u8),
) -> Result<Vec<Tensor>, Located> {
    let roles: Roles = sizes.roles().map(|(node, port, role)| ((*node, *port), role)).collect();
    let parameters: Vec<NodeId> = graph.parameters().collect();
    let inferred = parameters.iter().zip(sizes.graph().parameters());
    let drawn = (0u64..).zip(given.into_iter().zip(inferred)).map(|(i, (given, (&id, inferred)))| {
        if let Some(tensor) = given {
            return Ok(tensor);
        }
        let mut random = generator(seed, i);
        let element_type = element_type(graph, id);
        let dims = sizes.dims(inferred).unwrap_or_else(|| vec![1; UNKNOWN_RANK]);
        check_chosen(graph, id, &dims)?;
        let fitting = fitting_integers(sizes, &roles, inferred, &dims, range, &mut random);
        let drawn = match fitting.filter(|_| element_type.is_integer()) {
            Some(numbers) => Tensor::from_vec(&dims, numbers).and_then(|tensor| tensor.cast(element_type)),
            None => tensor(element_type, &dims, range, &mut random),
        };
        located(graph, id, drawn)
    });
    drawn.collect()
}

/// Integers that are valid for the layers that use them; `None` if their use is unknown.
fn fitting_integers(
    sizes: &FittedSizes,
    roles: &Roles,
    id: NodeId,
    dims: &[usize],
    (least, most): (u8, u8),
    random: &mut SplitMix,
) -> Option<Vec<i64>> {
    let count = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|&n| n <= MAX_ELEMENTS)?;
    if let Some(elements) = sizes.elements(id) {
        return Some(elements);
    }
    let role = input_role(sizes.graph(), roles, id)?;
    let draw = |lo: i64, hi: i64| lo + random.below(hi.abs_diff(lo) + 1) as i64;
    let last = dims.last().copied().unwrap_or(1);
    Some(integers(&role, count, last, (least.into(), most.into()), &|expr| sizes.value(expr), draw))
}

/// The random number generator for one input.
fn generator(seed: u64, input: u64) -> SplitMix {
    SplitMix::new(seed ^ input.wrapping_mul(0xd134_2543_de82_ef95))
}

fn located<T>(graph: &Graph, id: NodeId, result: Result<T, TensorError>) -> Result<T, Located> {
    result.map_err(|error| graph.located(id, OpError::from(error)))
}

pub(crate) fn element_type(graph: &Graph, id: NodeId) -> ElementType {
    match graph.node(id).op() {
        Op::Parameter(parameter) if parameter.element_type != ElementType::Dynamic => parameter.element_type,
        _ => ElementType::F32,
    }
}

/// Chooses the sizes of all inputs, one input after the other.
struct Sizes<'g> {
    graph: &'g Graph,
    policy: DimPolicy,
    /// The values of symbols.
    values: HashMap<SymbolId, i64>,
    /// Dims of provided inputs that are expressions with unknown symbols, each with its actual size.
    equations: Vec<(SymExpr, i64)>,
}

impl Sizes<'_> {
    /// Takes the values of symbols from the dims of a provided input.
    fn bind(&mut self, id: NodeId, tensor: Option<&Tensor>) {
        let known = self.graph.node(id).outs().first().and_then(|out| out.fact.shape.dims());
        let (Some(known), Some(tensor)) = (known, tensor) else { return };
        for (dim, &size) in known.iter().zip(tensor.dims()) {
            let size = i64::try_from(size).unwrap_or(i64::MAX);
            match dim {
                SymExpr::Const(_) => {}
                SymExpr::Symbol(symbol) => drop(self.values.insert(*symbol, size)),
                SymExpr::Linear(_) => self.equations.push((dim.clone(), size)),
            }
        }
    }

    /// Solves the equations for symbols. Ignores contradictions, because the run reports them.
    fn solve(&mut self) {
        if !self.equations.is_empty() {
            let _ = self.graph.symbols().solve(&mut self.equations, &mut self.values);
        }
    }

    /// The sizes of one input.
    fn of(&mut self, id: NodeId, random: &mut SplitMix) -> Vec<usize> {
        let shape = self.graph.node(id).outs().first().and_then(|out| out.fact.shape.dims());
        let Some(shape) = shape else {
            return vec![self.choose(Interval::DIM, random) as usize; UNKNOWN_RANK];
        };
        let dims = shape.iter().map(|dim| self.dim(dim, random));
        dims.map(|size| usize::try_from(size).unwrap_or(0)).collect()
    }

    fn dim(&mut self, dim: &SymExpr, random: &mut SplitMix) -> i64 {
        let symbols = self.graph.symbols();
        if let SymExpr::Const(_) = dim {
            return self.choose(symbols.interval(dim), random);
        }
        for symbol in dim.symbols() {
            if !self.values.contains_key(&symbol) {
                let interval = symbols.interval(&symbol.into());
                let size = self.choose(interval, random);
                self.values.insert(symbol, size);
                self.solve();
            }
        }
        let size = symbols.eval(dim, &|symbol| self.values.get(&symbol).copied());
        size.unwrap_or_else(|| symbols.interval(dim).lo())
    }

    fn choose(&mut self, interval: Interval, random: &mut SplitMix) -> i64 {
        let least = interval.lo().max(1).min(interval.hi());
        let room = interval.hi().abs_diff(least).min(SPREAD);
        match self.policy {
            DimPolicy::Smallest | DimPolicy::Fitting(_) | DimPolicy::Longer(_) => least,
            DimPolicy::Drawn => least.saturating_add(random.below(room + 1) as i64),
            DimPolicy::MultipleOf(n) => {
                let multiple = usize::try_from(least).ok().and_then(|size| size.checked_next_multiple_of(n));
                let multiple = multiple.and_then(|size| i64::try_from(size).ok());
                multiple.filter(|&size| interval.contains(size)).unwrap_or(least)
            }
        }
    }
}

/// A tensor of random elements.
pub(crate) fn tensor(
    element_type: ElementType,
    dims: &[usize],
    (least, most): (u8, u8),
    random: &mut SplitMix,
) -> Result<Tensor, TensorError> {
    use ElementType::*;
    let count = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    let Some(count) = count.filter(|&n| n <= MAX_ELEMENTS) else {
        return Err(TensorError::TooLarge { element_type, dims: dims.into() });
    };
    let elements = 0..count;
    match element_type {
        F32 => return Tensor::from_vec(dims, elements.map(|_| random.unit() as f32).collect()),
        String => {
            return Tensor::strings(dims, elements.map(|_| format!("text {}", random.below(4))).collect());
        }
        _ => {}
    }
    let most = element_type.integer_range().map_or(most, |(_, high)| high.clamp(0, most.into()) as u8);
    let least = least.min(most);
    let numbers: Vec<f64> = elements
        .map(|_| match element_type {
            Boolean => random.below(2) as f64,
            _ if element_type.is_float() => random.unit(),
            _ => (u64::from(least) + random.below(u64::from(most - least) + 1)) as f64,
        })
        .collect();
    Tensor::from_vec(dims, numbers)?.cast(element_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_inputs_share_symbols() {
        let text = "snick 1\ngraph \"g\" {\n  %a = Parameter-1 {element_type: f32, shape: \"N,2..9,?\"}\n  \
                    %b = Parameter-1 {element_type: u1, shape: \"N=3..8\"}\n}\n";
        let mut graph = snick_ir::text::parse(text, None).unwrap();
        assert!(snick_ir::infer(&mut graph).is_empty());
        let draw = |dims| draw_inputs(&graph, vec![None, None], 7, dims).unwrap();
        assert_eq!(draw(DimPolicy::Smallest)[0].dims(), [3, 2, 1]);
        let drawn = draw(DimPolicy::Drawn);
        assert_eq!(drawn[0].dims()[0], drawn[1].dims()[0]);
        assert_eq!(drawn, draw(DimPolicy::Drawn));
        let given = draw_inputs(
            &graph,
            vec![Some(Tensor::zeros(ElementType::F32, &[5, 2, 2]).unwrap())],
            7,
            DimPolicy::Smallest,
        );
        assert_eq!(given.unwrap()[1].dims(), [5]);
    }

    #[test]
    fn sizes_and_integers_fit_the_layers() {
        let parameter = |name: &str, element_type: &str, shape: &str| {
            format!("  %{name} = Parameter-1 {{element_type: {element_type}, shape: \"{shape}\"}}\n")
        };
        let text = "snick 1\ngraph \"g\" {\n".to_string()
            + &parameter("a", "f32", "1..,..1,?,7")
            + &parameter("ids", "i64", "50")
            + &parameter("start", "i64", "2")
            + &parameter("stop", "i64", "2")
            + &parameter("step", "i64", "2")
            + &parameter("axes", "i64", "2")
            + &parameter("lengths", "i64", "3")
            + &parameter("to", "i64", "2")
            + "  %0 = Const-1 i64[] <0>\n  %1 = Const-1 i64[] <1>\n  %2 = Const-1 i64[] <2>\n  \
               %3 = Const-1 i64[] <3>\n  %s:5 = Split-1(%a, %0) {num_splits: 5}\n  \
               %t:3 = Split-1(%a, %1) {num_splits: 3}\n  %i = Const-1 i64[2] <4, -1>\n  \
               %g = Gather-8(%a, %i, %2) {batch_dims: 0}\n  %h = Gather-8(%a, %ids, %3) {batch_dims: 0}\n  \
               %cut = Slice-8(%a, %start, %stop, %step, %axes)\n  %v:3 = VariadicSplit-1(%a, %3, %lengths)\n  \
               %r = Reshape-1(%a, %to) {special_zero: false}\n}\n";
        let mut graph = snick_ir::text::parse(&text, None).unwrap();
        assert!(snick_ir::infer(&mut graph).is_empty());
        let inputs = draw_inputs(&graph, vec![None; 8], 1, DimPolicy::Fitting(0)).unwrap();
        assert_eq!(inputs[0].dims(), [5, 0, 5, 7]);
        let ints = |input: usize| inputs[input].to_i64_vec().unwrap();
        assert!(ints(1).iter().all(|index| (0..7).contains(index)));
        assert!(ints(4).iter().all(|&step| step > 0));
        assert_eq!((ints(5), ints(6).iter().sum::<i64>()), (vec![0, 1], 7));
        assert_eq!(ints(7).iter().product::<i64>(), 0);
    }

    #[test]
    fn expressions_agree_with_their_symbols() {
        let text = "snick 1\ngraph \"g\" {\n  %a = Parameter-1 {element_type: f32, shape: \"P+T,2*H\"}\n  \
                    %b = Parameter-1 {element_type: f32, shape: \"P=3..,T\"}\n}\n";
        let mut graph = snick_ir::text::parse(text, None).unwrap();
        assert!(snick_ir::infer(&mut graph).is_empty());
        let draw = |given, dims| {
            let given = [given, None].map(|dims: Option<[usize; 2]>| {
                dims.map(|dims| Tensor::zeros(ElementType::F32, &dims).unwrap())
            });
            draw_inputs(&graph, given.into(), 7, dims).unwrap()
        };
        let smallest = draw(None, DimPolicy::Smallest);
        assert_eq!((smallest[0].dims(), smallest[1].dims()), (&[4, 2][..], &[3, 1][..]));
        let drawn = draw(None, DimPolicy::Drawn);
        assert_eq!(drawn[0].dims()[0], drawn[1].dims().iter().sum::<usize>());
        assert_eq!(draw(Some([9, 2]), DimPolicy::Smallest)[1].dims(), [3, 6]);
    }
}
