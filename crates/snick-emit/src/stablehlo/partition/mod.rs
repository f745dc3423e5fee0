//! What a module becomes on a mesh of devices: where each value is placed, what a device holds and what it sends. The
//! rules are those of Shardy and of XLA's partitioner; where they are not known here, the operation is named.
//!
//! Bytes are counted for rings of `g` devices, in which each device sends `2 (g - 1) / g` of what is summed, and
//! `(g - 1) / g` of what is gathered or exchanged; in a permutation of devices it sends all.

mod devices;
mod elementwise;
mod factors;
mod halo;
mod memory;
mod program;
mod propagate;
mod reshape;
mod rule;
mod transfers;

use std::collections::HashSet;

use self::devices::{Devices, Spread};
pub use self::program::Program;
use self::propagate::{Placement, Shape};
use super::mesh::Mesh;

/// The place of a value in [`Program::values`].
type ValueId = usize;

/// Why a module cannot be planned.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PartitionError {
    /// A size that only a run shows.
    #[error("the sizes of `{value}` are known only at run time; give the inputs sizes with --shape")]
    Dynamic {
        /// The value.
        value: String,
    },
}

/// How devices exchange what they hold.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Collective {
    /// All get the sum (or the maximum) of what each holds.
    AllReduce,
    /// All get what each holds.
    AllGather,
    /// Each gets a part of what each other holds.
    AllToAll,
    /// Each sends to one other, or to none.
    CollectivePermute,
}

impl Collective {
    /// As XLA calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::AllToAll => "all-to-all",
            Self::CollectivePermute => "collective-permute",
        }
    }
}

/// What devices send for one operation.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Transfer {
    /// The value that the operation gives, named after its layer.
    pub value: String,
    /// The operation of StableHLO.
    pub operation: String,
    /// How they send it.
    pub collective: Collective,
    /// How many devices exchange.
    pub devices: usize,
    /// The bytes that each device sends.
    pub bytes: u64,
}

/// An operation of which it is not known what devices send.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Unplanned {
    /// The value that it gives, named after its layer.
    pub value: String,
    /// The operation of StableHLO.
    pub operation: String,
    /// Why it is not known.
    pub reason: String,
}

/// A module on a mesh of devices.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Partition {
    /// By argument and dim, the axes that it is spread over.
    pub arguments: Vec<Vec<Vec<String>>>,
    /// By argument, the bytes that each device holds.
    pub argument_bytes: Vec<u64>,
    /// The bytes of the results that each device holds.
    pub result_bytes: u64,
    /// The bytes of values that a device computes and that live together at the worst moment, results included.
    pub peak_bytes: u64,
    /// What devices send.
    pub transfers: Vec<Transfer>,
    /// Operations of which that is not known: they add to what is sent.
    pub unplanned: Vec<Unplanned>,
}

impl Partition {
    /// The bytes that each device sends in a call.
    pub fn sent(&self) -> u64 {
        self.transfers.iter().map(|transfer| transfer.bytes).sum()
    }
}

impl Program {
    /// Spreads a program over a mesh: by argument, the axis of each dim; arguments without any are placed as the
    /// partitioner would.
    pub fn partition(&self, mesh: &Mesh, shardings: &[Vec<Option<String>>]) -> Partition {
        let devices = Devices::of(mesh);
        let shapes: Vec<Option<Shape>> =
            self.operations.iter().map(|operation| self.shape(operation)).collect();
        let whole = |value: &program::Value| -> Spread { vec![Vec::new(); value.dims.len()] };
        let mut placement = Placement {
            program: self,
            devices: &devices,
            shapes: &shapes,
            spreads: self.values.iter().map(whole).collect(),
            closed: vec![false; self.values.len()],
        };
        for (&value, sharding) in self.arguments.iter().zip(shardings).filter(|(_, own)| !own.is_empty()) {
            placement.closed[value] = true;
            for (parts, axis) in placement.spreads[value].iter_mut().zip(sharding) {
                *parts = axis.as_ref().map(|axis| devices.parts_of(axis)).unwrap_or_default();
            }
        }
        placement.propagate();
        for &value in &self.arguments {
            placement.spreads[value] = devices.whole_axes(&placement.spreads[value]);
        }
        let is_used = self.used();
        let (transfers, unplanned) = transfers::of(&placement, &is_used);
        let sums = transfers.iter().filter(|transfer| transfer.collective == Collective::AllReduce);
        let summed: HashSet<&str> = sums.map(|transfer| transfer.value.as_str()).collect();
        let is_of = |value: &ValueId| summed.contains(self.values[*value].name.as_str());
        let is_summed: Vec<bool> =
            self.operations.iter().map(|operation| operation.results.iter().any(is_of)).collect();
        let local =
            |value: &ValueId| transfers::local_bytes(self, *value, &placement.spreads[*value], &devices);
        Partition {
            arguments: self.arguments.iter().map(|&value| devices.axes(&placement.spreads[value])).collect(),
            argument_bytes: self.arguments.iter().map(local).collect(),
            result_bytes: self.results.iter().map(local).sum(),
            peak_bytes: memory::peak(&placement, &is_used, &is_summed),
            transfers,
            unplanned,
        }
    }

    /// Whether an argument is a matrix that values are multiplied with, and nothing else: not a table that is looked up.
    pub fn is_multiplied(&self, argument: usize) -> bool {
        let mut values: Vec<ValueId> = self.arguments.get(argument).copied().into_iter().collect();
        let mut is_multiplied = false;
        while let Some(value) = values.pop() {
            for user in self.touching[value].iter().map(|&at| &self.operations[at]) {
                match user.op.as_str() {
                    _ if !user.operands.contains(&value) => {}
                    "dot_general" | "convolution" => is_multiplied = true,
                    "gather" | "slice" | "dynamic_slice" => return false,
                    // What decompresses it comes first.
                    "convert" | "transpose" | "reshape" | "multiply" | "subtract" => {
                        values.extend(&user.results)
                    }
                    _ => {}
                }
            }
        }
        is_multiplied
    }

    fn shape(&self, operation: &program::Operation) -> Option<Shape> {
        let rule = rule::of(self, operation)?;
        let values = operation.operands.iter().chain(&operation.results);
        let dims = values.enumerate().map(|(at, &value)| rule.of_tensor(at, self.values[value].dims.len()));
        let dims = dims.collect();
        Some(Shape { rule, dims })
    }

    /// By operation, whether a result needs it.
    fn used(&self) -> Vec<bool> {
        let mut needed = vec![false; self.values.len()];
        self.results.iter().for_each(|&value| needed[value] = true);
        let mut used = vec![false; self.operations.len()];
        for (at, operation) in self.operations.iter().enumerate().rev() {
            used[at] = operation.results.iter().any(|&value| needed[value]);
            if used[at] {
                operation.operands.iter().for_each(|&value| needed[value] = true);
            }
        }
        used
    }
}
