//! Messages that distribute nodes over devices, from version 11 of the file format.

use prost::{Message, Oneof};

/// A group of devices.
#[derive(Clone, PartialEq, Message)]
pub struct DeviceConfiguration {
    /// The name of the group.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The number of devices.
    #[prost(int32, tag = "2")]
    pub num_devices: i32,
    /// The names of the devices. May be empty.
    #[prost(string, repeated, tag = "3")]
    pub device: Vec<String>,
}

/// How a node is distributed over a group of devices.
#[derive(Clone, PartialEq, Message)]
pub struct NodeDeviceConfiguration {
    /// The name of the group.
    #[prost(string, tag = "1")]
    pub configuration_id: String,
    /// How the inputs and outputs of the node are sharded.
    #[prost(message, repeated, tag = "2")]
    pub sharding_spec: Vec<ShardingSpec>,
    /// The pipeline stage of the node.
    #[prost(int32, optional, tag = "3")]
    pub pipeline_stage: Option<i32>,
}

/// How an input or output of a node is sharded.
#[derive(Clone, PartialEq, Message)]
pub struct ShardingSpec {
    /// The name of the value.
    #[prost(string, tag = "1")]
    pub tensor_name: String,
    /// The devices that hold shards of the value. Negative numbers refer to groups of devices.
    #[prost(int64, repeated, tag = "2")]
    pub device: Vec<i64>,
    /// The groups of devices to which negative numbers refer.
    #[prost(message, repeated, tag = "3")]
    pub index_to_device_group_map: Vec<DeviceGroup>,
    /// The sharded axes.
    #[prost(message, repeated, tag = "4")]
    pub sharded_dim: Vec<ShardedDim>,
}

/// Devices that hold the same shard.
#[derive(Clone, PartialEq, Message)]
pub struct DeviceGroup {
    /// The number by which `device` refers to the group.
    #[prost(int64, tag = "1")]
    pub key: i64,
    /// The devices of the group.
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
}

/// How an axis is sharded.
#[derive(Clone, PartialEq, Message)]
pub struct ShardedDim {
    /// The axis. A negative axis counts from the end.
    #[prost(int64, tag = "1")]
    pub axis: i64,
    /// The shards of the axis.
    #[prost(message, repeated, tag = "2")]
    pub simple_sharding: Vec<SimpleShardedDim>,
}

/// A size that is split into equal shards.
#[derive(Clone, PartialEq, Message)]
pub struct SimpleShardedDim {
    /// The size.
    #[prost(oneof = "ShardedSize", tags = "1, 2")]
    pub dim: Option<ShardedSize>,
    /// The number of shards.
    #[prost(int64, tag = "3")]
    pub num_shards: i64,
}

/// A size as a number or a name.
#[derive(Clone, PartialEq, Oneof)]
pub enum ShardedSize {
    /// A number.
    #[prost(int64, tag = "1")]
    Value(i64),
    /// A name.
    #[prost(string, tag = "2")]
    Param(String),
}
