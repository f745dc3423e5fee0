//! Activations of recurrent cells.

use std::borrow::Cow;

use snick_tensor::kernels::UnaryOp;

use crate::op::AttrField;
use crate::{AttrValue, OpError, RawNode};

/// Names that OpenVINO accepts; not all can be evaluated.
const KNOWN: [&str; 11] = [
    "sigmoid",
    "tanh",
    "relu",
    "hardsigmoid",
    "affine",
    "elu",
    "leakyrelu",
    "scaledtanh",
    "softplus",
    "softsign",
    "thresholdedrelu",
];

/// Names of activations, compared ignoring case; empty for the defaults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Activations(pub Vec<String>);

impl From<&[&str]> for Activations {
    fn from(names: &[&str]) -> Self {
        Self(names.iter().map(|name| name.to_string()).collect())
    }
}

impl AttrField for Activations {
    fn kind() -> Cow<'static, str> {
        format!("list of {}", KNOWN.join(", ")).into()
    }

    fn parse(raw: &RawNode, name: &'static str) -> Result<Option<Self>, OpError> {
        let names = raw.attrs.texts(name)?.filter(|names| !names.is_empty());
        let known = |name: &String| KNOWN.iter().any(|known| known.eq_ignore_ascii_case(name));
        match names {
            Some(names) if !names.iter().all(known) => Err(raw.attrs.bad(name, "names of activations")),
            names => Ok(names.map(Self)),
        }
    }

    fn value(&self) -> Option<AttrValue<'static>> {
        Some(AttrValue::Texts(self.0.clone()))
    }
}

attrs! {
    /// Parameters of a cell's activations.
    pub struct ActivationSettings {
        /// First parameters of the activations.
        pub activations_alpha: Vec<f64> = Vec::new(),
        /// Second parameters of the activations.
        pub activations_beta: Vec<f64> = Vec::new(),
        /// If positive, inputs of activations are clamped to `-clip..=clip`.
        pub clip: f64 = 0.0,
    }
}

/// An activation of gates or states.
#[derive(Copy, Clone, Debug)]
pub struct Activation {
    function: UnaryOp,
    /// The magnitude to which inputs are clamped.
    clip: Option<f32>,
}

impl Activation {
    /// Looks up an activation by name, with its parameters alpha and beta.
    pub(super) fn new(name: &str, [alpha, beta]: [f64; 2], clip: f64) -> Result<Self, OpError> {
        let function = match name.to_ascii_lowercase().as_str() {
            "sigmoid" => UnaryOp::Sigmoid,
            "tanh" => UnaryOp::Tanh,
            "relu" => UnaryOp::Relu,
            "hardsigmoid" => UnaryOp::HardSigmoid { alpha, beta },
            _ => return Err(OpError::unsupported(format!("activation `{name}`"))),
        };
        Ok(Self { function, clip: Some(clip as f32).filter(|&clip| clip > 0.0) })
    }

    /// Applies the activation to every element in place.
    pub fn apply(&self, values: &mut [f32]) {
        if let Some(clip) = self.clip {
            values.iter_mut().for_each(|x| *x = x.clamp(-clip, clip));
        }
        self.function.apply_in_place(values);
    }
}
