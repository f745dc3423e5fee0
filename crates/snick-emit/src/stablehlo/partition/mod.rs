//! Estimates how a module runs on a mesh of devices: how each value is sharded, and what each device stores
//! and sends. Follows the rules of Shardy and XLA's partitioner, and reports operations whose rules are
//! unknown.
//!
//! Bytes are counted for rings of `g` devices. Each device sends `2 (g - 1) / g` of the bytes in an
//! all-reduce, `(g - 1) / g` in an all-gather or all-to-all, and all bytes in a permutation.

mod devices;
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
use super::hlo::{Op, OpKind, ValueId};
use super::mesh::Mesh;

/// The reason why a module cannot be partitioned.
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
    /// Each device gets a piece of the shard of every other device.
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
        let shapes: Vec<Option<Shape>> = self.body().ops.iter().map(|op| self.shape(op)).collect();
        let whole = |dims: &Vec<usize>| -> Spread { vec![Vec::new(); dims.len()] };
        let mut placement = Placement {
            program: self,
            devices: &devices,
            shapes: &shapes,
            spreads: self.dims.iter().map(whole).collect(),
            closed: vec![false; self.dims.len()],
        };
        for (&value, sharding) in
            self.body().arguments.iter().zip(shardings).filter(|(_, own)| !own.is_empty())
        {
            placement.closed[value] = true;
            for (parts, axis) in placement.spreads[value].iter_mut().zip(sharding) {
                *parts = axis.as_ref().map(|axis| devices.parts_of(axis)).unwrap_or_default();
            }
        }
        placement.propagate();
        for &value in &self.body().arguments {
            placement.spreads[value] = devices.whole_axes(&placement.spreads[value]);
        }
        let is_used = self.used();
        let (transfers, unplanned) = transfers::of(&placement, &is_used);
        let sums = transfers.iter().filter(|transfer| transfer.collective == Collective::AllReduce);
        let summed: HashSet<&str> = sums.map(|transfer| transfer.value.as_str()).collect();
        let is_of = |value: &ValueId| summed.contains(self.name(*value));
        let is_summed: Vec<bool> = self.body().ops.iter().map(|op| op.results.iter().any(is_of)).collect();
        let local =
            |value: &ValueId| transfers::local_bytes(self, *value, &placement.spreads[*value], &devices);
        let axes = |value: &ValueId| devices.axes(&placement.spreads[*value]);
        Partition {
            arguments: self.body().arguments.iter().map(axes).collect(),
            argument_bytes: self.body().arguments.iter().map(local).collect(),
            result_bytes: self.body().results.iter().map(local).sum(),
            peak_bytes: memory::peak(&placement, &is_used, &is_summed),
            transfers,
            unplanned,
        }
    }

    /// Whether an argument is only used as an operand of matrix multiplications, and not as a lookup table.
    pub fn is_multiplied(&self, argument: usize) -> bool {
        let mut values: Vec<ValueId> = self.body().arguments.get(argument).copied().into_iter().collect();
        let mut is_multiplied = false;
        while let Some(value) = values.pop() {
            for user in self.touching[value].iter().map(|&at| &self.body().ops[at]) {
                match &user.kind {
                    _ if !user.operands.contains(&value) => {}
                    OpKind::DotGeneral { .. } | OpKind::Convolution(_) => is_multiplied = true,
                    OpKind::Gather(_) | OpKind::Slice(_) | OpKind::DynamicSlice(_) => return false,
                    // The argument may be decompressed before it is multiplied.
                    OpKind::Mixed("convert")
                    | OpKind::Transpose(_)
                    | OpKind::Reshape
                    | OpKind::Elementwise("multiply" | "subtract") => values.extend(&user.results),
                    _ => {}
                }
            }
        }
        is_multiplied
    }

    fn shape(&self, op: &Op) -> Option<Shape> {
        let rule = rule::of(self, op)?;
        let values = op.operands.iter().chain(&op.results);
        let dims = values.enumerate().map(|(at, &value)| rule.of_tensor(at, self.dims[value].len()));
        let dims = dims.collect();
        Some(Shape { rule, dims })
    }

    /// For each operation, whether a result depends on it.
    fn used(&self) -> Vec<bool> {
        let mut needed = vec![false; self.dims.len()];
        self.body().results.iter().for_each(|&value| needed[value] = true);
        let mut used = vec![false; self.body().ops.len()];
        for (at, op) in self.body().ops.iter().enumerate().rev() {
            used[at] = op.results.iter().any(|&value| needed[value]);
            if used[at] {
                op.operands.iter().for_each(|&value| needed[value] = true);
            }
        }
        used
    }
}
