//! One `<layer>`: its ports, attributes and runtime info.

use std::borrow::Cow;

use snick_ir::{AttrValue, Attrs, Declared, Info, Loc, Output, PortIds, Version};
use snick_tensor::{ElementType, SmallVector};

use super::body::Body;
use super::net::{Context, Net};
use super::xml::{Cursor, Step};
use crate::ReadError;

/// A layer as written in the file.
pub(super) struct Layer<'x> {
    pub(super) id: u64,
    pub(super) name: Cow<'x, str>,
    pub(super) op_type: Cow<'x, str>,
    pub(super) version: Version,
    pub(super) loc: Loc,
    pub(super) attrs: Attrs<'x>,
    pub(super) input_ids: SmallVector<u32, 5>,
    pub(super) output_ids: SmallVector<u32, 1>,
    pub(super) outs: SmallVector<Output, 1>,
    /// Metadata: `rt_info`, and unknown attributes and elements.
    pub(super) info: Vec<Info>,
    /// Boxed, because few layers have bodies.
    pub(super) body: Option<Box<Body<'x>>>,
}

/// Reads a layer whose start tag has just been read. `read_net` reads the contents of a body.
pub(super) fn read_layer<'x>(
    cursor: &mut Cursor<'x>,
    context: &mut Context,
    read_net: fn(&mut Cursor, &mut Context) -> Result<Net, ReadError>,
) -> Result<Layer<'x>, ReadError> {
    let loc = cursor.loc();
    let mut layer = Layer {
        id: cursor.number("id")?,
        name: cursor.require("name")?,
        op_type: cursor.require("type")?,
        version: Version::from_ir(cursor.attr("version").map_or("", |v| v)),
        loc,
        attrs: Attrs::new(),
        input_ids: SmallVector::new(),
        output_ids: SmallVector::new(),
        outs: SmallVector::new(),
        info: Vec::new(),
        body: None,
    };
    let extra = cursor.take_attrs().filter(|(name, _)| !matches!(*name, "id" | "name" | "type" | "version"));
    let extra: Vec<_> = extra.map(|(name, value)| (name.to_string(), value.into_owned())).collect();
    if !extra.is_empty() {
        layer.info.push(Info { name: "layer".into(), attrs: extra, ..Info::default() });
    }
    let mut has_data = false;
    loop {
        match cursor.step()? {
            Step::Open("data") => {
                if std::mem::replace(&mut has_data, true) {
                    return Err(cursor.error("the layer has a second <data> element"));
                }
                read_data(cursor, &mut layer)?;
            }
            Step::Open("input") => read_inputs(cursor, &mut layer)?,
            Step::Open("output") => read_outputs(cursor, &mut layer)?,
            Step::Open("body" | "then_body") => body(&mut layer).nets[0] = Some(read_net(cursor, context)?),
            Step::Open("else_body") => body(&mut layer).nets[1] = Some(read_net(cursor, context)?),
            Step::Open("port_map" | "then_port_map") => body(&mut layer).read_port_map(cursor, 0)?,
            Step::Open("else_port_map") => body(&mut layer).read_port_map(cursor, 1)?,
            Step::Open("back_edges") => body(&mut layer).read_back_edges(cursor)?,
            Step::Open(name) => layer.info.push(cursor.info(name)?),
            Step::Text(_) => {}
            Step::Close | Step::End => return Ok(layer),
        }
    }
}

fn body<'l, 'x>(layer: &'l mut Layer<'x>) -> &'l mut Body<'x> {
    layer.body.get_or_insert_with(Box::default)
}

fn read_data<'x>(cursor: &mut Cursor<'x>, layer: &mut Layer<'x>) -> Result<(), ReadError> {
    for (name, value) in cursor.take_attrs() {
        layer.attrs.push(Cow::Borrowed(name), AttrValue::Text(value));
    }
    loop {
        match cursor.step()? {
            Step::Open(name) => {
                let info = cursor.info(name)?;
                layer.info.push(Info { name: "data".into(), children: vec![info], ..Info::default() });
            }
            Step::Text(_) => {}
            Step::Close | Step::End => return Ok(()),
        }
    }
}

