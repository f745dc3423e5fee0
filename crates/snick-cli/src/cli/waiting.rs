//! A status line on a terminal while a command prints nothing.

use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a command prints nothing before the line appears.
const SILENCE: Duration = Duration::from_secs(2);

/// How often to update the line.
const INTERVAL: Duration = Duration::from_millis(500);

/// A line on standard error that says how long the command has been working. It appears after two seconds
/// without other output, and is erased before the next output.
#[derive(Clone, Debug, Default)]
pub struct Waiting(Option<Arc<Mutex<State>>>);

#[derive(Debug)]
struct State {
    started: Instant,
    /// When other output was last printed.
    printed: Instant,
    is_shown: bool,
}

impl Waiting {
    /// Starts the thread that prints the line.
    pub fn start() -> Self {
        let now = Instant::now();
        let state = Arc::new(Mutex::new(State { started: now, printed: now, is_shown: false }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(INTERVAL);
                let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(line) = state.line(Instant::now()) {
                    state.is_shown = true;
                    let _ = write!(std::io::stderr(), "\r{line}");
                }
            }
        });
        Self(Some(state))
    }

    /// Erases the line and prints something else. The line is not drawn in between.
    pub fn interrupt<T>(&self, print: impl FnOnce() -> T) -> T {
        let Some(state) = &self.0 else { return print() };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.printed = Instant::now();
        if std::mem::take(&mut state.is_shown) {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
        print()
    }
}

impl State {
    /// The line to show; `None` if something was printed recently.
    fn line(&self, now: Instant) -> Option<String> {
        let is_silent = now.duration_since(self.printed) >= SILENCE;
        is_silent.then(|| format!("working for {} s", now.duration_since(self.started).as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_appears_after_two_seconds_of_silence() {
        let started = Instant::now();
        let after = |milliseconds| started + Duration::from_millis(milliseconds);
        let mut state = State { started, printed: started, is_shown: false };
        assert_eq!(state.line(after(1999)), None);
        assert_eq!(state.line(after(2000)), Some("working for 2 s".to_string()));
        state.printed = after(7000);
        assert_eq!(state.line(after(8000)), None);
        assert_eq!(state.line(after(9500)), Some("working for 9 s".to_string()));
    }
}
