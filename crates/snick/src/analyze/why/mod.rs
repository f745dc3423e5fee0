//! Explains a size, a value or an error of an inferred model.

mod bounds;
mod error;
mod relabel;
pub(super) mod suggest;
mod target;
mod text;
pub(crate) mod tree;
mod unknown;

use serde::{Serialize, Serializer};
use snick_ir::{Graph, Loc, Part, ValuePart};
use snick_shape::{Interval, SymExpr};

use super::serial;

pub use self::bounds::{BoundedOutput, Bounds};
pub use self::error::ExplainedError;
pub use self::suggest::Suggestion;
pub use self::target::Target;
pub use self::text::WhyText;
pub use self::unknown::{UnknownOrigin, Unknowns};

/// The origin of a part, which is a size or an element of a value.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Role {
    /// Declared by an input of the model or by a variable.
    Input,
    /// A constant, or a number that the layer determines independently of its inputs.
    Constant,
    /// Computed from the parts that the child nodes explain.
    Computed,
    /// A new symbol, because the size depends on the data of a run.
    Data,
    /// A new symbol that combines two sizes: it equals one of them, or both because they must be equal.
    Merged,
    /// A new symbol that depends on other symbols, because snick cannot express it in terms of them.
    GivenUp,
}

impl Role {
    /// `input`, `constant`, `computed`, `data`, `merged` or `given_up`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Constant => "constant",
            Self::Computed => "computed",
            Self::Data => "data",
            Self::Merged => "merged",
            Self::GivenUp => "given_up",
        }
    }
}

/// A size or an element of an output.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize)]
#[non_exhaustive]
pub struct Place {
    /// The layer.
    pub layer: String,
    /// Its operation type.
    pub op: String,
    /// The location of the layer in the file.
    #[serde(serialize_with = "serial::loc", skip_serializing_if = "serial::is_nowhere")]
    pub loc: Loc,
    /// The output port, numbered as in the file.
    pub port: u32,
    /// The axis; `None` for an element of the value.
    pub axis: Option<usize>,
    /// The element in row-major order; `None` for a size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub element: Option<usize>,
}

impl Place {
    fn of(graph: &Graph, ValuePart { value, part, .. }: ValuePart) -> Self {
        let node = graph.node(value.node);
        let (axis, element) = match part {
            Part::Dim(axis) => (Some(axis), None),
            Part::Element(index) => (None, Some(index)),
            _ => (None, None),
        };
        Self {
            layer: node.name().to_string(),
            op: node.op().type_name().to_string(),
            loc: node.loc(),
            port: node.output_id(value.port as usize, graph.inputs(value.node).len()),
            axis,
            element,
        }
    }
}

/// A node of the tree that explains a size or an element.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct WhyNode {
    /// The expression for the size or element.
    pub expr: String,
    /// The interval that contains all possible values of the expression.
    #[serde(serialize_with = "serial::interval")]
    pub interval: Interval,
    /// The layer and the part of its output.
    #[serde(flatten)]
    pub place: Place,
    /// The origin of the part.
    pub role: Role,
    /// The reason why the part is not known more precisely, or the source of its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The parts that this part is computed from; empty unless the role is [`Role::Computed`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<WhyNode>,
}

/// The explanation of a size or an element. Displayed as a tree.
///
/// ```
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"B,T,4\"}\n  \
/// #             %p = Parameter-1 {element_type: f32, shape: \"B,P,4\"}\n  \
/// #             %all = Concat-1(%p, %x) {axis: 1}\n  %y = Result-1(%all)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer().into_result()?;
/// let all = model.graph().node(model.graph().find("all").expect("layer"));
/// let why = model.why(all.output(0).expect("an output").axis(1))?;
/// assert_eq!(why.tree.expr, "T+P");
/// let leaves: Vec<_> = why.tree.from.iter().map(|node| node.place.layer.as_str()).collect();
/// assert_eq!(leaves, ["p", "x"]);
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Why {
    /// The tree of origins. Its root is the layer that creates the part.
    pub tree: WhyNode,
    /// The part to explain.
    pub target: Place,
    /// Whether the part is a number, or an expression of input symbols with an upper bound.
    pub known: bool,
    /// Input shapes that make the part known, or known more precisely. Each was confirmed by inference.
    pub suggestions: Vec<Suggestion>,
}

/// Serialized in the format of `why --format json`.
impl Serialize for Why {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Answer<'w> {
            target: &'w Place,
            dim: &'w str,
            #[serde(serialize_with = "serial::interval")]
            interval: Interval,
            known: bool,
            tree: &'w WhyNode,
            suggest: &'w [Suggestion],
        }
        let Self { tree, target, known, suggestions } = self;
        let (dim, interval) = (&tree.expr, tree.interval);
        Answer { target, dim, interval, known: *known, tree, suggest: suggestions }.serialize(serializer)
    }
}

impl crate::Model {
    /// Explains a size or an element of an output. Call [`Model::infer`](crate::Model::infer) first.
    ///
    /// # Errors
    /// [`Error::NoOutput`](crate::Error::NoOutput) if the output has no such part.
    pub fn why(&self, of: ValuePart) -> Result<Why, crate::Error> {
        let graph = self.graph();
        let has_part = graph.fact(of.value).is_some_and(|fact| of.part.of(fact).is_some());
        match has_part {
            true => {
                let mut why = tree::Tracer::new(graph).why(of);
                if !why.known && matches!(of.part, Part::Dim(_)) {
                    why.suggestions = suggest::Suggester::new(self).suggestions(of);
                }
                Ok(why)
            }
            false => Err(target::no_part(graph, of)),
        }
    }
}

/// Whether a part is a number, or has an upper bound and contains only symbols declared by inputs.
fn is_known(graph: &Graph, expr: &SymExpr, births: &super::symbols::Births) -> bool {
    let is_input = |symbol| births.kind(symbol) == super::BirthKind::Input;
    expr.as_const().is_some()
        || (graph.symbols().interval(expr).has_upper() && expr.symbols().into_iter().all(is_input))
}
