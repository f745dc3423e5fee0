//! Serialises the differences in the format of `diff --format json`.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use snick_ir::Loc;

use super::{EndChange, LayerChange, LayerRef, ModelDiff, ShapeDrift, WeightChange, serial};

/// The names, locations and bodies of a layer that both models have.
#[derive(Serialize)]
struct LayerPair<'l> {
    a: &'l str,
    b: &'l str,
    op: &'l str,
    #[serde(serialize_with = "serial::loc")]
    loc: Loc,
    #[serde(serialize_with = "serial::loc")]
    loc_b: Loc,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'l str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_b: Option<&'l str>,
}

impl<'l> LayerPair<'l> {
    fn new(a: &'l LayerRef, b: &'l LayerRef) -> Self {
        let (body, body_b) = (a.body.as_deref(), b.body.as_deref());
        Self { a: &a.name, b: &b.name, op: &a.op, loc: a.loc, loc_b: b.loc, body, body_b }
    }
}

pub(super) fn pair<S: Serializer>([a, b]: &[LayerRef; 2], serializer: S) -> Result<S::Ok, S::Error> {
    LayerPair::new(a, b).serialize(serializer)
}

impl Serialize for ModelDiff {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Answer<'d> {
            inputs: &'d [EndChange],
            outputs: &'d [EndChange],
            layers: Layers<'d>,
            shape_drift: &'d Option<ShapeDrift>,
            uncompared: usize,
        }
        #[derive(Serialize)]
        struct Layers<'d> {
            same: usize,
            renamed: usize,
            added: &'d [LayerRef],
            removed: &'d [LayerRef],
            changed: &'d [LayerChange],
        }
        let Self { inputs, outputs, same, renamed, added, removed, changed, shape_drift, .. } = self;
        let layers = Layers { same: *same, renamed: *renamed, added, removed, changed };
        Answer { inputs, outputs, layers, shape_drift, uncompared: self.uncompared }.serialize(serializer)
    }
}

impl Serialize for LayerChange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Answer<'c> {
            #[serde(flatten)]
            layers: LayerPair<'c>,
            attrs: BTreeMap<&'c str, &'c [Option<String>; 2]>,
            inputs: Vec<Input<'c>>,
            weights: Option<WeightChange>,
            types: Option<[&'c str; 2]>,
            shapes: &'c Option<[String; 2]>,
        }
        #[derive(Serialize)]
        struct Input<'c> {
            port: usize,
            reads: [&'c Option<String>; 2],
        }
        let inputs = self.inputs.iter().map(|input| Input { port: input.port, reads: [&input.a, &input.b] });
        let answer = Answer {
            layers: LayerPair::new(&self.a, &self.b),
            attrs: self.attrs.iter().map(|attr| (attr.name.as_str(), &attr.values)).collect(),
            inputs: inputs.collect(),
            weights: self.weights,
            types: self.types.map(|types| types.map(|element_type| element_type.name())),
            shapes: &self.shapes,
        };
        answer.serialize(serializer)
    }
}

impl Serialize for EndChange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Answer<'e> {
            a: Option<&'e str>,
            b: Option<&'e str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            index: Option<usize>,
            #[serde(skip_serializing_if = "Option::is_none")]
            index_b: Option<usize>,
            types: Option<[&'e str; 2]>,
            shapes: Option<[&'e str; 2]>,
            moved: bool,
            exchanged: bool,
        }
        let [a, b] = [&self.a, &self.b].map(Option::as_ref);
        let both = a.zip(b);
        let types = both.map(|(a, b)| [a.element_type.name(), b.element_type.name()]);
        let shapes = both.map(|(a, b)| [a.shape.as_str(), b.shape.as_str()]);
        let answer = Answer {
            a: a.map(|end| end.name.as_str()),
            b: b.map(|end| end.name.as_str()),
            index: a.map(|end| end.index),
            index_b: b.map(|end| end.index),
            types: types.filter(|[a, b]| a != b),
            shapes: shapes.filter(|[a, b]| a != b),
            moved: self.is_moved,
            exchanged: self.is_exchanged,
        };
        answer.serialize(serializer)
    }
}
