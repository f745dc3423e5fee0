//! What the recurrent ops share: which cell, its attributes, how its gates lie in the weights.

use snick_tensor::kernels::UnaryOp;

use crate::attrs::AttrValue;
use crate::{Arity, Attrs, OpError, RawNode};

/// Which cell.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum CellKind {
    /// Long short-term memory: states H and C, gates f, i, c, o.
    Lstm(Option<Legacy>),
    /// Gated recurrent unit: gates z, r, h.
    Gru {
        /// Whether the reset gate is applied after the product with R; the bias of that product stands apart then.
        linear_before_reset: bool,
    },
    /// One gate.
    Rnn,
}

/// What LSTMs of opset1 also say.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Legacy {
    /// Order of the gates in the weights as the file says it; OpenVINO reads f, i, c, o whatever it is.
    pub weights_format: &'static str,
    /// Whether the forget gate is `1 - i`.
    pub input_forget: bool,
}

const WEIGHTS_FORMATS: &[(&str, &str)] =
    &[("fico", "fico"), ("icof", "icof"), ("ifco", "ifco"), ("ifoc", "ifoc"), ("iofc", "iofc")];

/// Names that stand for a function, not all of which can be run.
const ACTIVATIONS: [&str; 11] = [
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

impl CellKind {
    /// States that go from step to step.
    pub fn states(self) -> usize {
        if matches!(self, Self::Lstm(_)) { 2 } else { 1 }
    }

    /// Blocks of rows in W and R.
    pub fn gates(self) -> usize {
        match self {
            Self::Lstm(_) => 4,
            Self::Gru { .. } => 3,
            Self::Rnn => 1,
        }
    }

    /// Blocks of the bias.
    pub fn biases(self) -> usize {
        match self {
            Self::Gru { linear_before_reset: true } => 4,
            _ => self.gates(),
        }
    }

    /// Number of inputs, of which `more` are not those of a cell. The first LSTM may have peepholes, and as a cell
    /// may lack the bias.
    pub fn arity(self, more: usize) -> Arity {
        let all = 4 + self.states() + more;
        match self {
            Self::Lstm(Some(_)) if more == 0 => Arity::between(all - 1, all + 1),
            Self::Lstm(Some(_)) => Arity::between(all, all + 1),
            _ => Arity::exactly(all),
        }
    }

    fn default_activations(self) -> &'static [&'static str] {
        match self {
            Self::Lstm(_) => &["sigmoid", "tanh", "tanh"],
            Self::Gru { .. } => &["sigmoid", "tanh"],
            Self::Rnn => &["tanh"],
        }
    }
}

/// A cell and its attributes. Sizes come from the weights: `hidden_size` is written down and not heeded, as in
/// OpenVINO.
#[derive(Clone, PartialEq, Debug)]
pub struct Cell {
    /// Which cell.
    pub kind: CellKind,
    /// Size of a state, as the file says it.
    pub hidden_size: i64,
    /// Functions by name: of the gates, of the new content, of C on its way to H.
    pub activations: Vec<String>,
    /// First parameters of the functions.
    pub activations_alpha: Vec<f64>,
    /// Second parameters of the functions.
    pub activations_beta: Vec<f64>,
    /// What goes into a function is kept within `-clip..clip`, if that is positive.
    pub clip: f64,
}

impl Cell {
    /// The attributes that a cell and its sequence share; the first letter of the type tells which it is.
    pub fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let attrs = &raw.attrs;
        let kind = match raw.op_type.as_bytes().first().map(u8::to_ascii_lowercase) {
            Some(b'l') if raw.since == 1 => CellKind::Lstm(Some(Legacy {
                weights_format: attrs.choice("weights_format", WEIGHTS_FORMATS)?.unwrap_or("ifco"),
                input_forget: attrs.bool("input_forget")?.unwrap_or(false),
            })),
            Some(b'l') => CellKind::Lstm(None),
            Some(b'g') => {
                CellKind::Gru { linear_before_reset: attrs.bool("linear_before_reset")?.unwrap_or(false) }
            }
            _ => CellKind::Rnn,
        };
        let activations = attrs.texts("activations")?.filter(|names| !names.is_empty());
        let known = |name: &String| ACTIVATIONS.iter().any(|known| known.eq_ignore_ascii_case(name));
        if activations.as_ref().is_some_and(|names| !names.iter().all(known)) {
            return Err(attrs.bad("activations", "names of activations"));
        }
        let default = || kind.default_activations().iter().map(|name| name.to_string()).collect();
        Ok(Self {
            kind,
            hidden_size: attrs.int("hidden_size")?.unwrap_or(0),
            activations: activations.unwrap_or_else(default),
            activations_alpha: attrs.floats("activations_alpha")?.unwrap_or_default(),
            activations_beta: attrs.floats("activations_beta")?.unwrap_or_default(),
            clip: attrs.float("clip")?.unwrap_or(0.0),
        })
    }

    /// The attributes.
    pub fn attrs(&self) -> Attrs<'static> {
        let mut attrs = Attrs::new().with("hidden_size", self.hidden_size);
        attrs.push("activations".into(), AttrValue::Texts(self.activations.clone()));
        attrs.push("activations_alpha".into(), AttrValue::Floats(self.activations_alpha.clone()));
        attrs.push("activations_beta".into(), AttrValue::Floats(self.activations_beta.clone()));
        let attrs = attrs.with("clip", self.clip);
        match self.kind {
            CellKind::Lstm(Some(Legacy { weights_format, input_forget })) => {
                attrs.with("input_forget", input_forget).with("weights_format", weights_format)
            }
            CellKind::Gru { linear_before_reset } => attrs.with("linear_before_reset", linear_before_reset),
            _ => attrs,
        }
    }

    /// The name of the function at a place of `activations`, or the one that stands there by default.
    pub fn activation(&self, place: usize) -> &str {
        let named = self.activations.get(place).map(String::as_str);
        named.or_else(|| self.kind.default_activations().get(place).copied()).unwrap_or("tanh")
    }

    /// The parameters of the function at a place of `activations`; where they are not there, those that HardSigmoid,
    /// which alone is run with any, has by default.
    pub fn parameters(&self, place: usize) -> [f64; 2] {
        let parameter = |list: &[f64], default| list.get(place).copied().unwrap_or(default);
        [parameter(&self.activations_alpha, 0.2), parameter(&self.activations_beta, 0.5)]
    }

    /// The function at a place of `activations`, what goes into it clipped if `clipped`.
    pub fn function(&self, place: usize, clipped: bool) -> Result<Activation, OpError> {
        let name = self.activation(place);
        let [alpha, beta] = self.parameters(place);
        let function = match name.to_ascii_lowercase().as_str() {
            "sigmoid" => UnaryOp::Sigmoid,
            "tanh" => UnaryOp::Tanh,
            "relu" => UnaryOp::Relu,
            "hardsigmoid" => UnaryOp::HardSigmoid { alpha, beta },
            _ => return Err(OpError::unsupported(format!("activation {name}"))),
        };
        Ok(Activation { function, clip: Some(self.clip as f32).filter(|&clip| clipped && clip > 0.0) })
    }
}

/// A function of gates or states.
#[derive(Copy, Clone, Debug)]
pub struct Activation {
    function: UnaryOp,
    /// How far from 0 may be what goes into it.
    clip: Option<f32>,
}

impl Activation {
    /// The function of every element, in their place.
    pub fn apply(&self, values: &mut [f32]) {
        if let Some(clip) = self.clip {
            values.iter_mut().for_each(|x| *x = x.clamp(-clip, clip));
        }
        self.function.apply_in_place(values);
    }
}
