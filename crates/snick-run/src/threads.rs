//! The threads of a session: a pool for each number of threads, started when it is first asked for.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};
use snick_ir::OpError;

/// Pools by their number of threads.
#[derive(Default)]
pub(crate) struct Threads(Mutex<BTreeMap<usize, Arc<ThreadPool>>>);

impl Threads {
    /// A pool of `count` threads, but of no more than the machine has; `None` for one, which is the caller's.
    pub(crate) fn pool(&self, count: usize) -> Result<Option<Arc<ThreadPool>>, OpError> {
        // Asking takes longer than a small model runs.
        static MACHINE: LazyLock<usize> =
            LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
        let count = if count > 1 { count.min(*MACHINE) } else { 1 };
        if count == 1 {
            return Ok(None);
        }
        let mut pools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pools.get(&count) {
            return Ok(Some(pool.clone()));
        }
        let started = ThreadPoolBuilder::new().num_threads(count).build();
        let pool =
            Arc::new(started.map_err(|error| OpError::unsupported(format!("{count} threads: {error}")))?);
        pools.insert(count, pool.clone());
        Ok(Some(pool))
    }
}
