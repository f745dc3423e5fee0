//! TensorIterator-1, Loop-5 and If-8: ops that own bodies.
//!
//! What a body sees and gives is said by its [`PortMap`]. `iterate.rs` infers the two that iterate, `branch.rs` infers
//! If, `execute.rs` runs all three.

use smallvec::SmallVec;
use snick_tensor::Tensor;

use super::branch;
use super::iterate;
use super::port_map::{PortLink, PortMap, Purpose};
use crate::infer::InferSession;
use crate::{
    Arity, AttrValue, Attrs, EvalOp, Facts, Graph, Infer, InferOp, Op, OpDef, OpError, OpName, OpTraits,
    RawNode,
};

/// Which op it is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum SubGraphKind {
    /// Iterates over parts of its inputs.
    TensorIterator,
    /// Iterates while a condition holds. Input 0 is the number of iterations, below 0 for any number; input 1 says
    /// whether there is a first one.
    Loop,
    /// Runs one of two bodies, by its input 0.
    If,
}

/// An op with bodies. The bodies have symbols of their own; their facts hold for what the op feeds them.
#[derive(Clone, PartialEq, Debug)]
pub struct SubGraph {
    /// Which op it is.
    pub kind: SubGraphKind,
    /// `body`; or `then_body`, `else_body`.
    pub bodies: Vec<Graph>,
    /// A port map a body.
    pub maps: Vec<PortMap>,
}

/// Attribute names by body: inputs, outputs, back edges.
const MAP_NAMES: [[&str; 3]; 2] =
    [["inputs", "outputs", "back_edges"], ["else_inputs", "else_outputs", "else_back_edges"]];

impl SubGraph {
    /// The op of these bodies and maps, of which there are as many as [`SubGraph::roles`].
    ///
    /// # Errors
    /// A map that names Parameters or Results that are not there, or leaves an output out.
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

    /// Names of the bodies, in order.
    pub fn roles(&self) -> &'static [&'static str] {
        match self.kind {
            SubGraphKind::TensorIterator | SubGraphKind::Loop => &["body"],
            SubGraphKind::If => &["then_body", "else_body"],
        }
    }

    /// Number of outputs: as many as the port maps name.
    pub fn outputs(&self) -> usize {
        let ports = self.maps.iter().flat_map(|map| &map.outputs).filter_map(|link| link.external);
        ports.max().map_or(0, |port| port.saturating_add(1))
    }

    /// The ops of the bodies, but for their inputs and outputs.
    fn inner_ops(&self) -> impl Iterator<Item = &Op> {
        let ops = self.bodies.iter().flat_map(|body| body.ids().map(|id| &body.node(id).op));
        ops.filter(|op| !matches!(op, Op::Parameter(_) | Op::Result(_)))
    }

    /// Facts of the outputs; the facts inside `bodies`, which are those of this op, are set on the way.
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

    /// Every link and back edge names Parameters and Results that are there, and every output has its link.
    fn check(&self) -> Result<(), OpError> {
        // A number of a port sizes nothing before it is known to be small.
        let most = self.maps.iter().map(|map| map.outputs.len()).sum::<usize>();
        for (body, map) in self.bodies.iter().zip(&self.maps) {
            let (parameters, results) = (body.parameters().count(), body.results().count());
            let below = |what: &str, number: usize, count: usize| match number < count {
                true => Ok(()),
                false => Err(OpError::mismatch(what, number, format!("a number below {count}"))),
            };
            for link in &map.inputs {
                below("a Parameter in the port map", link.internal, parameters)?;
            }
            for link in &map.outputs {
                below("a Result in the port map", link.internal, results)?;
                below("an output in the port map", link.external.unwrap_or(0), most.max(1))?;
            }
            for &(from, to) in &map.back_edges {
                below("a Result of a back edge", from, results)?;
                below("a Parameter of a back edge", to, parameters)?;
            }
            for port in 0..self.outputs() {
                if !map.outputs.iter().any(|link| link.external == Some(port)) {
                    let what = format!("output {port}");
                    return Err(OpError::mismatch(what, "in no port map", "one entry in each"));
                }
            }
            for link in map.inputs.iter().chain(&map.outputs) {
                if link.cut.is_some_and(|cut| cut.stride == 0 || cut.part_size < 1) {
                    let expected = "a stride that is not 0, a part_size above 0";
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

impl PortMap {
    /// The link of this purpose.
    pub(super) fn with_purpose(&self, purpose: Purpose) -> Option<&PortLink> {
        self.inputs.iter().chain(&self.outputs).find(|link| link.purpose == Some(purpose))
    }
}

impl OpDef for SubGraph {
    const NAMES: &'static [OpName] = &[
        OpName::openvino("TensorIterator", &[1]),
        OpName::openvino("Loop", &[5]),
        OpName::openvino("If", &[8]),
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
            let back: SmallVec<[i64; 4]> =
                map.back_edges.iter().flat_map(|&(from, to)| [from as i64, to as i64]).collect();
            attrs.push(names[2].into(), AttrValue::Ints(back));
        }
        attrs
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[self.kind as usize]
    }

    /// Pure, a root and so on where what the bodies hold is.
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
    /// Never asked: the driver hands over the bodies, through `SubGraph::infer_bodies`.
    fn infer(&self, _: &mut Infer) -> Result<Facts, OpError> {
        Err(OpError::unsupported(format!("inference of {} without its bodies", self.name().name)))
    }
}

impl EvalOp for SubGraph {
    /// Never asked: who runs the op runs its bodies, through [`SubGraph::execute`].
    fn eval(&self, _: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Err(OpError::unsupported(format!("executing {} without a session", self.name().name)))
    }
}
