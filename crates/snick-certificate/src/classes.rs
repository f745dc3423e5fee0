//! Classes of equal values.

use std::collections::HashMap;

use crate::graph::Value;

/// Values that are known to be equal. Each value refers to an earlier one that equals it, if there is one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classes(HashMap<Value, Value>);

impl Classes {
    /// The earliest value that is known to equal a value.
    pub(crate) fn first(&self, mut value: Value) -> Value {
        while let Some(&earlier) = self.0.get(&value) {
            value = earlier;
        }
        value
    }

    /// Records that two values are equal.
    pub(crate) fn join(&mut self, a: Value, b: Value) {
        let (a, b) = (self.first(a), self.first(b));
        if a != b {
            self.0.insert(a.max(b), a.min(b));
        }
    }
}
