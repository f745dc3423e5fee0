//! Random inputs. The same seed and model give the same tensors on every machine.
//!
//! Each input has a generator of its own.

use std::collections::HashMap;

use snick_ir::{Graph, Located, NodeId, Op, OpError};
use snick_shape::{Interval, SymbolId};
use snick_tensor::{ElementType, SplitMix, Tensor, TensorError};

/// How sizes of dynamic dims are chosen.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum DimPolicy {
    /// The smallest allowed, but at least 1.
    Smallest,
    /// Drawn from the seed, near the smallest allowed.
    Drawn,
    /// The smallest allowed multiple of this number above 0; the smallest allowed size if there is none.
    MultipleOf(usize),
    /// The smallest allowed, but at least 1, plus one for the dynamic dim of this index over all inputs.
    Longer(usize),
}

/// The distribution of random inputs.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct InputSpec {
    /// Sizes of dynamic dims.
    pub dims: DimPolicy,
    /// The smallest and the largest integer, clamped to the element type.
    pub integers: (u8, u8),
}

/// Integers from 0 to 3.
impl From<DimPolicy> for InputSpec {
    fn from(dims: DimPolicy) -> Self {
        Self { dims, integers: (0, 3) }
    }
}

/// Random sizes exceed the smallest allowed by at most this.
const SPREAD: u64 = 12;

/// The maximum number of elements of one tensor.
const MAX_ELEMENTS: usize = 1 << 28;

/// Replaces the inputs of an inferred graph that are `None` by random tensors. Floats lie in [-1, 1), integers in 0 to
/// 3, unless `spec` says otherwise. A symbol has the same value in all inputs, that of the provided ones included.
///
/// # Errors
/// A tensor that would be too large.
pub fn draw_inputs(
    graph: &Graph,
    given: Vec<Option<Tensor>>,
    seed: u64,
    spec: impl Into<InputSpec>,
) -> Result<Vec<Tensor>, Located> {
    let InputSpec { dims, integers } = spec.into();
    let parameters: Vec<NodeId> = graph.parameters().collect();
    let mut symbols = HashMap::new();
    for (&id, tensor) in parameters.iter().zip(&given) {
        let known = graph.node(id).outs().first().and_then(|out| out.fact.shape.dims());
        if let (Some(known), Some(tensor)) = (known, tensor) {
            let pairs = known.iter().zip(tensor.dims());
            symbols.extend(pairs.filter_map(|(dim, &size)| Some((dim.as_symbol()?, size))));
        }
    }
    let mut given = given.into_iter();
    let mut dynamic = 0;
    let inputs = (0u64..).zip(parameters).map(|(i, id)| match given.next().flatten() {
        Some(tensor) => Ok(tensor),
        None => {
            let mut random = SplitMix::new(seed ^ i.wrapping_mul(0xd134_2543_de82_ef95));
            let sizes = sizes(graph, id, dims, &mut random, &mut symbols, &mut dynamic);
            let tensor = tensor(element_type(graph, id), &sizes, integers, &mut random);
            tensor.map_err(|error| graph.located(id, OpError::from(error)))
        }
    });
    inputs.collect()
}

fn element_type(graph: &Graph, id: NodeId) -> ElementType {
    match graph.node(id).op() {
        Op::Parameter(parameter) if parameter.element_type != ElementType::Dynamic => parameter.element_type,
        _ => ElementType::F32,
    }
}

/// The sizes of one input; `dynamic` counts the dynamic dims so far. An input of unknown rank gets four axes.
fn sizes(
    graph: &Graph,
    id: NodeId,
    dims: DimPolicy,
    random: &mut SplitMix,
    symbols: &mut HashMap<SymbolId, usize>,
    dynamic: &mut usize,
) -> Vec<usize> {
    let mut choose = |interval: Interval| {
        let least = interval.lo().max(1).min(interval.hi());
        let room = interval.hi().abs_diff(least).min(SPREAD);
        let size = usize::try_from(least).unwrap_or(0);
        let place = *dynamic;
        *dynamic += usize::from(interval.is_exact().is_none());
        match dims {
            DimPolicy::Longer(n) => size + usize::from(n == place && least < interval.hi()),
            DimPolicy::Smallest => size,
            DimPolicy::Drawn => size.saturating_add(random.below(room + 1) as usize),
            DimPolicy::MultipleOf(n) => {
                let multiple = size.checked_next_multiple_of(n).and_then(|m| i64::try_from(m).ok());
                multiple.filter(|&m| interval.contains(m)).map_or(size, |m| m as usize)
            }
        }
    };
    let shape = graph.node(id).outs().first().and_then(|out| out.fact.shape.dims());
    let Some(shape) = shape else { return vec![choose(Interval::DIM); 4] };
    let size = |dim| {
        let interval = graph.symbols().interval(dim);
        match dim.as_symbol() {
            Some(symbol) => *symbols.entry(symbol).or_insert_with(|| choose(interval)),
            None => choose(interval),
        }
    };
    shape.iter().map(size).collect()
}

/// A tensor of random elements.
fn tensor(
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
}
