//! TensorIterator-1, Loop-5 and If-8: ops that own bodies.
//!
//! A [`PortMap`] connects each body with the op. `iterate.rs` infers TensorIterator and Loop, `branch.rs`
//! infers If, and `execute.rs` runs all three.

use snick_tensor::{SmallVector, Tensor};

use super::branch;
use super::iterate;
pub use super::kind::SubGraphKind;
use super::port_map::{PortLink, PortMap, Purpose};
use crate::infer::InferSession;
use crate::op::AttrField;
use crate::{
    Arity, AttrSpec, AttrValue, Attrs, Category, EvalOp, Fact, Facts, Graph, Infer, InferOp, Op, OpDef,
    OpError, OpName, OpTraits, RawNode,
};

/// An op with bodies. Each body has its own symbols; its facts hold for the values that the op passes in.
#[derive(Clone, PartialEq, Debug)]
pub struct SubGraph {
    /// The kind of this op.
    pub kind: SubGraphKind,
    /// The bodies: `body`, or `then_body` and `else_body`.
    pub bodies: Vec<Graph>,
    /// The port map of each body.
    pub maps: Vec<PortMap>,
}

/// Attribute names for each body: inputs, outputs, back edges.
const MAP_NAMES: [[&str; 3]; 2] =
    [["inputs", "outputs", "back_edges"], ["else_inputs", "else_outputs", "else_back_edges"]];

impl SubGraph {
    /// An op with these bodies and port maps, one for each of [`SubGraph::roles`].
    ///
    /// # Errors
    /// If a map refers to a missing Parameter or Result, or omits an output.
    pub fn new(kind: SubGraphKind, bodies: Vec<Graph>, maps: Vec<PortMap>) -> Result<Self, OpError> {
        let op = Self { kind, bodies, maps };
        for count in [op.bodies.len(), op.maps.len()] {
            if count != op.roles().len() {
                return Err(OpError::mismatch("the number of bodies", count, op.roles().len()));
            }
        }
        op.check()?;
        Ok(op)
    }

    /// The roles of the bodies, in order.
    pub fn roles(&self) -> &'static [&'static str] {
        match self.kind {
            SubGraphKind::TensorIterator | SubGraphKind::Loop => &["body"],
            SubGraphKind::If => &["then_body", "else_body"],
        }
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        let ports = self.maps.iter().flat_map(|map| &map.outputs).filter_map(|link| link.external);
        ports.max().map_or(0, |port| port.saturating_add(1))
    }

    /// The index of the body that an If with this condition runs; `None` if unknown, or for other ops.
    pub fn taken(&self, condition: &Fact) -> Option<usize> {
        branch::taken(condition).filter(|_| self.kind == SubGraphKind::If)
    }

    /// The ops of the bodies except Parameters and Results.
    fn inner_ops(&self) -> impl Iterator<Item = &Op> {
        let ops = self.bodies.iter().flat_map(|body| body.ids().map(|id| body.node(id).op()));
        ops.filter(|op| !matches!(op, Op::Parameter(_) | Op::Result(_)))
    }

    /// Infers the outputs, and the facts inside `bodies`: the bodies of this op, which the caller has moved
    /// out of it.
    pub(crate) fn infer_bodies(
        &self,
        cx: &mut Infer,
        bodies: &mut [Graph],
        session: &mut InferSession,
    ) -> Result<Facts, OpError> {
        match (bodies, self.maps.as_slice()) {
            ([body], [map]) => iterate::infer(self.kind, map, body, cx, session),
            ([then_body, else_body], [then_map, else_map]) => {
                branch::infer([then_map, else_map], [then_body, else_body], cx, session)
            }
            (bodies, _) => Err(OpError::mismatch("the number of bodies", bodies.len(), self.roles().len())),
        }
    }

    /// Checks that links and back edges refer to existing Parameters and Results, and that each output has a
    /// link.
    fn check(&self) -> Result<(), OpError> {
        // Check port numbers before allocating one entry per port.
        let most = self.maps.iter().map(|map| map.outputs.len()).sum::<usize>();
        for (body, map) in self.bodies.iter().zip(&self.maps) {
            let (parameters, results) = (body.parameters().count(), body.results().count());
            let below = |what: &str, number: usize, count: usize| match number < count {
                true => Ok(()),
                false => Err(OpError::mismatch(what, number, format!("a number below {count}"))),
            };
            let mut fed = vec![false; parameters];
            for link in &map.inputs {
                below("a Parameter in the port map", link.internal, parameters)?;
                once(&mut fed[link.internal], "Parameter", link.internal)?;
            }
            for link in &map.outputs {
                below("a Result in the port map", link.internal, results)?;
                below("an output in the port map", link.external.unwrap_or(0), most.max(1))?;
            }
            for &(from, to) in &map.back_edges {
                below("a Result of a back edge", from, results)?;
                below("a Parameter of a back edge", to, parameters)?;
            }
            let mut given = vec![false; most];
            for port in map.outputs.iter().filter_map(|link| link.external) {
                once(&mut given[port], "output", port)?;
            }
            if let Some(port) = (0..self.outputs()).find(|&port| !given[port]) {
                let what = format!("output {port}");
                return Err(OpError::mismatch(what, "in no port map", "one entry in each"));
            }
            for link in map.inputs.iter().chain(&map.outputs) {
                if link.cut.is_some_and(|cut| cut.stride == 0 || cut.part_size < 1) {
                    let expected = "stride not 0, part_size above 0";
                    return Err(OpError::mismatch("the port map", format!("\"{link}\""), expected));
                }
                if self.kind != SubGraphKind::Loop && link.purpose.is_some() {
                    return Err(OpError::mismatch("the port map", format!("\"{link}\""), "no purpose"));
                }
            }
        }
        Ok(())
    }
}

