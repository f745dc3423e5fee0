//! `manifest.json`: the arguments and results of a module, for programs that call it.

use std::fmt::Write as _;
use std::path::Path;

use serde::{Serialize, Serializer};
use snick_tensor::Tensor;

use super::mesh::Mesh;
use super::module::{ArgumentData, Module, Port};
use crate::json::json;

/// The file next to a module that contains its folded constants.
pub const FOLDED: &str = "folded.bin";

/// Folded constants are aligned to this many bytes.
const ALIGNMENT: usize = 64;

impl Module {
    /// The folded constants among the arguments, with their offsets in [`FOLDED`].
    pub fn folded(&self) -> impl Iterator<Item = (usize, &Tensor)> {
        let tensors = self.arguments.iter().filter_map(|argument| match &argument.data {
            ArgumentData::Folded(tensor) => Some((argument.port.bytes().unwrap_or(0), tensor)),
            _ => None,
        });
        tensors.scan(0_usize, |end, (bytes, tensor)| {
            let offset = end.next_multiple_of(ALIGNMENT);
            *end = offset + bytes;
            Some((offset, tensor))
        })
    }

    /// Marks an input and a result as a state: callers pass the result of one call as the input of the next.
    pub fn mark_state(&mut self, input: &str, result: &str, state: &str) {
        let inputs =
            self.arguments.iter_mut().filter(|argument| matches!(argument.data, ArgumentData::Input));
        let inputs = inputs.map(|argument| &mut argument.port).filter(|port| port.name == input);
        let results = self.results.iter_mut().filter(|port| port.name == result);
        inputs.chain(results).for_each(|port| port.state = Some(state.to_string()));
    }

    /// The manifest as JSON: the mesh, all arguments in order, and which of them are inputs. `relative`
    /// returns the path to write for a file of the model.
    ///
    /// # Errors
    /// The error of `relative`.
    pub fn manifest<E>(&self, relative: impl Fn(&Path) -> Result<String, E>) -> Result<String, E> {
        let mut folded = self.folded().map(|(offset, _)| offset);
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for argument in &self.arguments {
            let place = match &argument.data {
                ArgumentData::Input => None,
                ArgumentData::File { path, range } => Some((relative(path)?, range.start)),
                ArgumentData::Folded(_) => Some((FOLDED.to_string(), folded.next().unwrap_or(0))),
            };
            let port = &argument.port;
            let place = place.map(|(file, offset)| Place { file, offset, bytes: port.bytes().unwrap_or(0) });
            let sharding = (!argument.sharding.is_empty()).then_some(argument.sharding.as_slice());
            arguments.push(json(&Argument { port, place, sharding }));
        }
        let inputs = self.arguments.iter().filter(|argument| matches!(argument.data, ArgumentData::Input));
        let inputs = inputs.map(|argument| json(&argument.port)).collect();
        let results = self.results.iter().map(json).collect();
        let mut text = format!("{{\"schema\":\"{}\",\"mesh\":{}", self.schema, json(&self.mesh));
        // One line per entry, for readability and `diff`.
        for (key, lines) in [("arguments", arguments), ("inputs", inputs), ("results", results)] {
            let _ = write!(text, ",\n\"{key}\":[\n{}\n]", lines.join(",\n"));
        }
        text.push_str("}\n");
        Ok(text)
    }
}

/// Serialises the size of each axis by name, in order.
impl Serialize for Mesh {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.axes().iter().map(|(name, size)| (name, size)))
    }
}

#[derive(Serialize)]
struct Argument<'m> {
    #[serde(flatten)]
    port: &'m Port,
    /// `None` for an input.
    #[serde(flatten)]
    place: Option<Place>,
    sharding: Option<&'m [Option<String>]>,
}

/// Where an argument's value is stored.
#[derive(Serialize)]
struct Place {
    file: String,
    offset: usize,
    bytes: usize,
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use snick_ir::{infer, text};

    use crate::stablehlo::{Precision, module};

    #[test]
    fn every_argument_has_a_line() {
        // The Range is computed from small constants, so its value is folded into the bytes that `folded`
        // returns.
        let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"300\"}
  %start = Const-1 i64[] <0>\n  %stop = Const-1 i64[] <300>\n  %step = Const-1 i64[] <1>
  %steps = Range-4(%start, %stop, %step) {output_type: f32}\n  %y = Add-1(%x, %steps) {auto_broadcast: numpy}
  %r = Result-1(%y)\n}\n";
        let mut graph = text::parse(text, None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let mut module = module(&graph, Precision::Highest).unwrap();
        module.mark_state("x", "r", "\"v\"");
        let manifest = module.manifest(|_| Ok::<_, Infallible>(String::new())).unwrap();
        let expected = "{\"schema\":\"snick.stablehlo/1\",\"mesh\":null,
\"arguments\":[
{\"name\":\"x\",\"element_type\":\"f32\",\"dims\":[300],\"state\":\"\\\"v\\\"\",\"sharding\":null},
{\"name\":\"steps\",\"element_type\":\"f32\",\"dims\":[300],\"file\":\"folded.bin\",\"offset\":0,\"bytes\":1200,\"sharding\":null}
],
\"inputs\":[
{\"name\":\"x\",\"element_type\":\"f32\",\"dims\":[300],\"state\":\"\\\"v\\\"\"}
],
\"results\":[
{\"name\":\"r\",\"element_type\":\"f32\",\"dims\":[300],\"state\":\"\\\"v\\\"\"}
]}
";
        assert_eq!(manifest, expected);
        let folded: Vec<usize> =
            module.folded().map(|(offset, tensor)| offset + tensor.to_bytes().len()).collect();
        assert_eq!(folded, [1200]);
        let text = module.to_string();
        assert!(text.contains("@main(%x: tensor<300xf32>, %steps: tensor<300xf32>)"), "{text}");
        assert!(!text.contains("stablehlo.constant"), "{text}");
    }
}
