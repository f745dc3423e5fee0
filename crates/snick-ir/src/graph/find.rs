//! Finds layers and values by name.

use std::collections::HashMap;

use super::{Graph, NodeId, Value};

impl Graph {
    /// The first layer of this name.
    pub fn find(&self, layer: &str) -> Option<NodeId> {
        self.ids().find(|&id| self.node(id).name() == layer)
    }

    /// The first value with this tensor name.
    pub fn find_tensor(&self, name: &str) -> Option<Value> {
        self.ids().find_map(|node| {
            let outs = self.node(node).outs();
            let port = outs.iter().position(|out| out.names().iter().any(|n| n == name))?;
            Some(Value { node, port: u32::try_from(port).ok()? })
        })
    }

    /// The value with this name: the first output of the layer `LAYER`, output `PORT` (counted from 0) of the
    /// layer in `LAYER:PORT`, or the value with this tensor name. Names of layers take precedence.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
    /// #             %axis = Const-1 i64[] <1>\n  \
    /// #             %halves = Split-1(%x, %axis) {num_splits: 2} : (_ \"left\", _ \"right\")\n}\n";
    /// let graph = snick::text::parse(text, None)?;
    /// let right = graph.find_value("halves:1");
    /// assert_eq!(right.map(|value| value.port), Some(1));
    /// assert_eq!(graph.find_value("right"), right);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find_value(&self, name: &str) -> Option<Value> {
        self.resolve(name, |layer| self.find(layer), |tensor| self.find_tensor(tensor))
    }

    /// [`Graph::find_value`] for several names, in time that does not depend on the product of the numbers of
    /// names and layers.
    pub fn find_values(&self, names: &[&str]) -> Vec<Option<Value>> {
        /// A map of all names is built for more names than this.
        const FEW: usize = 8;
        if names.len() <= FEW {
            return names.iter().map(|name| self.find_value(name)).collect();
        }
        let (mut layers, mut tensors) = (HashMap::new(), HashMap::new());
        for node in self.ids() {
            layers.entry(self.node(node).name()).or_insert(node);
            for (port, out) in (0..).zip(self.node(node).outs()) {
                for name in out.names() {
                    tensors.entry(name.as_str()).or_insert(Value { node, port });
                }
            }
        }
        let find = |name: &&str| {
            self.resolve(name, |layer| layers.get(layer).copied(), |tensor| tensors.get(tensor).copied())
        };
        names.iter().map(find).collect()
    }

    fn resolve(
        &self,
        name: &str,
        layer: impl Fn(&str) -> Option<NodeId>,
        tensor: impl Fn(&str) -> Option<Value>,
    ) -> Option<Value> {
        let output = |name: &str, port| layer(name).and_then(|id| self.node(id).output(port));
        let with_port = || {
            let (name, port) = name.rsplit_once(':')?;
            output(name, port.parse().ok()?)
        };
        output(name, 0).or_else(with_port).or_else(|| tensor(name))
    }
}

#[cfg(test)]
mod tests {
    use crate::text;

    #[test]
    fn several_values_are_found_like_single_ones() {
        let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"} : _ \"b\"\n  \
                    %axis = Const-1 i64[] <1>\n  %a = Split-1(%x, %axis) {num_splits: 2} : (_ \"x\", _ \"right\")\n  \
                    %\"a:1\" = ReLU-1(%a:0) : _ \"a\"\n}\n";
        let graph = text::parse(text, None).unwrap();
        let names = ["x", "b", "a", "a:0", "a:1", "right", "axis", "a:2", "right:0", "none", "", ":", "x:0"];
        let found = graph.find_values(&names);
        assert_eq!(found, names.map(|name| graph.find_value(name)));
        assert_eq!(found.iter().flatten().count(), 8);
    }
}
