//! Finds layers and values by name.

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
        let of_layer = |name: &str, port| self.find(name).and_then(|id| self.node(id).output(port));
        let with_port = || {
            let (layer, port) = name.rsplit_once(':')?;
            of_layer(layer, port.parse().ok()?)
        };
        of_layer(name, 0).or_else(with_port).or_else(|| self.find_tensor(name))
    }
}
