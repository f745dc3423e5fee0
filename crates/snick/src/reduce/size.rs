//! The size of a model, as a measure of the effort to read it.

use snick_ir::{Graph, NodeRef, Op};
use snick_shape::{DimSpec, ShapeSpec};

/// Compared field by field, in this order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Size {
    /// Layers that compute something, including layers of bodies.
    operations: usize,
    /// All layers, including layers of bodies.
    layers: usize,
    /// Entries of the port maps of bodies.
    links: usize,
    /// The complexity of the shapes of Parameters and constants.
    shapes: u64,
    /// Attributes that differ from their defaults.
    attributes: usize,
}

/// The base cost of an axis. The size of the axis is added.
const AXIS: u64 = 2;
/// The cost of a dynamic axis.
const DYNAMIC_AXIS: u64 = 1 << 32;
/// The cost of an unknown rank.
const DYNAMIC_RANK: u64 = 1 << 40;

impl Size {
    pub(super) fn of(graph: &Graph) -> Self {
        let mut size = Self { operations: 0, layers: 0, links: 0, shapes: 0, attributes: 0 };
        size.add(graph);
        size
    }

    fn add(&mut self, graph: &Graph) {
        for id in graph.ids() {
            let node = graph.node(id);
            self.layers += 1;
            self.attributes += super::attributes::changed(node);
            match node.op() {
                Op::Parameter(parameter) => self.add_shape(&parameter.shape),
                Op::Const(constant) => {
                    let axes = constant.dims().iter().map(|&dim| axis(dim as u64));
                    self.shapes = axes.fold(self.shapes, u64::saturating_add);
                }
                Op::Result(_) => {}
                Op::SubGraph(op) => {
                    let links = |map: &snick_ir::ops::control::port_map::PortMap| {
                        map.inputs.len() + map.outputs.len() + map.back_edges.len()
                    };
                    self.links += op.maps.iter().map(links).sum::<usize>();
                    self.operations += 1;
                }
                _ => self.operations += 1,
            }
            self.add_bodies(node);
        }
    }

    fn add_bodies(&mut self, node: NodeRef) {
        for (_, body) in node.op().bodies() {
            self.add(body);
        }
    }

    fn add_shape(&mut self, shape: &ShapeSpec) {
        let size = match shape {
            ShapeSpec::Unranked => DYNAMIC_RANK,
            ShapeSpec::Dims(dims) => dims.iter().map(dim).fold(0, u64::saturating_add),
        };
        self.shapes = self.shapes.saturating_add(size);
    }
}

fn axis(size: u64) -> u64 {
    // Any static size costs less than a dynamic one.
    AXIS + size.min(DYNAMIC_AXIS / 2)
}

fn dim(dim: &DimSpec) -> u64 {
    match dim {
        DimSpec::Interval(interval) => {
            interval.is_exact().map_or(DYNAMIC_AXIS, |size| axis(size.unsigned_abs()))
        }
        _ => 2 * DYNAMIC_AXIS,
    }
}
