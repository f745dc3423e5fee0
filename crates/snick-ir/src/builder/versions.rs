//! Adds ops of older operation sets.

use super::{GraphBuilder, port_number};
use crate::{Node, Op, OpError, Value, Version};

impl GraphBuilder<'_> {
    /// Like [`GraphBuilder::add_op_with_outputs`], with the operation set that the op belongs to.
    pub fn add_op_of(
        &self,
        version: Version,
        op: impl Into<Op>,
        inputs: &[Value],
        count: usize,
    ) -> Result<Vec<Value>, OpError> {
        let node = Node { version, ..self.named_by_type(op.into()) };
        let node = self.add_node(node, inputs, count)?;
        Ok((0..count).map(|port| Value { node, port: port_number(port) }).collect())
    }
}
