//! Limits and progress callbacks that are set in Python, and Ctrl-C during work in Rust.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use snick::{Limits, Progress};

/// The interval at which Python checks for signals.
const PERIOD: Duration = Duration::from_millis(100);

/// Limits on layers, bytes and seconds.
pub fn limits(layers: Option<usize>, memory: Option<usize>, time: Option<f64>) -> PyResult<Limits> {
    let mut limits = Limits::new();
    (limits.layers, limits.memory) = (layers, memory);
    if let Some(seconds) = time {
        let time = Duration::try_from_secs_f64(seconds).map_err(|_| {
            PyValueError::new_err(format!("a time limit of {seconds} seconds; expected 0 or more"))
        })?;
        limits.time = Some(time);
    }
    Ok(limits)
}

/// Lets Python report progress and check for signals while Rust works without the GIL. If the progress callback
/// or a signal handler raises an exception, such as `KeyboardInterrupt`, the work stops.
#[derive(Clone)]
pub struct Interrupt(Arc<Asked>);

struct Asked {
    start: Instant,
    /// The number of layers from one reading of the clock to the next.
    stride: u64,
    layers: AtomicU64,
    /// The time of the next check for signals, in milliseconds since the start.
    next: AtomicU64,
    /// The callback of the user.
    callback: Option<Py<PyAny>>,
    raised: Mutex<Option<PyErr>>,
}

impl Interrupt {
    /// For work in which each layer takes a long time, such as a run.
    pub fn of_run(callback: Option<Py<PyAny>>) -> Self {
        Self::every(1, callback)
    }

    /// For work in which a layer takes less time than reading the clock.
    pub fn new(callback: Option<Py<PyAny>>) -> Self {
        Self::every(64, callback)
    }

    fn every(stride: u64, callback: Option<Py<PyAny>>) -> Self {
        let (layers, next) = (AtomicU64::new(0), AtomicU64::new(millis(PERIOD)));
        let start = Instant::now();
        Self(Arc::new(Asked { start, stride, layers, next, callback, raised: Mutex::default() }))
    }

    /// The progress callback. It stops the work if the user's callback or a signal handler raises an exception.
    pub fn progress(&self) -> impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static {
        let asked = self.0.clone();
        move |progress| {
            if let Some(callback) = &asked.callback {
                return asked.stop_if_raised(|py| {
                    callback.call1(
                        py,
                        (progress_class(py)?.call1((progress.done, progress.layers, progress.layer))?,),
                    )?;
                    py.check_signals()
                });
            }
            if !asked.layers.fetch_add(1, Ordering::Relaxed).is_multiple_of(asked.stride) {
                return ControlFlow::Continue(());
            }
            let now = millis(asked.start.elapsed());
            if now < asked.next.load(Ordering::Relaxed) {
                return ControlFlow::Continue(());
            }
            asked.next.store(now.saturating_add(millis(PERIOD)), Ordering::Relaxed);
            asked.stop_if_raised(|py| py.check_signals())
        }
    }

    /// The exception that a signal handler has raised, if any.
    pub fn raised(&self) -> Option<PyErr> {
        self.0.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Asked {
    /// Calls Python, and stops the work if it raises an exception.
    fn stop_if_raised(&self, call: impl FnOnce(Python<'_>) -> PyResult<()>) -> ControlFlow<()> {
        match Python::attach(call) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// The class of the argument of progress callbacks, which is defined in Python.
fn progress_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "snick._progress", "Progress")
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
