//! The time limit of a command.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::outcome::Failure;

/// The optional deadline of a command, and the last layer that reported progress.
#[derive(Clone, Debug, Default)]
pub struct Deadline(Option<Arc<Timer>>);

#[derive(Debug)]
struct Timer {
    timeout: Duration,
    end: Instant,
    /// The last layer that reported progress; empty if none did.
    layer: Mutex<String>,
}

/// How long work that reports no progress may exceed the deadline before the process ends.
const GRACE: Duration = Duration::from_millis(200);

impl Deadline {
    /// Starts the clock. Work that reports progress with [`Self::advance`] stops at the deadline. For other
    /// work, the process is ended by [`Self::on_overrun`].
    pub fn start(timeout: Option<Duration>) -> Self {
        let timer = timeout.and_then(|timeout| {
            let end = Instant::now().checked_add(timeout)?;
            Some(Arc::new(Timer { timeout, end, layer: Mutex::default() }))
        });
        Self(timer)
    }

    /// Calls `end` with the failure once the deadline has passed by more than [`GRACE`].
    pub fn on_overrun(&self, end: impl FnOnce(Failure) + Send + 'static) {
        let Some(timer) = self.0.clone() else { return };
        std::thread::spawn(move || {
            std::thread::sleep(timer.timeout.saturating_add(GRACE));
            end(timer.failure());
        });
    }

    /// Reports that a layer is done. Returns `Break` after the deadline.
    pub fn advance(&self, layer: &str) -> ControlFlow<()> {
        let Some(timer) = &self.0 else { return ControlFlow::Continue(()) };
        let mut last = timer.layer.lock().unwrap_or_else(PoisonError::into_inner);
        last.clear();
        last.push_str(layer);
        if Instant::now() >= timer.end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Fails after the deadline.
    pub fn check(&self) -> Result<(), Failure> {
        match &self.0 {
            Some(timer) if Instant::now() >= timer.end => Err(timer.failure()),
            _ => Ok(()),
        }
    }

    /// Whether there is a deadline.
    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }
}

impl Timer {
    fn failure(&self) -> Failure {
        let layer = self.layer.lock().unwrap_or_else(PoisonError::into_inner);
        let at = if layer.is_empty() { String::new() } else { format!(" at layer `{layer}`") };
        Failure::Limit(format!("timed out after {:?} (--timeout){at}", self.timeout))
    }
}

/// Parses a time such as `30s`, `500ms`, `2m` or `1.5h`. A number without a unit means seconds.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1e-3,
        "s" | "" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("expected a time such as 30s, 500ms, 2m or 1h".into()),
    };
    let seconds = digits.parse().ok().map(|number: f64| number * unit);
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| "expected a time such as 30s, 500ms, 2m or 1h".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(parse_time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_time("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_time("7"), Ok(Duration::from_secs(7)));
        for text in ["", "s", "soon", "-1s", "nan", "inf", "1e400s", "3 days"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