/// Marks an entry of a port map as present. Fails if it already is, because entries must be unique.
fn once(is_there: &mut bool, what: &str, number: usize) -> Result<(), OpError> {
    match std::mem::replace(is_there, true) {
        true => Err(OpError::mismatch(format!("{what} {number}"), "in the port map twice", "one entry")),
        false => Ok(()),
    }
}

impl PortMap {
    /// The link with this purpose.
    pub(super) fn with_purpose(&self, purpose: Purpose) -> Option<&PortLink> {
        self.inputs.iter().chain(&self.outputs).find(|link| link.purpose == Some(purpose))
    }
}

impl OpDef for SubGraph {
    const NAMES: &'static [OpName] = &[
        OpName::openvino("TensorIterator", &[1], Category::Control)
            .doc("Runs a body on each part of its sliced inputs. Results are returned whole or concatenated."),
        OpName::openvino("Loop", &[5], Category::Control).doc(
            "Runs a body while a condition holds: input 0 is the maximum number of iterations, negative for no limit, \
             input 1 the condition before the first one.",
        ),
        OpName::openvino("If", &[8], Category::Control).doc("Runs one of two bodies, selected by the boolean input 0."),
    ];
    const ARITY: Arity = Arity::at_least(1);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::HAS_BODIES).union(OpTraits::BOUNDARY);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let kind =
            [SubGraphKind::TensorIterator, SubGraphKind::Loop, SubGraphKind::If][raw.row(Self::NAMES).min(2)];
        let bodies = raw.bodies.take();
        let mut maps = Vec::new();
        for names in MAP_NAMES.iter().take(bodies.len()) {
            let links = |name| -> Result<Vec<PortLink>, OpError> {
                let texts = raw.attrs.texts(name)?.unwrap_or_default();
                let links = texts.iter().map(|text| PortLink::parse(text)).collect::<Option<_>>();
                links.ok_or_else(|| raw.attrs.bad(name, "external -> internal note=value ..."))
            };
            let back = raw.attrs.sizes(names[2])?.unwrap_or_default();
            maps.push(PortMap {
                inputs: links(names[0])?,
                outputs: links(names[1])?,
                back_edges: back.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
            });
        }
        Self::new(kind, bodies, maps)
    }

    fn attrs(&self) -> Attrs<'static> {
        let mut attrs = Attrs::new();
        for (names, map) in MAP_NAMES.iter().zip(&self.maps) {
            for (name, links) in [(names[0], &map.inputs), (names[1], &map.outputs)] {
                attrs.push(name.into(), AttrValue::Texts(links.iter().map(PortLink::to_string).collect()));
            }
            let back: SmallVector<i64, 4> =
                map.back_edges.iter().flat_map(|&(from, to)| [from as i64, to as i64]).collect();
            attrs.push(names[2].into(), AttrValue::Ints(back));
        }
        attrs
    }

    /// The attributes are port maps as text; IR files have XML elements instead.
    fn attr_specs() -> Vec<AttrSpec> {
        let docs = [
            "From inputs to Parameters of the body: `external -> internal note=value ..`.",
            "From Results of the body to outputs, in the same notation.",
            "Pairs of a Result and the Parameter that receives its value in the next iteration.",
        ];
        let kinds = [Vec::<String>::kind(), Vec::<String>::kind(), SmallVector::<usize, 4>::kind()];
        let specs = MAP_NAMES.iter().flat_map(|names| names.iter().zip(kinds.clone()).zip(docs));
        specs.map(|((name, kind), doc)| AttrSpec::optional(name, kind, doc)).collect()
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[self.kind as usize]
    }

    /// Combines the traits of all ops in the bodies: for example, one impure op makes the whole op impure.
    fn traits(&self) -> OpTraits {
        let inner = self.inner_ops().map(Op::traits);
        let inherited = OpTraits::ROOT | OpTraits::STATEFUL | OpTraits::RANDOM;
        inner.fold(Self::TRAITS, |all, inner| {
            let impure = OpTraits::PURE - inner;
            (all - impure) | (inner & inherited)
        })
    }
}

impl InferOp for SubGraph {
    /// Never called: the inference walk calls `SubGraph::infer_bodies`.
    fn infer(&self, _: &mut Infer) -> Result<Facts, OpError> {
        Err(OpError::unsupported(format!("inference of {} without its bodies", self.name().name)))
    }
}

impl EvalOp for SubGraph {
    /// Never called: sessions call [`SubGraph::execute`].
    fn eval(&self, _: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Err(OpError::unsupported(format!("evaluating {} without a session", self.name().name)))
    }
}
