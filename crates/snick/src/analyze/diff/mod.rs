//! Compares two models: finds corresponding layers, and separates the causes of differences from their
//! consequences.

mod causes;
mod compare;
mod describe;
mod ends;
mod fingerprint;
mod groups;
mod json;
mod layer;
mod matching;
mod nearest;
mod port_map;
mod scope;
mod symbol_names;
mod weights;

use serde::Serialize;
use snick_ir::{Loc, NodeId, NodeRef};
use snick_tensor::ElementType;

use super::serial;

use self::compare::Comparison;
pub use self::describe::ChangeDetail;
pub use self::groups::ChangeGroup;
pub use self::weights::WeightChange;
use crate::{Error, Model};

/// Options for comparing models.
///
/// ```
/// use snick::DiffOptions;
///
/// # let text = |op: &str| format!("snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"4\"}}\n  \
/// #     %start = Const-1 i64[1] <1>\n  %stop = Const-1 i64[1] <3>\n  %step = Const-1 i64[1] <1>\n  \
/// #     {op}\n  %y = Result-1(%s)\n}}\n");
/// let slice = "%s = Slice-8(%x, %start, %stop, %step)";
/// let strided = "%s = StridedSlice-1(%x, %start, %stop, %step) {begin_mask: [0], end_mask: [0]}";
/// let mut models = [snick::parse(&text(slice))?, snick::parse(&text(strided))?];
/// for model in &mut models {
///     model.infer().into_result()?;
/// }
/// let [a, b] = &models;
/// assert!(!snick::diff(a, b, &DiffOptions::new())?.is_equal());
/// assert!(snick::diff(a, b, &DiffOptions::new().canon(true))?.is_equal());
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DiffOptions {
    canon: bool,
}

impl DiffOptions {
    /// Compares the models as they are.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether to compare the models in canonical form. The models themselves are not changed.
    #[must_use]
    pub fn canon(self, canon: bool) -> Self {
        Self { canon }
    }
}

/// The differences between two models.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct ModelDiff {
    /// The inputs that differ in any way, including names.
    pub inputs: Vec<EndChange>,
    /// The outputs that differ in any way, including names.
    pub outputs: Vec<EndChange>,
    /// Number of layers that both models have under the same name, including layers of bodies.
    pub same: usize,
    /// Number of layers that both models have under different names.
    pub renamed: usize,
    /// Layers that only the second model has.
    pub added: Vec<LayerRef>,
    /// Layers that only the first model has.
    pub removed: Vec<LayerRef>,
    /// Layers that both models have, with a difference that is not a consequence of another difference.
    pub changed: Vec<LayerChange>,
    /// Equal layers whose shapes or types changed because their inputs did.
    pub shape_drift: Option<ShapeDrift>,
    /// Number of constants that were not compared because neither model has their elements.
    pub uncompared: usize,
    /// The corresponding layers, excluding layers of bodies, in execution order of the first model.
    pub pairs: Vec<(NodeId, NodeId)>,
}

impl ModelDiff {
    /// Whether the models are equal except for names and the order of layers.
    pub fn is_equal(&self) -> bool {
        let has_difference = |ends: &[EndChange]| ends.iter().any(EndChange::is_difference);
        self.added.is_empty()
            && self.removed.is_empty()
            && self.changed.is_empty()
            && !has_difference(&self.inputs)
            && !has_difference(&self.outputs)
    }
}

/// A layer of one of the models.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct LayerRef {
    /// Its name.
    pub name: String,
    /// Its operation type.
    pub op: String,
    /// Its location in the file.
    #[serde(serialize_with = "serial::loc")]
    pub loc: Loc,
    /// The layers and bodies that contain the layer, outermost first: `loop/body`. `None` for a layer of the
    /// model itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// A layer of the model itself.
impl From<NodeRef<'_>> for LayerRef {
    fn from(node: NodeRef<'_>) -> Self {
        Self::of(node, "")
    }
}

impl LayerRef {
    /// A layer inside these bodies, if any.
    fn of(node: NodeRef, bodies: &str) -> Self {
        let (name, op) = (node.name().to_string(), node.op().type_name().to_string());
        Self { name, op, loc: node.loc(), body: (!bodies.is_empty()).then(|| bodies.to_string()) }
    }
}

