//! Declarations that the graph does not keep but that checks of a file need: the sizes of input ports, and
//! the locations of constants in the weights.

use std::collections::HashMap;
use std::ops::Range;

use snick_ir::Loc;

use super::decode;
use super::xml::{Cursor, Step};
use crate::ReadError;

/// The declarations of all layers of a file and its bodies, by location.
///
/// ```
/// let text = r#"<net name="n" version="11"><layers><layer id="0" name="y" type="Result" version="opset1">
/// <input><port id="0"><dim>2</dim><dim>-1</dim></port></input></layer></layers></net>"#;
/// let survey = snick_read::openvino::Survey::of(text.as_bytes(), "n.xml")?;
/// assert_eq!(survey.input_ports.values().next().unwrap(), &[vec![2, -1]]);
/// # Ok::<(), snick::ReadError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Survey {
    /// For each layer that declares dims at an input port, the dims of all its input ports. A dynamic dim is
    /// -1.
    pub input_ports: HashMap<Loc, Vec<Vec<i64>>>,
    /// The byte ranges of constants.
    pub constants: Vec<(Loc, Range<u64>)>,
    /// The first element or attribute name that the runtime's XML parser rejects, with its location.
    pub refused_name: Option<(Loc, String)>,
}

/// A layer whose end tag has not been read yet.
struct OpenLayer {
    loc: Loc,
    is_constant: bool,
    ports: Vec<Vec<i64>>,
}

impl Survey {
    /// Reads a file for the survey. `source` is the name of the file in errors.
    ///
    /// # Errors
    /// The bytes are not XML.
    pub fn of(bytes: &[u8], source: &str) -> Result<Self, ReadError> {
        let text = decode(bytes, source)?.text;
        let mut cursor = Cursor::new(&text, source);
        let mut survey = Self::default();
        let mut path: Vec<&str> = Vec::new();
        let mut layers: Vec<OpenLayer> = Vec::new();
        loop {
            match cursor.step()? {
                Step::Open(name) => {
                    if survey.refused_name.is_none() {
                        let refused = (!is_read_by_runtime(name)).then_some(name);
                        let refused =
                            refused.or_else(|| cursor.attr_names().find(|name| !is_read_by_runtime(name)));
                        survey.refused_name = refused.map(|name| (cursor.loc(), name.to_string()));
                    }
                    survey.enter(&mut cursor, &path, name, &mut layers);
                    path.push(name);
                }
                Step::Close if path.pop() == Some("layer") => survey.add(layers.pop()),
                Step::Close | Step::Text(_) => {}
                Step::End => return Ok(survey),
            }
        }
    }

    /// Processes the start of element `name`, which is inside the elements of `path`.
    fn enter(&mut self, cursor: &mut Cursor, path: &[&str], name: &str, layers: &mut Vec<OpenLayer>) {
        if name == "layer" {
            let is_constant = cursor.attr("type").is_some_and(|name| matches!(&**name, "Const" | "Constant"));
            layers.push(OpenLayer { loc: cursor.loc(), is_constant, ports: Vec::new() });
        }
        let Some(layer) = layers.last_mut() else { return };
        match (path, name) {
            ([.., "layer"], "data") if layer.is_constant => {
                let number = |name| cursor.attr(name)?.trim_ascii().parse::<u64>().ok();
                let bytes = number("offset").zip(number("size"));
                let range = bytes.and_then(|(offset, size)| Some(offset..offset.checked_add(size)?));
                self.constants.extend(range.map(|range| (layer.loc, range)));
            }
            ([.., "layer", "input"], "port") => {
                let mut dims = Vec::new();
                while let Some(dim) = cursor.dim() {
                    dims.extend(dim.trim_ascii().parse::<i64>());
                }
                layer.ports.push(dims);
            }
            ([.., "layer", "input", "port"], "dim") => {
                // This only happens if a port contains comments or references. Such ports are not compared.
                layer.ports.pop();
                layer.ports.push(Vec::new());
            }
            _ => {}
        }
    }

    fn add(&mut self, layer: Option<OpenLayer>) {
        let Some(layer) = layer.filter(|layer| layer.ports.iter().any(|dims| !dims.is_empty())) else {
            return;
        };
        self.input_ports.insert(layer.loc, layer.ports);
    }
}

/// Whether pugixml, the XML parser of the runtime, accepts a name. The first character must be a letter, `_`,
/// `:` or a non-ASCII character; digits, `-` and `.` may follow.
fn is_read_by_runtime(name: &str) -> bool {
    let starts = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':' | 0x80..);
    let goes_on = |byte: u8| starts(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    name.as_bytes().first().is_some_and(|&first| starts(first)) && name.bytes().all(goes_on)
}

#[cfg(test)]
mod tests {
    use super::{Survey, is_read_by_runtime};

    #[test]
    fn names_are_those_of_the_parser_of_the_runtime() {
        for name in ["a", "_a", ":a", "a-b.c:d5", "é", "ａ"] {
            assert!(is_read_by_runtime(name), "{name}");
        }
        for name in ["", "5", "62d7a6", "-a", ".a", "a,b", "a[0]", "a@b", "a+b", "$a", "~", "a~"] {
            assert!(!is_read_by_runtime(name), "{name}");
        }
        let of = |info: &str| {
            let text = format!("<net>\n<rt_info>{info}</rt_info></net>");
            let refused = Survey::of(text.as_bytes(), "n.xml").unwrap().refused_name;
            refused.map(|(loc, name)| (loc.line, loc.column, name))
        };
        assert_eq!(of("<a><b value=\"5\"/></a>"), None);
        assert_eq!(of("<a><7b value=\"5\"/></a>"), Some((2, 13, "7b".into())));
        assert_eq!(of("<a 7=\"5\"/>"), Some((2, 10, "7".into())));
    }

    #[test]
    fn layers_of_bodies_are_surveyed_and_port_maps_are_not() {
        let inner = "<layer id=\"0\" name=\"c\" type=\"Const\" version=\"opset1\"><data offset=\"8\" size=\"4\"/></layer>\n\
                     <layer id=\"1\" name=\"r\" type=\"Result\"><input><port id=\"0\"><dim>7</dim></port></input></layer>";
        let text = format!(
            "<net><layers><layer id=\"0\" name=\"loop\" type=\"Loop\"><input><port id=\"0\"/><port id=\"1\">\
             <dim>-1</dim><dim>3</dim></port></input><port_map><input external_port_id=\"0\"/></port_map>\n\
             <body><layers>{inner}</layers></body></layer></layers></net>"
        );
        let survey = Survey::of(text.as_bytes(), "n.xml").unwrap();
        let bytes: Vec<_> = survey.constants.iter().map(|(_, range)| (range.start, range.end)).collect();
        assert_eq!(bytes, [(8, 12)]);
        let mut ports: Vec<_> = survey.input_ports.into_iter().collect();
        ports.sort_by_key(|(loc, _)| (loc.line, loc.column));
        let ports: Vec<_> = ports.into_iter().map(|(_, ports)| ports).collect();
        assert_eq!(ports, [vec![vec![], vec![-1, 3]], vec![vec![7]]]);
    }
}