/// Reads input ports. Only their ids are needed, because everything else follows from the edges.
fn read_inputs(cursor: &mut Cursor, layer: &mut Layer) -> Result<(), ReadError> {
    loop {
        match cursor.step()? {
            Step::Open("port") => {
                let id = cursor.number("id")?;
                layer.input_ids.push(id);
                while cursor.dim().is_some() {}
                loop {
                    match cursor.step()? {
                        Step::Open("dim") => drop(cursor.text()?),
                        Step::Open(name) => {
                            let info = cursor.info(name)?;
                            layer.info.push(port_info("input", id, info));
                        }
                        Step::Text(_) => {}
                        Step::Close | Step::End => break,
                    }
                }
            }
            Step::Open(name) => drop(cursor.info(name)?),
            Step::Text(_) => {}
            Step::Close | Step::End => return Ok(()),
        }
    }
}

fn read_outputs(cursor: &mut Cursor, layer: &mut Layer) -> Result<(), ReadError> {
    loop {
        match cursor.step()? {
            Step::Open("port") => {
                let id = cursor.number("id")?;
                let precision = cursor.attr("precision").and_then(|p| ElementType::from_ir_precision(p));
                let names = cursor.attr("names").map(|names| split_names(names));
                let mut dims: SmallVector<i64, 4> = SmallVector::new();
                while let Some(text) = cursor.dim() {
                    dims.push(size(cursor, text)?);
                }
                loop {
                    match cursor.step()? {
                        Step::Open("dim") => {
                            let text = cursor.text()?;
                            dims.push(size(cursor, &text)?);
                        }
                        Step::Open(name) => {
                            let info = cursor.info(name)?;
                            layer.info.push(port_info("output", id, info));
                        }
                        Step::Text(_) => {}
                        Step::Close | Step::End => break,
                    }
                }
                let element_type = precision.unwrap_or(ElementType::Dynamic);
                // Both a scalar and a value of dynamic rank are written without dims.
                let is_known = !dims.is_empty() || element_type != ElementType::Dynamic;
                let declared = Declared { element_type, dims: is_known.then_some(dims) };
                layer.output_ids.push(id);
                let mut out = Output::unknown();
                (out.names, out.declared) = (names.unwrap_or_default(), Some(declared));
                layer.outs.push(out);
            }
            Step::Open(name) => drop(cursor.info(name)?),
            Step::Text(_) => {}
            Step::Close | Step::End => return Ok(()),
        }
    }
}

/// A dim of a port: a size, or -1 if dynamic.
fn size(cursor: &mut Cursor, text: &str) -> Result<i64, ReadError> {
    let size = text.trim_ascii().parse::<i64>().ok().filter(|&d| d >= -1);
    size.ok_or_else(|| cursor.error(format!("dim \"{text}\" is not a size")))
}

fn port_info(side: &str, id: u32, info: Info) -> Info {
    Info {
        name: side.into(),
        attrs: vec![("port".into(), id.to_string())],
        children: vec![info],
        ..Info::default()
    }
}

/// Splits tensor names at commas; a backslash escapes a comma inside a name.
fn split_names(text: &str) -> Vec<String> {
    // Usually there is a single name.
    if memchr::memchr2(b',', b'\\', text.as_bytes()).is_none() && !text.is_empty() {
        return vec![text.to_string()];
    }
    let mut names = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&',') => {
                chars.next();
                if let Some(name) = names.last_mut() {
                    name.push(',');
                }
            }
            ',' => names.push(String::new()),
            c => {
                if let Some(name) = names.last_mut() {
                    name.push(c);
                }
            }
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Port ids as stored in a node: `None` if they are consecutive numbers from `first` on.
pub(super) fn port_ids(ids: &[u32], first: u32) -> Option<PortIds> {
    let ids = PortIds::new(ids);
    (ids != PortIds::From(first)).then_some(ids)
}

#[cfg(test)]
mod tests {
    use snick_tensor::Storage;

    use super::split_names;
    use crate::openvino::{Weights, read};

    #[test]
    fn a_second_data_element_is_an_error() {
        for data in ["<data/><data/>", "<data/><data element_type=\"f32\" shape=\"\"/>"] {
            let text = format!(
                "<net name=\"n\" version=\"11\"><layers><layer id=\"0\" name=\"x\" type=\"Parameter\" \
                 version=\"opset1\">{data}</layer></layers></net>"
            );
            let read = read(&text, &Weights::in_memory("w.bin", Storage::heap(Vec::new())), "n.xml");
            let message = read.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(message.contains("a second <data> element"), "{data}: {message}");
        }
    }

    #[test]
    fn tensor_names_may_hold_commas() {
        assert_eq!(&*split_names(r"a,b\,c,,d"), ["a", "b,c", "d"]);
    }
}
