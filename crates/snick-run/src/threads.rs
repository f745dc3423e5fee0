//! The threads of a session: a pool for each number of threads, which is started on first use.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder, Yield};
use snick_ir::OpError;

/// Teams by their number of threads.
#[derive(Default)]
pub(crate) struct Threads(Mutex<BTreeMap<usize, Arc<Team>>>);

/// A pool of threads that serves one run at a time.
pub(crate) struct Team {
    pool: ThreadPool,
    is_taken: AtomicBool,
}

impl Threads {
    /// A team of `count` threads, limited to the number of threads of the machine. `None` for a single
    /// thread, because the caller's thread suffices.
    pub(crate) fn team(&self, count: usize) -> Result<Option<Arc<Team>>, OpError> {
        // Cached, because querying takes longer than running a small model.
        static MACHINE: LazyLock<usize> =
            LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
        let count = if count > 1 { count.min(*MACHINE) } else { 1 };
        if count == 1 {
            return Ok(None);
        }
        let mut teams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(team) = teams.get(&count) {
            return Ok(Some(team.clone()));
        }
        let started = ThreadPoolBuilder::new().num_threads(count).build();
        let pool = started.map_err(|error| OpError::unsupported(format!("{count} threads: {error}")))?;
        let team = Arc::new(Team { pool, is_taken: AtomicBool::new(false) });
        teams.insert(count, team.clone());
        Ok(Some(team))
    }
}

impl Team {
    /// Calls `run` on one of the threads. The other threads stay awake until it returns, because most layers
    /// take less time than waking a thread. If another run is using the team, calls `run` on the caller's
    /// thread.
    pub(crate) fn run<R: Send>(&self, run: impl FnOnce() -> R + Send) -> R {
        if self.is_taken.swap(true, Ordering::Acquire) {
            return run();
        }
        let _free = AtEnd { flag: &self.is_taken, value: false };
        self.pool.install(|| {
            let ends = AtomicBool::new(false);
            let runs_on = rayon::current_thread_index();
            rayon::scope(|scope| {
                scope.spawn_broadcast(|_, _| {
                    // The thread that executes the run does not need to stay awake here: rayon lets it
                    // process jobs while it waits for the other threads.
                    if rayon::current_thread_index() != runs_on {
                        stay_awake(&ends);
                    }
                });
                let _end = AtEnd { flag: &ends, value: true };
                run()
            })
        })
    }
}

/// Sets `flag` to `value` when it is dropped, even if the run panics.
struct AtEnd<'a> {
    flag: &'a AtomicBool,
    value: bool,
}

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.flag.store(self.value, Ordering::Release);
    }
}

/// Processes jobs of other threads of the pool until `ends` is set. While there are no jobs, it first spins,
/// then yields, and finally sleeps, so that a long wait uses little processor time.
fn stay_awake(ends: &AtomicBool) {
    const SPINS: Duration = Duration::from_millis(1);
    const YIELDS: Duration = Duration::from_millis(10);
    const SLEEP: Duration = Duration::from_micros(100);
    let mut idle_since = Instant::now();
    while !ends.load(Ordering::Acquire) {
        if rayon::yield_now() == Some(Yield::Executed) {
            idle_since = Instant::now();
            continue;
        }
        match idle_since.elapsed() {
            idle if idle < SPINS => std::hint::spin_loop(),
            idle if idle < YIELDS => std::thread::yield_now(),
            _ => std::thread::sleep(SLEEP),
        }
    }
}
