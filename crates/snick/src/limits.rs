//! Limits of work.

use std::time::Duration;

use crate::Error;

/// Limits that end work with [`Error::Limit`]. There are none by default.
///
/// ```
/// use std::time::Duration;
/// use snick::Limits;
///
/// let limits = Limits::new().layers(100_000).time(Duration::from_secs(30));
/// # let _ = limits;
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Limits {
    /// Layers of a model, those of bodies included.
    pub layers: Option<usize>,
    /// Time of a run.
    pub time: Option<Duration>,
}

impl Limits {
    /// No limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the layers of a model, those of bodies included.
    #[must_use]
    pub fn layers(self, layers: usize) -> Self {
        Self { layers: Some(layers), ..self }
    }

    /// Limits the time of a run; it is looked at after each layer.
    #[must_use]
    pub fn time(self, time: Duration) -> Self {
        Self { time: Some(time), ..self }
    }

    /// An error if a model has too many layers.
    pub(crate) fn check_layers(self, layers: usize) -> Result<(), Error> {
        match self.layers.filter(|&limit| layers > limit) {
            Some(limit) => Err(Error::Limit { limit: format!("{limit} layers"), layer: String::new() }),
            None => Ok(()),
        }
    }
}
