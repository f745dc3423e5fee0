//! Slices in the bodies of loops and branches are also canonicalised.

use snick_ir::{Graph, Op};

use crate::files;

#[test]
fn slices_in_bodies_are_lowered() {
    fn slices(graph: &Graph) -> [usize; 2] {
        let mut found = [0, 0];
        for id in graph.ids() {
            let op = graph.node(id).op();
            found[0] += usize::from(snick_pass::is_slice_like(op));
            found[1] += usize::from(matches!(op, Op::Slice(_)));
            for (_, body) in op.bodies() {
                let [like, lowered] = slices(body);
                (found[0], found[1]) = (found[0] + like, found[1] + lowered);
            }
        }
        found
    }
    // The Gather of one row in the loop is also a slice.
    for (name, lowered) in [("loop", 2), ("tensor_iterator", 1), ("if", 1)] {
        let path = files::root().join(format!("tests/cases/ops/{name}.snick"));
        let mut model = snick::load(path).unwrap();
        assert!(model.infer().is_ok());
        assert_eq!(slices(model.graph()), [1, 0], "{name}");
        let report = model.canonicalise();
        assert_eq!(slices(model.graph()), [0, lowered], "{name}");
        let counts = (report.slice_like_before, report.slice_after, report.missed.len());
        assert_eq!(counts, (lowered, lowered, 0), "{name}");
    }
}