/// A layer that both models have, with a difference that is not a consequence of another difference.
#[derive(Clone, Default, PartialEq, Debug)]
#[non_exhaustive]
pub struct LayerChange {
    /// The layer of the first model.
    pub a: LayerRef,
    /// The layer of the second model.
    pub b: LayerRef,
    /// The differing attributes, including the version of the operation.
    pub attrs: Vec<AttrChange>,
    /// The inputs that read a different value.
    pub inputs: Vec<RewiredInput>,
    /// The differences between the elements of a constant in the two models, if the numbers of elements are
    /// equal.
    pub weights: Option<WeightChange>,
    /// The element types, if they differ although the types of the inputs agree.
    pub types: Option<[ElementType; 2]>,
    /// The shapes, if they differ although the shapes of the inputs agree.
    pub shapes: Option<[String; 2]>,
    /// Whether the layer is a constant whose elements differ or may differ, but are not available in both
    /// models.
    pub lacks_elements: bool,
}

impl LayerChange {
    fn is_empty(&self) -> bool {
        self.attrs.is_empty()
            && self.inputs.is_empty()
            && self.weights.is_none()
            && !self.lacks_elements
            && self.types.is_none()
            && self.shapes.is_none()
    }
}

/// An attribute that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct AttrChange {
    /// Its name; `version` means the version of the operation.
    pub name: String,
    /// The values in both models; `None` if absent.
    pub values: [Option<String>; 2],
}

/// An input that reads a different value.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RewiredInput {
    /// The index of the input.
    pub port: usize,
    /// Its source in the first model: a layer, or `LAYER:PORT`.
    pub a: Option<String>,
    /// Its source in the second model.
    pub b: Option<String>,
}

/// Equal layers whose shapes or types changed because their inputs did.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct ShapeDrift {
    /// The first such layer in both models.
    #[serde(serialize_with = "json::pair")]
    pub first: [LayerRef; 2],
    /// Type and shape of its first output that differs, in both models.
    pub facts: [String; 2],
    /// The number of such layers, including layers of bodies.
    pub layers: usize,
}

/// An input or output of one of the models.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ModelEnd {
    /// The public name; see [`public_name`](crate::public_name).
    pub name: String,
    /// Its index in file order.
    pub index: usize,
    /// Its element type.
    pub element_type: ElementType,
    /// Its shape.
    pub shape: String,
    /// Its location in the file.
    pub loc: Loc,
}

/// An input or output that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EndChange {
    /// The input or output of the first model; `None` if only the second model has it.
    pub a: Option<ModelEnd>,
    /// The input or output of the second model; `None` if only the first model has it.
    pub b: Option<ModelEnd>,
    /// Whether it has a different position in each model, counting only the inputs or outputs that both
    /// models have.
    pub is_moved: bool,
    /// Whether one of its tensor names belongs to a different input or output in the other model.
    pub is_exchanged: bool,
}

impl EndChange {
    /// Whether the models are different because of this change. A new name is not a difference, unless
    /// another input or output of the other model has this name. Types and shapes are not considered, because
    /// they are determined by the layers, which are compared separately.
    fn is_difference(&self) -> bool {
        self.a.is_none() || self.b.is_none() || self.is_moved || self.is_exchanged
    }
}

/// Compares two inferred models. Layers are matched by structure, regardless of their names and order, so a
/// model is equal to another export of the same model.
///
/// ```
/// use snick::DiffOptions;
///
/// # let text = |eps: &str, name: &str| format!("snick 1\ngraph \"g\" {{\n  \
/// #     %x = Parameter-1 {{element_type: f32, shape: \"1,4\"}}\n  %axes = Const-1 i64[1] <1>\n  \
/// #     %{name} = MVN-6(%x, %axes) {{eps: {eps}, normalize_variance: true, eps_mode: \"inside_sqrt\"}}\n  \
/// #     %y = Result-1(%{name})\n}}\n");
/// let mut models = [snick::parse(&text("1e-12", "norm"))?, snick::parse(&text("1e-5", "MVN_7"))?];
/// for model in &mut models {
///     model.infer().into_result()?;
/// }
/// let [a, b] = &models;
/// let diff = snick::diff(a, b, &DiffOptions::new())?;
/// assert!(!diff.is_equal());
/// let [change] = diff.changed.as_slice() else { panic!("one cause") };
/// assert_eq!((change.a.name.as_str(), change.b.name.as_str()), ("norm", "MVN_7"));
/// assert_eq!(change.attrs[0].values, [Some("1e-12".into()), Some("1e-5".into())]);
/// # Ok::<(), snick::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] if the layers of a model form a cycle.
pub fn diff(a: &Model, b: &Model, options: &DiffOptions) -> Result<ModelDiff, Error> {
    if options.canon {
        let canonical = |model: &Model| {
            let mut model = model.clone();
            // Layers that no rule can rewrite stay as they are.
            let _ = model.canonicalise();
            model
        };
        return Comparison::of(canonical(a).graph(), canonical(b).graph());
    }
    Comparison::of(a.graph(), b.graph())
}
