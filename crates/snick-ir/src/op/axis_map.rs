//! The correspondence between the input axes and the output axes of an op.

use snick_shape::SymExpr;
use snick_tensor::SmallVector;

use super::OpTraits;
use crate::ops::AutoBroadcast;
use crate::{AttrValue, Fact, Graph, NodeId, Op, normalize_each_axis};

/// How elements along corresponding axes depend on each other. These are the kinds of Shardy's factors.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum FactorKind {
    /// Each output index depends only on the same index of the inputs.
    PassThrough,
    /// Elements along the axis are combined; the output does not have the axis.
    Reduction,
    /// Elements are looked up along the axis by index; the output does not have the axis.
    Lookup,
    /// Elements move along the axis or depend on other indices, or their dependence is unknown.
    Permutation,
}

/// Axes that correspond to each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AxisFactor {
    /// How elements along these axes depend on each other.
    pub kind: FactorKind,
    /// Pairs of an input and its axis, excluding inputs that are broadcast along the axis.
    pub inputs: SmallVector<(usize, usize), 2>,
    /// The corresponding axis of the output, if there is one.
    pub output: Option<usize>,
}

/// How the axes of the first output of an op correspond to the axes of its inputs.
///
/// ```
/// # use snick::text;
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
/// #   %w = Parameter-1 {element_type: f32, shape: \"4,8\"}\n  %p = MatMul-1(%x, %w)\n  %y = Result-1(%p)\n}\n";
/// let mut graph = text::parse(text, None)?;
/// snick::infer(&mut graph);
/// let map = graph.axis_map(graph.find("p").unwrap()).unwrap();
/// // The columns of the product are the columns of input 1.
/// assert_eq!(map.source(1).unwrap().inputs.as_slice(), [(1, 1)]);
/// # Ok::<(), snick::text::ParseError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AxisMap {
    /// The correspondences. Each axis of an input or of the output belongs to at most one of them.
    pub factors: Vec<AxisFactor>,
    /// Whether computing only some of the output elements may round differently, because sums are then
    /// computed in another order.
    pub rounds: bool,
    /// The input whose elements are the sizes of the output, if there is one.
    pub sizes: Option<usize>,
}

impl AxisMap {
    /// Adds a factor.
    pub fn add(
        &mut self,
        kind: FactorKind,
        inputs: impl IntoIterator<Item = (usize, usize)>,
        output: Option<usize>,
    ) {
        self.factors.push(AxisFactor { kind, inputs: inputs.into_iter().collect(), output });
    }

    /// Each output axis corresponds to the same axis of input 0. Along `mixed` axes, elements also depend on
    /// other indices.
    pub fn rows(rank: usize, mixed: impl Fn(usize) -> bool) -> Self {
        let mut map = Self::default();
        for axis in 0..rank {
            let kind = if mixed(axis) { FactorKind::Permutation } else { FactorKind::PassThrough };
            map.add(kind, [(0, axis)], Some(axis));
        }
        map
    }

    /// Like [`AxisMap::rows`], with a list of `mixed` axes; negative axes count from the end.
    pub(crate) fn rows_but(data: &Fact, mixed: &[i64]) -> Option<Self> {
        let rank = data.shape.rank()?;
        let mixed = normalize_each_axis(mixed, rank).ok()?;
        Some(Self::rows(rank, |axis| mixed.contains(&axis)))
    }

    /// Aligns the inputs at the last axis of the output. An input axis whose size differs from the output's
    /// is broadcast if `repeats` accepts its size; otherwise the dependence along it is unknown.
    pub fn aligned<D: PartialEq>(inputs: &[&[D]], output: &[D], repeats: impl Fn(&D) -> bool) -> Self {
        let mut map = Self::default();
        for (axis, size) in output.iter().enumerate() {
            let mut kind = FactorKind::PassThrough;
            let mut own: SmallVector<(usize, usize), 2> = SmallVector::new();
            for (input, dims) in inputs.iter().enumerate() {
                let Some(at) = (axis + dims.len()).checked_sub(output.len()) else { continue };
                if dims[at] != *size && repeats(&dims[at]) {
                    continue;
                }
                if dims[at] != *size {
                    kind = FactorKind::Permutation;
                }
                own.push((input, at));
            }
            map.add(kind, own, Some(axis));
        }
        map
    }

