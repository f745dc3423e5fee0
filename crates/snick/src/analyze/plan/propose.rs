//! Chooses a mesh, and the sharding of arguments over it.
//!
//! - Inputs are sharded over the mesh axis `batch`.
//! - Matrices are sharded over the mesh axis `model`, one after the other. Each is sharded over the dim that
//!   sends the fewest bytes per byte of memory saved, and only if it saves more than it sends.
//! - The remaining matrices and lookup tables are sharded only if the model does not fit in memory otherwise.
//! - Other arguments, such as biases and the rows of the following weights, need no rule: the partitioner
//!   shards them as a consequence.

use std::collections::BTreeSet;

use snick_emit::stablehlo::{ArgumentData, Module, Partition, Program};
use snick_emit::{Mesh, ShardRules};

use super::{ModelPlan, PlanOptions, planned};
use crate::Error;

/// For each argument, the mesh axis of each dim. An empty list leaves the sharding to the partitioner.
type Shardings = Vec<Vec<Option<String>>>;

/// The mesh axis for the batch. All other axes shard weights.
const BATCH: &str = "batch";

/// The mesh axis for weights in a proposed mesh.
const MODEL: &str = "model";

/// Maximum number of placements to try per mesh.
const MOST_TRIALS: usize = 600;

/// The best plan for the given mesh, or for any mesh of all devices.
pub(super) fn plan(module: &Module, program: &Program, options: &PlanOptions) -> Result<ModelPlan, Error> {
    let meshes = match &options.mesh {
        Some(mesh) => vec![mesh.clone()],
        None => meshes(options.devices.max(1))?,
    };
    let mut best: Option<ModelPlan> = None;
    for mesh in meshes {
        let mut search = Search { module, program, mesh: &mesh, memory: options.memory, trials: 0 };
        let Some(shardings) = search.shardings() else { continue };
        let names = module.arguments.iter().zip(&shardings);
        let names: Vec<(&str, &[Option<String>])> =
            names.map(|(argument, axes)| (argument.port.name.as_str(), axes.as_slice())).collect();
        let plan = planned(module, program, &mesh, &ShardRules::of_arguments(&names), options.memory)?;
        if best.as_ref().is_none_or(|best| key(&plan) < key(best)) {
            best = Some(plan);
        }
    }
    match best {
        Some(plan) => Ok(plan),
        // If no mesh can use all devices, all of them do the same work.
        None => {
            let mesh: Mesh = format!("{BATCH}={}", options.devices.max(1)).parse()?;
            planned(module, program, &mesh, &ShardRules::default(), options.memory)
        }
    }
}

/// A sort key that puts better plans first. The criteria are, in this order: the traffic is known; the plan
/// fits in the memory; it sends fewer bytes (only if it fits); it needs less memory.
fn key(plan: &ModelPlan) -> (bool, bool, u64, u64) {
    let fits = plan.fits() != Some(false);
    let sent = if fits { plan.sent_bytes() } else { 0 };
    (!plan.unplanned.is_empty(), !fits, sent, plan.device_bytes())
}

/// All meshes of this many devices with an axis for the batch and an axis for weights.
fn meshes(devices: usize) -> Result<Vec<Mesh>, Error> {
    let divisors = (1..=devices).filter(|&size| devices.is_multiple_of(size));
    let text = |model: usize| match (devices / model, model) {
        (batch, 1) => format!("{BATCH}={batch}"),
        (1, model) => format!("{MODEL}={model}"),
        (batch, model) => format!("{BATCH}={batch},{MODEL}={model}"),
    };
    divisors.map(|model| Ok(text(model).parse()?)).collect()
}

/// The search for shardings over a given mesh.
struct Search<'m> {
    module: &'m Module,
    program: &'m Program,
    mesh: &'m Mesh,
    memory: Option<u64>,
    trials: usize,
}

/// The cost of a set of shardings.
#[derive(Clone)]
struct Cost {
    argument_bytes: u64,
    device_bytes: u64,
    sent: u64,
    unplanned: usize,
    /// For each argument, whether it is sharded.
    is_spread: Vec<bool>,
}

impl Cost {
    fn of(partition: &Partition) -> Self {
        let argument_bytes = partition.argument_bytes.iter().sum();
        let is_spread = |axes: &Vec<Vec<String>>| axes.iter().any(|axes| !axes.is_empty());
        Self {
            argument_bytes,
            device_bytes: argument_bytes + partition.peak_bytes,
            sent: partition.sent(),
            unplanned: partition.unplanned.len(),
            is_spread: partition.arguments.iter().map(is_spread).collect(),
        }
    }
}

