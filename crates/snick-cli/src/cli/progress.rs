//! A progress bar on a terminal.

use std::io::Write as _;
use std::time::{Duration, Instant};

use snick_run::Progress;

use super::console::Console;
use super::waiting::Waiting;

/// A progress bar on standard error, for work that takes more than a second. It is only drawn on a terminal,
/// and dropping it erases it.
pub struct ProgressBar {
    /// When the work started; `None` if the bar is never drawn.
    started: Option<Instant>,
    drawn: Option<Instant>,
    waiting: Waiting,
}

impl ProgressBar {
    /// The bar appears after this delay.
    const DELAY: Duration = Duration::from_secs(1);
    const REDRAW_INTERVAL: Duration = Duration::from_millis(100);
    const WIDTH: usize = 40;

    /// Creates a bar that is not visible yet.
    pub fn new(console: &Console) -> Self {
        Self {
            started: console.shows_progress().then(Instant::now),
            drawn: None,
            waiting: console.waiting().clone(),
        }
    }

    /// Shows the progress in layers, at most ten times a second.
    pub fn advance(&mut self, progress: &Progress) {
        self.advance_to(progress.done, progress.layers, "layers");
    }

    /// Shows that `done` of `all` things are done.
    pub fn advance_to(&mut self, done: usize, all: usize, things: &str) {
        if self.started.is_none_or(|started| started.elapsed() < Self::DELAY) {
            return;
        }
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < Self::REDRAW_INTERVAL) {
            return;
        }
        self.drawn = Some(Instant::now());
        let filled = (done * Self::WIDTH).checked_div(all).unwrap_or(0);
        let bar: String = (0..Self::WIDTH).map(|i| if i < filled { '#' } else { ' ' }).collect();
        let _ = self.waiting.interrupt(|| write!(std::io::stderr(), "\r[{bar}] {done}/{all} {things}"));
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}
