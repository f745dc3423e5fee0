//! Kinds of recurrent cells and their attributes.

use super::activation::{Activation, ActivationSettings, Activations};
use super::direction::Direction;
use crate::{Op, OpError};

/// The kind of a cell.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum CellKind {
    /// Long short-term memory: states H and C, gates f, i, c, o.
    Lstm,
    /// Gated recurrent unit: gates z, r, h.
    Gru {
        /// Whether to apply the reset gate after the product with R, which then has a separate bias.
        linear_before_reset: bool,
    },
    /// Simple recurrent network with one gate.
    Rnn,
}

impl CellKind {
    /// Number of states.
    pub fn states(self) -> usize {
        if self == Self::Lstm { 2 } else { 1 }
    }

    /// Number of gates in W and R.
    pub fn gates(self) -> usize {
        match self {
            Self::Lstm => 4,
            Self::Gru { .. } => 3,
            Self::Rnn => 1,
        }
    }

    /// Number of gates in the bias.
    pub fn biases(self) -> usize {
        match self {
            Self::Gru { linear_before_reset: true } => 4,
            _ => self.gates(),
        }
    }

    fn default_activations(self) -> &'static [&'static str] {
        match self {
            Self::Lstm => &["sigmoid", "tanh", "tanh"],
            Self::Gru { .. } => &["sigmoid", "tanh"],
            Self::Rnn => &["tanh"],
        }
    }
}

attrs! {
    /// Attributes of LSTM ops.
    pub struct LstmAttrs {
        /// Size of a state; ignored, as in OpenVINO, because the weights determine the size.
        pub hidden_size: i64 = 0,
        /// Activations of gates f, i and o, of gate c, and of C in the output.
        pub activations: Activations = CellKind::Lstm.default_activations().into(),
        /// Parameters of the activations.
        pub settings: ActivationSettings = ActivationSettings::default(),
    }
}

attrs! {
    /// Attributes of GRU ops.
    pub struct GruAttrs {
        /// Size of a state; ignored, as in OpenVINO, because the weights determine the size.
        pub hidden_size: i64 = 0,
        /// Activations of gates z and r, and of gate h.
        pub activations: Activations =
            CellKind::Gru { linear_before_reset: false }.default_activations().into(),
        /// Parameters of the activations.
        pub settings: ActivationSettings = ActivationSettings::default(),
        /// Whether to apply the reset gate after the product with R, which then has a separate bias.
        pub linear_before_reset: bool = false,
    }
}

attrs! {
    /// Attributes of simple RNN ops.
    pub struct RnnAttrs {
        /// Size of a state; ignored, as in OpenVINO, because the weights determine the size.
        pub hidden_size: i64 = 0,
        /// The activation.
        pub activations: Activations = CellKind::Rnn.default_activations().into(),
        /// Parameters of the activation.
        pub settings: ActivationSettings = ActivationSettings::default(),
    }
}

/// The order of the gates in the weights of an LSTM. OpenVINO ignores it and always reads f, i, c, o.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each variant lists the gates")]
pub enum WeightsFormat {
    Fico,
    Icof,
    Ifco,
    Ifoc,
    Iofc,
}

attr_words!(WeightsFormat { Fico = "fico", Icof = "icof", Ifco = "ifco", Ifoc = "ifoc", Iofc = "iofc" });

impl LstmAttrs {
    /// The cell with these attributes; with `input_forget`, its forget gate is `1 - i`.
    pub(super) fn cell(&self, input_forget: bool) -> Cell {
        Cell { input_forget, ..Cell::new(CellKind::Lstm, &self.activations, &self.settings) }
    }
}

impl GruAttrs {
    pub(super) fn cell(&self) -> Cell {
        let kind = CellKind::Gru { linear_before_reset: self.linear_before_reset };
        Cell::new(kind, &self.activations, &self.settings)
    }
}

impl RnnAttrs {
    pub(super) fn cell(&self) -> Cell {
        Cell::new(CellKind::Rnn, &self.activations, &self.settings)
    }
}

/// A recurrent cell.
#[derive(Clone, PartialEq, Debug)]
pub struct Cell {
    /// The kind of the cell.
    pub kind: CellKind,
    /// The names of the activations of the cell.
    pub activations: Vec<String>,
    /// Parameters of the activations.
    pub settings: ActivationSettings,
    /// Whether the forget gate of an LSTM is `1 - i`.
    pub input_forget: bool,
}

impl Cell {
    fn new(kind: CellKind, activations: &Activations, settings: &ActivationSettings) -> Self {
        Self { kind, activations: activations.0.clone(), settings: settings.clone(), input_forget: false }
    }

    /// The cell of a recurrent op; for sequences, also the direction.
    pub fn of(op: &Op) -> Option<(Self, Option<Direction>)> {
        match op {
            Op::LstmCell(op) => Some((op.cell(), None)),
            Op::GruCell(op) => Some((op.gru.cell(), None)),
            Op::RnnCell(op) => Some((op.rnn.cell(), None)),
            Op::LstmSequence(op) => Some((op.cell(), Some(op.direction))),
            Op::GruSequence(op) => Some((op.gru.cell(), Some(op.direction))),
            Op::RnnSequence(op) => Some((op.rnn.cell(), Some(op.direction))),
            _ => None,
        }
    }

    /// The name of activation `i`, which may be the default.
    pub fn activation(&self, i: usize) -> &str {
        let named = self.activations.get(i).map(String::as_str);
        named.or_else(|| self.kind.default_activations().get(i).copied()).unwrap_or("tanh")
    }

    /// The parameters of activation `i`. Missing parameters default to the parameters of HardSigmoid, since
    /// no other activation with parameters can be evaluated.
    pub fn parameters(&self, i: usize) -> [f64; 2] {
        let parameter = |list: &[f64], default| list.get(i).copied().unwrap_or(default);
        [parameter(&self.settings.activations_alpha, 0.2), parameter(&self.settings.activations_beta, 0.5)]
    }

    /// Activation `i`; if `clipped`, its inputs are clamped.
    pub fn function(&self, i: usize, clipped: bool) -> Result<Activation, OpError> {
        let clip = if clipped { self.settings.clip } else { 0.0 };
        Activation::new(self.activation(i), self.parameters(i), clip)
    }
}
