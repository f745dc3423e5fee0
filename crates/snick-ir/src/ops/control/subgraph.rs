//! TensorIterator-1, Loop-5 and If-8: ops that own bodies, and the maps between their ports and the bodies'.

use smallvec::SmallVec;
use snick_tensor::Tensor;

use super::opaque::declared_facts;
use crate::{Arity, AttrValue, Attrs, Facts, Graph, Infer, OpDef, OpError, OpName, RawNode};

/// Which op it is.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Iterates over slices of its inputs.
    TensorIterator,
    /// Iterates while a condition holds.
    Loop,
    /// Runs one of two bodies.
    If,
}

/// An op with bodies. Until its rule is known to inference, the declared ports are its facts.
#[derive(Clone, PartialEq, Debug)]
pub struct SubGraph {
    /// Which op it is.
    pub kind: Kind,
    /// `body`; or `then_body`, `else_body`.
    pub bodies: Vec<Graph>,
    /// A port map a body.
    pub maps: Vec<PortMap>,
}

/// How the ports of the op and the Parameters and Results of a body hang together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PortMap {
    /// Into the body.
    pub inputs: Vec<PortLink>,
    /// Out of the body.
    pub outputs: Vec<PortLink>,
    /// From a Result to a Parameter of the next iteration, each by its number among its kind.
    pub back_edges: Vec<(usize, usize)>,
}

/// One entry of a port map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortLink {
    /// Number of the op's input or output; `None` for what never leaves the op.
    pub external: Option<usize>,
    /// Number of the body's Parameter or Result.
    pub internal: usize,
    /// `axis`, `start`, `end`, `stride`, `part_size`, `purpose`: as the file gives them, in this order.
    pub notes: Vec<(String, String)>,
}

/// The notes of a [`PortLink`] that are read.
pub const LINK_NOTES: [&str; 6] = ["axis", "start", "end", "stride", "part_size", "purpose"];

/// Attribute names by body: inputs, outputs, back edges.
const MAP_NAMES: [[&str; 3]; 2] =
    [["inputs", "outputs", "back_edges"], ["else_inputs", "else_outputs", "else_back_edges"]];

impl SubGraph {
    /// Names of the bodies, in order.
    pub fn roles(&self) -> &'static [&'static str] {
        match self.kind {
            Kind::TensorIterator | Kind::Loop => &["body"],
            Kind::If => &["then_body", "else_body"],
        }
    }
}

impl OpDef for SubGraph {
    const NAMES: &'static [OpName] = &[
        OpName::openvino("TensorIterator", &[1]),
        OpName::openvino("Loop", &[5]),
        OpName::openvino("If", &[8]),
    ];
    const ARITY: Arity = Arity::at_least(0);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let kind = match raw.op_type.to_ascii_lowercase().as_str() {
            "tensoriterator" => Kind::TensorIterator,
            "loop" => Kind::Loop,
            _ => Kind::If,
        };
        let mut op = Self { kind, bodies: raw.bodies.take(), maps: Vec::new() };
        if op.bodies.len() != op.roles().len() {
            return Err(OpError::mismatch("the number of bodies", op.bodies.len(), op.roles().len()));
        }
        for names in &MAP_NAMES[..op.bodies.len()] {
            let links = |name| -> Result<Vec<PortLink>, OpError> {
                let texts = raw.attrs.texts(name)?.unwrap_or_default();
                let links = texts.iter().map(|text| PortLink::parse(text)).collect::<Option<_>>();
                links.ok_or_else(|| raw.attrs.bad(name, "external -> internal note=value ..."))
            };
            let back = raw.attrs.ints(names[2])?.unwrap_or_default();
            op.maps.push(PortMap {
                inputs: links(names[0])?,
                outputs: links(names[1])?,
                back_edges: back.chunks_exact(2).map(|pair| (pair[0] as usize, pair[1] as usize)).collect(),
            });
        }
        Ok(op)
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

    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        Ok(declared_facts(cx))
    }

    fn eval(&self, _: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Err(OpError::unsupported(format!("executing {}", self.name().name)))
    }
}

/// `0 -> 1 axis=1 start=-1`; an entry without external port begins with `_`.
impl std::fmt::Display for PortLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.external {
            Some(port) => write!(f, "{port} -> {}", self.internal)?,
            None => write!(f, "_ -> {}", self.internal)?,
        }
        self.notes.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

impl PortLink {
    fn parse(text: &str) -> Option<Self> {
        let (external, rest) = text.split_once(" -> ")?;
        let external = if external == "_" { None } else { Some(external.parse().ok()?) };
        let mut words = rest.split(' ');
        let internal = words.next()?.parse().ok()?;
        let notes = words.map(|word| word.split_once('=').map(|(n, v)| (n.to_string(), v.to_string())));
        Some(Self { external, internal, notes: notes.collect::<Option<_>>()? })
    }
}
