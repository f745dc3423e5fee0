//! Bodies of layers, and the port maps of TensorIterator, Loop and If.

use std::borrow::Cow;

use snick_ir::ops::control::port_map::PortLink;
use snick_ir::{AttrValue, OpError, PortIds, RawNode};

use super::net::Net;
use super::ordinals::Ordinals;
use super::xml::{Cursor, Step};
use crate::ReadError;

/// The bodies of a layer, and their port maps as written in the file. In both arrays, the second entry
/// belongs to the else branch of an If.
#[derive(Default)]
pub(super) struct Body<'x> {
    pub(super) nets: [Option<Net>; 2],
    maps: [Map<'x>; 2],
    back_edges: Vec<(u64, u64)>,
}

#[derive(Default)]
struct Map<'x> {
    inputs: Vec<Entry<'x>>,
    outputs: Vec<Entry<'x>>,
}

/// The attributes of an `<input>` or `<output>` of a port map.
type Entry<'x> = Vec<(&'x str, Cow<'x, str>)>;

impl<'x> Body<'x> {
    pub(super) fn read_port_map(&mut self, cursor: &mut Cursor<'x>, body: usize) -> Result<(), ReadError> {
        loop {
            match cursor.step()? {
                Step::Open(side) => {
                    let entry = cursor.take_attrs().collect();
                    match side {
                        "input" => self.maps[body].inputs.push(entry),
                        "output" => self.maps[body].outputs.push(entry),
                        _ => return Err(cursor.error(format!("element <{side}> in a port map"))),
                    }
                    while !matches!(cursor.step()?, Step::Close | Step::End) {}
                }
                Step::Text(_) => {}
                Step::Close | Step::End => return Ok(()),
            }
        }
    }

    pub(super) fn read_back_edges(&mut self, cursor: &mut Cursor<'x>) -> Result<(), ReadError> {
        loop {
            match cursor.step()? {
                Step::Open(_) => {
                    self.back_edges.push((cursor.number("from-layer")?, cursor.number("to-layer")?));
                    while !matches!(cursor.step()?, Step::Close | Step::End) {}
                }
                Step::Text(_) => {}
                Step::Close | Step::End => return Ok(()),
            }
        }
    }

    /// Moves bodies and port maps to the layer. Converts port ids to port indices, and layer ids to indices
    /// of the Parameters and Results of a body.
    pub(super) fn attach(
        self,
        raw: &mut RawNode,
        inputs: &PortIds,
        outputs: &PortIds,
        input_count: usize,
    ) -> Result<(), OpError> {
        let names = [("inputs", "outputs"), ("else_inputs", "else_outputs")];
        let mut bodies = Vec::new();
        for ((net, map), (input_name, output_name)) in self.nets.into_iter().zip(self.maps).zip(names) {
            let Some(net) = net else { continue };
            let ordinals = net.ordinals();
            for (name, entries, ids, count) in [
                (input_name, map.inputs, inputs, input_count),
                (output_name, map.outputs, outputs, raw.outputs),
            ] {
                let links = entries.iter().map(|entry| link(entry, &ordinals, ids, count));
                let texts =
                    links.map(|link| link.map(|link| link.to_string())).collect::<Result<Vec<_>, _>>()?;
                raw.attrs.push(name.into(), AttrValue::from(texts));
            }
            if bodies.is_empty() {
                let pairs = self.back_edges.iter().flat_map(|&(from, to)| [from, to]);
                let numbers = pairs.map(|id| ordinals.get(id).map(|n| n as i64)).collect::<Result<_, _>>()?;
                raw.attrs.push("back_edges".into(), AttrValue::Ints(numbers));
            }
            bodies.push(net.graph);
        }
        *raw.bodies.get_mut() = bodies;
        Ok(())
    }
}

fn link(entry: &Entry, ordinals: &Ordinals, ids: &PortIds, count: usize) -> Result<PortLink, OpError> {
    let find = |name: &str| entry.iter().find(|(n, _)| *n == name).map(|(_, value)| value.trim_ascii());
    let bad = |name: &'static str| OpError::BadAttribute {
        name,
        value: find(name).unwrap_or_default().to_string(),
        expected: "a port of the layer and a layer of the body".into(),
    };
    let external = match find("external_port_id") {
        Some("-1") => None,
        Some(id) => {
            let position = id.parse().ok().and_then(|id| ids.position(id, count));
            Some(position.ok_or_else(|| bad("external_port_id"))?)
        }
        None => return Err(bad("external_port_id")),
    };
    let internal =
        find("internal_layer_id").and_then(|id| id.parse().ok()).ok_or_else(|| bad("internal_layer_id"))?;
    let link = PortLink::with_notes(external, ordinals.get(internal)?, find);
    link.map_err(|name| OpError::BadAttribute {
        name,
        value: find(name).unwrap_or_default().to_string(),
        expected: "a note of a port map".into(),
    })
}
