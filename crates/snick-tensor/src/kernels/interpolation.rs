//! How an interpolation resamples: the attributes of OpenVINO's `Interpolate-4` and `Interpolate-11`.

/// How output elements are computed from input elements.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum InterpolateMode {
    /// The nearest element.
    Nearest,
    /// Linear between the two neighbours, as in ONNX.
    LinearOnnx,
    /// A triangle filter, which `antialias` widens to the step of each axis.
    Linear,
    /// Four neighbours, weighted by cubics.
    Cubic,
    /// The triangle filter of the Pillow library.
    BilinearPillow,
    /// The cubic filter of the Pillow library.
    BicubicPillow,
}

/// How a coordinate is rounded to the nearest element.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Nearest {
    /// Rounded, halves down.
    RoundPreferFloor,
    /// Rounded, halves up.
    RoundPreferCeil,
    /// Rounded down.
    Floor,
    /// Rounded up.
    Ceil,
    /// Rounded up when shrinking, truncated otherwise.
    Simple,
}

/// The input coordinate of an output index.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Coordinates {
    /// `(x + 0.5) / scale - 0.5`.
    HalfPixel,
    /// As `HalfPixel`, but 0 if the output has one element.
    PytorchHalfPixel,
    /// `x / scale`.
    Asymmetric,
    /// `(x + 0.5) / scale`.
    TfHalfPixelForNn,
    /// `x * ((in - 1) / (out - 1))`: first and last elements coincide.
    AlignCorners,
}

/// The attributes of an interpolation.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Interpolate {
    /// How elements are computed.
    pub mode: InterpolateMode,
    /// For [`InterpolateMode::Nearest`].
    pub nearest: Nearest,
    /// Ignored by the Pillow modes.
    pub coordinates: Coordinates,
    /// For [`InterpolateMode::Linear`].
    pub antialias: bool,
    /// The coefficient `a` of [`InterpolateMode::Cubic`], usually -0.75 or -0.5.
    pub cube_coeff: f64,
}

impl Coordinates {
    /// The input coordinate of output `x` of an axis, in 32 bits as in the OpenVINO runtime.
    pub fn source(self, x: usize, scale: f32, input: usize, output: usize) -> f32 {
        let at = x as f32;
        if scale == 1.0 || input == output {
            return at;
        }
        match self {
            Coordinates::PytorchHalfPixel if output <= 1 => 0.0,
            Coordinates::HalfPixel | Coordinates::PytorchHalfPixel => (at + 0.5) / scale - 0.5,
            Coordinates::Asymmetric => at / scale,
            Coordinates::TfHalfPixelForNn => (at + 0.5) / scale,
            Coordinates::AlignCorners if output <= 1 => 0.0,
            Coordinates::AlignCorners => at * ((input - 1) as f32 / (output - 1) as f32),
        }
    }
}

impl Nearest {
    /// Rounds a coordinate to an index, which may lie outside the axis. `scale` is the ratio of output to
    /// input size.
    pub fn round(self, x: f32, scale: f32) -> f32 {
        match self {
            Nearest::RoundPreferFloor if x == x.trunc() + 0.5 => x.floor(),
            Nearest::RoundPreferFloor | Nearest::RoundPreferCeil => x.round(),
            Nearest::Floor => x.floor(),
            Nearest::Ceil => x.ceil(),
            Nearest::Simple if scale < 1.0 => x.ceil(),
            Nearest::Simple => x.trunc(),
        }
    }
}
