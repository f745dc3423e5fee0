//! Estimates how a module runs on a mesh of devices: how each value is sharded, and what each device stores
//! and sends. Follows the rules of Shardy and XLA's partitioner, and reports operations whose rules are
//! unknown.
//!
//! Bytes are counted for rings of `g` devices. Each device sends `2 (g - 1) / g` of the bytes in an
//! all-reduce, `(g - 1) / g` in an all-gather or all-to-all, and all bytes in a permutation.

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

/// The index of a value in [`Program::values`].
type ValueId = usize;

/// Why a module cannot be planned.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PartitionError {
    /// A size that is only known at run time.
    #[error("the sizes of `{value}` are known only at run time; give the inputs sizes with --shape")]
    Dynamic {
        /// The name of the value.
        value: String,
    },
}

/// How devices exchange data.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Collective {
    /// All devices get the sum (or maximum) over all shards.
    AllReduce,
    /// All devices get all shards.
    AllGather,
    /// Each device gets a part of every other shard.
    AllToAll,
    /// Each device sends to at most one other device.
    CollectivePermute,
}

impl Collective {
    /// The name of the collective in XLA.
    pub fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::AllToAll => "all-to-all",
            Self::CollectivePermute => "collective-permute",
        }
    }
}

/// The data that is sent for one operation.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Transfer {
    /// The result of the operation, named after its layer.
    pub value: String,
    /// The operation of StableHLO.
    pub operation: String,
    /// How the data is sent.
    pub collective: Collective,
    /// The number of devices that exchange data with each other.
    pub devices: usize,
    /// The bytes that each device sends.
    pub bytes: u64,
}

/// An operation whose traffic is unknown.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Unplanned {
    /// The result of the operation, named after its layer.
    pub value: String,
    /// The operation of StableHLO.
    pub operation: String,
    /// Why its traffic is unknown.
    pub reason: String,
}

/// A module on a mesh of devices.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Partition {
    /// For each argument and dim, the axes over which the dim is sharded.
    pub arguments: Vec<Vec<Vec<String>>>,
    /// For each argument, the bytes that each device holds.
    pub argument_bytes: Vec<u64>,
    /// The bytes of results that each device holds.
    pub result_bytes: u64,
    /// The peak bytes of live computed values on a device, including results.
    pub peak_bytes: u64,
    /// The data that devices send.
    pub transfers: Vec<Transfer>,
    /// Operations whose traffic is unknown and therefore not counted.
    pub unplanned: Vec<Unplanned>,
}

impl Partition {
    /// The bytes that each device sends in a call.
    pub fn sent(&self) -> u64 {
        self.transfers.iter().map(|transfer| transfer.bytes).sum()
    }
}

impl Program {
    /// Partitions a program over a mesh. `shardings` contains the axis for each dim of each argument. The
    /// partitioner decides for arguments whose list is empty.
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

    /// Whether an argument is only used as an operand of matrix multiplications, and not as a lookup table.
    pub fn is_multiplied(&self, argument: usize) -> bool {
        let mut values: Vec<ValueId> = self.arguments.get(argument).copied().into_iter().collect();
        let mut is_multiplied = false;
        while let Some(value) = values.pop() {
            for user in self.touching[value].iter().map(|&at| &self.operations[at]) {
                match user.op.as_str() {
                    _ if !user.operands.contains(&value) => {}
                    "dot_general" | "convolution" => is_multiplied = true,
                    "gather" | "slice" | "dynamic_slice" => return false,
                    // These operations may decompress the matrix first.
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

    /// For each operation, whether a result depends on it.
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
