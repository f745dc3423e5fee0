//! The table of slice lengths in the book.

use super::model::load;
use crate::documentation::check_documented;

const SLICES: [(&str, &str); 7] = [
    ("W[0:-1]", "0:-1:1"),
    ("W[1:MAX]", "1:9223372036854775807:1"),
    ("W[5:3]", "5:3:1"),
    ("W[::2]", "0:9223372036854775807:2"),
    ("W[::-1]", "9223372036854775807:-9223372036854775808:-1"),
    ("W[2:-2]", "2:-2:1"),
    ("10[5:3]", "5:3:1"),
];

/// The length of a slice of one axis, as an interval and as an expression.
fn length(dim: &str, slice: &str) -> (String, String) {
    let mut text = format!("%x = Parameter-1 {{element_type: f32, shape: \"{dim}\"}}\n");
    for (name, number) in ["start", "stop", "step"].into_iter().zip(slice.split(':')) {
        text += &format!("%{name} = Const-1 i64[1] <{number}>\n");
    }
    text += "%y = Slice-8(%x, %start, %stop, %step)\n%r = Result-1(%y)\n";
    let graph = load(&format!("snick 1\ngraph \"slice\" {{\n{text}}}\n")).unwrap();
    let result = graph.results().next().unwrap();
    let shape = &graph.fact(graph.inputs(result)[0].unwrap()).unwrap().shape;
    let symbols = graph.symbols();
    let plain = |text: String| text.trim_matches(['[', ']']).to_string();
    (plain(shape.display_intervals(symbols).to_string()), plain(shape.display(symbols).to_string()))
}

fn table() -> String {
    let mut lines = vec![
        "| slice | `W` = 4..10 | `W` = ? | length, for every `W` |".to_string(),
        "|---|---|---|---|".to_string(),
    ];
    for (name, slice) in SLICES {
        let sizes = if name.starts_with("10") { ["10", "10"] } else { ["W=4..10", "W"] };
        let (bounded, (open, expression)) = (length(sizes[0], slice).0, length(sizes[1], slice));
        lines.push(format!("| `{name}` | `{bounded}` | `{open}` | `{expression}` |"));
    }
    lines.join("\n")
}

#[test]
fn the_documented_slice_lengths_are_inferred() {
    check_documented("slices", &table());
}
