//! DirectML descriptions.

use snick::{DimPolicy, FeatureLevel, draw_inputs};
use snick_run::{Options, Session};

use crate::files;

/// A description of all slices of a canonical model can be read and run, and is written as the same text
/// again.
#[test]
fn descriptions_round_trip() {
    let mut operators = 0;
    for path in files::models() {
        let mut graph = snick_read::read_file(&path, None).unwrap().graph;
        snick_ir::infer(&mut graph);
        drop(snick_pass::lower_slices(&mut graph));
        for level in ["2.0", "2.1", "3.0", "4.1", "6.4"] {
            let level: FeatureLevel = level.parse().unwrap();
            // The golden tests cover errors.
            let Ok(text) = snick_emit::directml(&graph, level) else { continue };
            let again = snick_read::read_json(&text, "case.json").unwrap();
            assert!(again.errors.is_empty(), "{}: {:?}", path.display(), again.errors);
            let mut again = again.graph;
            assert_eq!(snick_ir::infer(&mut again), [], "{}", path.display());
            assert_eq!(snick_emit::directml(&again, level).unwrap(), text);
            let drawn =
                draw_inputs(&again, vec![None; again.parameters().count()], 1, DimPolicy::Smallest).unwrap();
            Session::new(&again).unwrap().run(&drawn, Options::default()).complete().unwrap();
            operators += text.matches("\"type\"").count();
        }
    }
    assert!(operators > 20, "{operators}");
}
