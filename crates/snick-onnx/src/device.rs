//! The messages that say how nodes are spread over devices; of version 11 of the file format.

use prost::{Message, Oneof};

/// A group of devices.
#[derive(Clone, PartialEq, Message)]
pub struct DeviceConfiguration {
    /// Name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// How many devices it has.
    #[prost(int32, tag = "2")]
    pub num_devices: i32,
    /// Names of the devices; may be empty.
    #[prost(string, repeated, tag = "3")]
    pub device: Vec<String>,
}

/// How a node is spread over a group of devices.
#[derive(Clone, PartialEq, Message)]
pub struct NodeDeviceConfiguration {
    /// The name of the group.
    #[prost(string, tag = "1")]
    pub configuration_id: String,
    /// How its inputs and outputs are spread.
    #[prost(message, repeated, tag = "2")]
    pub sharding_spec: Vec<ShardingSpec>,
    /// The stage of a pipeline that it belongs to.
    #[prost(int32, optional, tag = "3")]
    pub pipeline_stage: Option<i32>,
}

/// How an input or output of a node is spread.
#[derive(Clone, PartialEq, Message)]
pub struct ShardingSpec {
    /// The name of the value.
    #[prost(string, tag = "1")]
    pub tensor_name: String,
    /// The devices, or groups of them below 0, that hold its parts.
    #[prost(int64, repeated, tag = "2")]
    pub device: Vec<i64>,
    /// Groups of devices by their number.
    #[prost(message, repeated, tag = "3")]
    pub index_to_device_group_map: Vec<DeviceGroup>,
    /// The axes that are cut.
    #[prost(message, repeated, tag = "4")]
    pub sharded_dim: Vec<ShardedDim>,
}

/// Devices that hold the same part.
#[derive(Clone, PartialEq, Message)]
pub struct DeviceGroup {
    /// The number of the group.
    #[prost(int64, tag = "1")]
    pub key: i64,
    /// Its devices.
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
}

/// How an axis is cut.
#[derive(Clone, PartialEq, Message)]
pub struct ShardedDim {
    /// The axis; below 0 counted from the end.
    #[prost(int64, tag = "1")]
    pub axis: i64,
    /// Its parts.
    #[prost(message, repeated, tag = "2")]
    pub simple_sharding: Vec<SimpleShardedDim>,
}

/// A size of an axis, cut into equal parts.
#[derive(Clone, PartialEq, Message)]
pub struct SimpleShardedDim {
    /// The size.
    #[prost(oneof = "ShardedSize", tags = "1, 2")]
    pub dim: Option<ShardedSize>,
    /// How many parts.
    #[prost(int64, tag = "3")]
    pub num_shards: i64,
}

/// A size by number or name.
#[derive(Clone, PartialEq, Oneof)]
pub enum ShardedSize {
    /// A number.
    #[prost(int64, tag = "1")]
    Value(i64),
    /// A name.
    #[prost(string, tag = "2")]
    Param(String),
}
