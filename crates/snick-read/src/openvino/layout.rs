//! Names dynamic sizes of inputs after the letters in the layouts of the inputs.

use snick_ir::{Graph, Info, NodeId, NodeRef, Op};
use snick_shape::{DimSpec, ShapeSpec};

/// Names dynamic sizes of inputs after the letters in the layouts of the inputs. If several inputs have the
/// same letter, only the first one gets the name, because their sizes may differ.
pub(super) fn name_sizes(graph: &mut Graph) {
    let mut taken: Vec<String> = Vec::new();
    let inputs: Vec<NodeId> = graph.parameters().collect();
    for id in inputs {
        let node = graph.node(id);
        let (Some(layout), Op::Parameter(parameter)) = (layout(node), node.op()) else { continue };
        let ShapeSpec::Dims(mut dims) = parameter.shape.clone() else { continue };
        let Some(names) = names(layout, dims.len()) else { continue };
        for (dim, name) in dims.iter_mut().zip(names) {
            if let (DimSpec::Interval(interval), Some(name)) = (&*dim, name)
                && interval.is_exact().is_none()
                && !taken.iter().any(|known| known == name)
            {
                taken.push(name.to_owned());
                *dim = DimSpec::Symbol { name: name.to_owned(), interval: *interval };
            }
        }
        // The node is a Parameter, so this cannot fail.
        let _ = graph.set_parameter_shape(id, ShapeSpec::Dims(dims));
    }
}

/// The layout of an input, such as `[N,C,H,W]`. It is in `<rt_info><attribute name="layout"
/// layout="[N,C,H,W]"/></rt_info>` of the output port.
fn layout(node: NodeRef<'_>) -> Option<&str> {
    let ports = node.details()?.info.iter().filter(|info| info.name == "output");
    let mut attributes = ports.flat_map(|port| &port.children).flat_map(|rt_info| &rt_info.children);
    attributes.find_map(|info| value(info, "layout").filter(|_| value(info, "name") == Some("layout")))
}

fn value<'i>(info: &'i Info, name: &str) -> Option<&'i str> {
    info.attrs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// The name of each of `rank` axes; `None` for an axis without a name. Returns `None` if the layout has
/// another rank.
fn names<'l>(layout: &'l str, rank: usize) -> Option<Vec<Option<&'l str>>> {
    let entries: Vec<&'l str> =
        layout.strip_prefix('[')?.strip_suffix(']')?.split(',').map(str::trim).collect();
    let (before, after) = match entries.iter().position(|&entry| entry == "...") {
        Some(at) => (&entries[..at], &entries[at + 1..]),
        None => (&entries[..], &entries[..0]),
    };
    let between = rank.checked_sub(before.len() + after.len())?;
    if between > 0 && before.len() == entries.len() {
        return None;
    }
    let named = |entries: &[&'l str]| -> Vec<Option<&'l str>> {
        entries.iter().map(|&entry| Some(entry).filter(|entry| is_name(entry))).collect()
    };
    Some([named(before), vec![None; between], named(after)].concat())
}

/// Whether an entry of a layout is the name of an axis. An axis without a name is written as `?`.
fn is_name(entry: &str) -> bool {
    entry.starts_with(|c: char| c.is_ascii_alphabetic())
        && entry.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use snick_ir::{Op, infer};

    use super::names;
    use crate::openvino::{Weights, read};

    #[test]
    fn axes_are_named_from_both_ends() {
        assert_eq!(names("[N,C,H,W]", 4), Some(vec![Some("N"), Some("C"), Some("H"), Some("W")]));
        assert_eq!(names("[N,...,C]", 4), Some(vec![Some("N"), None, None, Some("C")]));
        assert_eq!(names("[?,...]", 1), Some(vec![None]));
        assert_eq!(names("[N,C]", 3), None);
        assert_eq!(names("[N,C]", 1), None);
        assert_eq!(names("NC", 2), None);
        assert_eq!(names("[a b,\u{1b},1x]", 3), Some(vec![None; 3]));
    }

    #[test]
    fn letters_name_open_sizes_once() {
        let input = |id: u32, shape: &str| {
            let dims: String =
                shape.split(',').map(|dim| format!("<dim>{}</dim>", dim.replace('?', "-1"))).collect();
            format!(
                "<layer id=\"{id}\" name=\"x{id}\" type=\"Parameter\" version=\"opset1\">\
                 <data shape=\"{shape}\" element_type=\"f32\"/><output><port id=\"0\">{dims}<rt_info>\
                 <attribute name=\"layout\" version=\"0\" layout=\"[N,C,H]\"/></rt_info></port></output></layer>"
            )
        };
        let text = format!(
            "<net name=\"m\" version=\"11\"><layers>{}{}</layers><edges/></net>",
            input(0, "?,3,?"),
            input(1, "?,?,5")
        );
        let mut graph = read(&text, &Weights::absent("the weights"), "m.xml").unwrap().graph;
        assert!(infer(&mut graph).is_empty());
        let shapes = graph.parameters().map(|id| match graph.node(id).op() {
            Op::Parameter(parameter) => parameter.shape.to_string(),
            _ => String::new(),
        });
        assert_eq!(shapes.collect::<Vec<_>>(), ["N,3,H", "?,C,5"]);
    }
}