impl Search<'_> {
    fn try_out(&mut self, shardings: &Shardings) -> Cost {
        self.trials += 1;
        Cost::of(&self.program.partition(self.mesh, shardings))
    }

    /// Shardings for all arguments; `None` if a mesh axis remains unused.
    fn shardings(&mut self) -> Option<Shardings> {
        let mut shardings = vec![Vec::new(); self.module.arguments.len()];
        for (axis, size) in self.mesh.axes().iter().filter(|(axis, size)| is_for_batch(axis) && *size > 1) {
            self.spread_inputs(&mut shardings, axis, *size)?;
        }
        let mut cost = self.try_out(&shardings);
        let axes: Vec<(String, usize)> = self
            .mesh
            .axes()
            .iter()
            .filter(|(axis, size)| !is_for_batch(axis) && *size > 1)
            .cloned()
            .collect();
        for (axis, size) in &axes {
            let before = cost.argument_bytes;
            for is_forced in [false, true] {
                for (is_table, arguments) in self.groups(*size) {
                    if is_table && !is_forced {
                        continue;
                    }
                    if is_forced && self.memory.is_none_or(|memory| cost.device_bytes <= memory) {
                        break;
                    }
                    self.spread_weights(&mut shardings, &mut cost, &arguments, axis, *size, is_forced);
                }
            }
            if cost.argument_bytes == before {
                return None;
            }
        }
        Some(shardings)
    }

    /// Shards the batch axis of the inputs. This is dim 0 of the first input, and dim 0 of each other input
    /// if it has the same size.
    fn spread_inputs(&self, shardings: &mut Shardings, axis: &str, size: usize) -> Option<()> {
        let batch_of = |argument: &snick_emit::stablehlo::Argument| match argument.data {
            ArgumentData::Input => argument.port.dims.first().copied().flatten(),
            _ => None,
        };
        let batch = self.module.arguments.iter().find_map(batch_of)?;
        if batch == 0 || !batch.is_multiple_of(size) {
            return None;
        }
        for (argument, sharding) in self.module.arguments.iter().zip(shardings) {
            if batch_of(argument) == Some(batch) && sharding.is_empty() {
                *sharding = vec![None; argument.port.dims.len()];
                sharding[0] = Some(axis.to_string());
            }
        }
        Some(())
    }

    /// Weights that can be sharded over this many devices. Weights with equal dims and with names that differ
    /// only in digits form a group. Groups of lookup tables are marked and come last.
    fn groups(&self, size: usize) -> Vec<(bool, Vec<usize>)> {
        let mut groups: Vec<(bool, String, Vec<usize>)> = Vec::new();
        for (at, argument) in self.module.arguments.iter().enumerate() {
            let dims = &argument.port.dims;
            let fits = dims.len() >= 2 && dims.iter().flatten().any(|dim| dim.is_multiple_of(size));
            if matches!(argument.data, ArgumentData::Input) || !fits {
                continue;
            }
            let name: String = argument.port.name.chars().filter(|c| !c.is_ascii_digit()).collect();
            let key = format!("{name}{dims:?}");
            match groups.iter_mut().find(|(_, own, _)| *own == key) {
                Some((.., arguments)) => arguments.push(at),
                None => groups.push((!self.program.is_multiplied(at), key, vec![at])),
            }
        }
        groups.sort_by_key(|(is_table, ..)| *is_table);
        groups.into_iter().map(|(is_table, _, arguments)| (is_table, arguments)).collect()
    }

    /// Shards arguments over a mesh axis, all of them along the same dim. Shards each argument separately if
    /// no dim suits all of them, or if sharding only the first argument sends fewer bytes per byte saved.
    fn spread_weights(
        &mut self,
        shardings: &mut Shardings,
        cost: &mut Cost,
        arguments: &[usize],
        axis: &str,
        size: usize,
        is_forced: bool,
    ) {
        let open: BTreeSet<usize> =
            arguments.iter().copied().filter(|&at| !cost.is_spread[at] && shardings[at].is_empty()).collect();
        let Some(&first) = open.first() else { return };
        let best = self.best_dim(shardings, cost, &open, axis, size, is_forced);
        // Weights with similar names may be used in different ways.
        let alone = match (&best, open.len()) {
            (Some(_), 2..) => self.best_dim(shardings, cost, &BTreeSet::from([first]), axis, size, is_forced),
            _ => None,
        };
        let is_alike = best.as_ref().zip(alone.as_ref()).is_none_or(|(all, one)| all.rate <= one.rate * 1.01);
        match best {
            Some(trial) if is_alike => (*shardings, *cost) = (trial.shardings, trial.cost),
            _ if open.len() > 1 => {
                for at in open {
                    self.spread_weights(shardings, cost, &[at], axis, size, is_forced);
                }
            }
            _ => {}
        }
    }

    /// Shards arguments along the dim that sends the fewest bytes per byte of memory saved.
    fn best_dim(
        &mut self,
        shardings: &Shardings,
        cost: &Cost,
        arguments: &BTreeSet<usize>,
        axis: &str,
        size: usize,
        is_forced: bool,
    ) -> Option<Trial> {
        let dims = &self.module.arguments[*arguments.first()?].port.dims;
        let dims: Vec<usize> = dims.iter().flatten().copied().collect();
        let mut best: Option<Trial> = None;
        for dim in (0..dims.len()).filter(|&dim| dims[dim].is_multiple_of(size)) {
            if self.trials >= MOST_TRIALS {
                break;
            }
            let mut trial = shardings.clone();
            for &at in arguments {
                trial[at] = (0..dims.len()).map(|own| (own == dim).then(|| axis.to_string())).collect();
            }
            let own = self.try_out(&trial);
            let saved = cost.argument_bytes.saturating_sub(own.argument_bytes);
            let sent = own.sent.saturating_sub(cost.sent);
            if own.unplanned > cost.unplanned || saved == 0 || (!is_forced && sent >= saved) {
                continue;
            }
            let rate = sent as f64 / saved as f64;
            if best.as_ref().is_none_or(|best| rate < best.rate) {
                best = Some(Trial { rate, shardings: trial, cost: own });
            }
        }
        best
    }
}

/// A set of shardings that was tried.
struct Trial {
    /// The additional bytes sent per byte of memory saved.
    rate: f64,
    shardings: Shardings,
    cost: Cost,
}

fn is_for_batch(axis: &str) -> bool {
    matches!(axis, BATCH | "data")
}
