//! Lists of names of values, separated by commas.

use snick_ir::Graph;

/// Splits a list at its commas, but not inside names of layers or tensors that contain commas.
pub fn split_names<'l>(list: &'l str, graph: &Graph) -> Vec<&'l str> {
    let layers = graph.ids().map(|id| graph.node(id).name());
    let tensors = graph.ids().flat_map(|id| graph.node(id).outs()).flat_map(|out| out.names());
    let known: Vec<&str> =
        layers.chain(tensors.map(String::as_str)).filter(|name| name.contains(',')).collect();
    let mut names = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let of_name = known.iter().filter(|name| rest.starts_with(**name)).map(|name| name.len()).max();
        // A port may follow the name.
        let from = of_name.unwrap_or(0);
        let end = rest[from..].find(',').map_or(rest.len(), |at| from + at);
        names.push(&rest[..end]);
        rest = rest[end..].strip_prefix(',').unwrap_or("");
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_may_contain_commas() {
        let text = "snick 1\ngraph \"g\" {\n  %a = Parameter-1 {element_type: f32, shape: \"2\"}\n  \
                    %\"b,c\" = ReLU-1(%a) : _ \"d,e,f\"\n  %y = Result-1(%\"b,c\")\n}\n";
        let graph = snick_ir::text::parse(text, None).unwrap();
        let names = |list| split_names(list, &graph);
        assert_eq!(names("a,b,c,y"), ["a", "b,c", "y"]);
        assert_eq!(names("b,c:0,d,e,f,d,e"), ["b,c:0", "d,e,f", "d", "e"]);
        assert_eq!(names("a,,x"), ["a", "", "x"]);
        assert!(names("").is_empty());
    }
}
