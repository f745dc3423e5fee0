//! Verbs on many models.

use crate::{scratch, snick, text};

#[test]
fn many_models_get_a_line_each() {
    let folder = scratch("many");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write(
        "a.snick",
        "snick 1\ngraph \"a\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  %y = Result-1(%x)\n}\n",
    );
    write(
        "b.snick",
        "snick 1\ngraph \"b\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n  \
        %k = Const-1 f32[3] <1,2,3>\n  %s = Add-1(%x, %k)\n  %y = Result-1(%s)\n}\n",
    );
    let path = folder.display().to_string();
    let out = snick(&["infer", &path]);
    let lines = text(&out.stdout);
    assert_eq!(out.status.code(), Some(1), "{lines}");
    let lines: Vec<&str> = lines.lines().map(|line| line.trim_start_matches(&path)).collect();
    assert_eq!(
        lines,
        ["/a.snick: 2 layers, 0 errors", "/b.snick: 4 layers, 1 error", "2 models: 1 fine, 1 with errors"]
    );
    let out = snick(&["inspect", &path, "--jobs", "1"]);
    assert!(text(&out.stdout).contains("/a.snick: 2 layers, 0 slices, 1 unbounded size, 0 errors\n"));
    for verb in ["infer", "inspect"] {
        let json = text(&snick(&[verb, &path, "--format", "json"]).stdout);
        let objects: Vec<&str> = json.lines().collect();
        assert_eq!(objects.len(), 2, "{json}");
        assert!(
            objects[0].starts_with("{\"model\":")
                && objects[0].contains("a.snick\",\"")
                && objects[0].ends_with('}')
        );
    }
    write("c.snick", "nothing");
    let out = snick(&["canon", "--verify", &path]);
    let lines = text(&out.stdout);
    assert_eq!(out.status.code(), Some(2), "{lines}");
    assert!(
        lines.contains("a.snick: 0 slice-like layers lowered to 0 slices; verified: the outputs are equal\n"),
        "{lines}"
    );
    assert!(
        lines.contains("c.snick: ") && lines.ends_with("3 models: 1 fine, 1 with errors, 1 unreadable\n"),
        "{lines}"
    );
    assert_eq!(snick(&["canon", &path]).status.code(), Some(2));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_cold_start_times_each_model_that_runs() {
    let path = |name: &str| crate::root().join(name).display().to_string();
    let (fine, wrong) = (path("models/focus_cnn/model.xml"), path("docs/examples/mismatch.snick"));
    let out = snick(&["bench", "--cold", &fine, &wrong, "--format", "json"]);
    assert_eq!(out.status.code(), Some(1));
    let answer: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let models = answer["models"].as_array().unwrap();
    assert_eq!(models.iter().map(|row| row["model"].as_str().unwrap()).collect::<Vec<_>>(), [&fine, &wrong]);
    let times = ["read_ms", "infer_ms", "plan_ms", "run_ms"];
    assert!(times.iter().all(|time| models[0][time].as_f64().unwrap() > 0.0));
    assert!(times.iter().all(|time| models[1][time].is_null()) && models[1]["error"].is_string());
    assert!(answer["total_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(snick(&["bench", "--cold", &fine]).status.code(), Some(0));
    assert_eq!(snick(&["bench", &fine, &wrong]).status.code(), Some(2));
}