    /// Numpy broadcasting of inputs to the output shape.
    pub fn broadcast(inputs: &[&[SymExpr]], output: &[SymExpr]) -> Self {
        Self::aligned(inputs, output, |dim| dim.as_const() == Some(1))
    }

    /// Axis `i` of the output is axis `order[i]` of input 0.
    pub fn transpose(order: impl IntoIterator<Item = usize>) -> Self {
        let mut map = Self::default();
        for (to, from) in order.into_iter().enumerate() {
            map.add(FactorKind::PassThrough, [(0, from)], Some(to));
        }
        map
    }

    /// Combines the axes of input 0 that `reduced` accepts. With `keeps_axes`, the output keeps these axes
    /// with size 1.
    pub fn reduction(rank: usize, reduced: impl Fn(usize) -> bool, keeps_axes: bool) -> Self {
        let mut map = Self::default();
        let mut outputs = 0..;
        for axis in 0..rank {
            match reduced(axis) {
                true => map.add(FactorKind::Reduction, [(0, axis)], None),
                false => map.add(FactorKind::PassThrough, [(0, axis)], outputs.next()),
            }
            if keeps_axes && reduced(axis) {
                outputs.next();
            }
        }
        map
    }

    /// Extends a map of batch axes to the map of a product of inputs 0 and 1: appends output axes for the
    /// axes that only one input has (`own`), and sums over the pairs of input axes in `summed`.
    #[must_use]
    pub fn product(
        mut self,
        own: [impl IntoIterator<Item = usize>; 2],
        summed: impl IntoIterator<Item = (usize, usize)>,
    ) -> Self {
        for (input, axes) in own.into_iter().enumerate() {
            for axis in axes {
                let output = self.factors.len();
                self.add(FactorKind::PassThrough, [(input, axis)], Some(output));
            }
        }
        for (a, b) in summed {
            self.add(FactorKind::Reduction, [(0, a), (1, b)], None);
        }
        self
    }

    /// Sets [`AxisMap::rounds`].
    #[must_use]
    pub fn rounding(self, rounds: bool) -> Self {
        Self { rounds, ..self }
    }

    /// The factor of an output axis if each index along the axis depends only on the same index of the
    /// inputs; `None` otherwise.
    pub fn source(&self, axis: usize) -> Option<&AxisFactor> {
        self.factors.iter().find(|own| own.output == Some(axis) && own.kind == FactorKind::PassThrough)
    }
}

impl Op {
    /// The axis map of an element-wise op with numpy broadcasting.
    fn elementwise_axes(&self, inputs: &[&Fact], output: &Fact) -> Option<AxisMap> {
        let is_numpy = |broadcast: &AttrValue| *broadcast == AutoBroadcast::Numpy.word().into();
        if !self.has(OpTraits::ELEMENTWISE) || !self.attrs().get(AutoBroadcast::NAME).is_none_or(is_numpy) {
            return None;
        }
        let inputs: Option<SmallVector<&[SymExpr], 5>> =
            inputs.iter().map(|input| input.shape.dims()).collect();
        Some(AxisMap::broadcast(&inputs?, output.shape.dims()?))
    }
}

impl Graph {
    /// How the axes of the first output of a node correspond to the axes of its inputs, if known.
    pub fn axis_map(&self, id: NodeId) -> Option<AxisMap> {
        let (inputs, op) = (self.input_facts(id)?, self.node(id).op());
        let output = &self.node(id).outs().first()?.fact;
        op.axis_map(&inputs, output).or_else(|| op.elementwise_axes(&inputs, output))
    }
}
