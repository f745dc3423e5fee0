//! Plans for several devices.

use crate::{root, snick, text};

fn example() -> String {
    root().join("docs/examples/feed_forward.snick").display().to_string()
}

/// The bytes of a row of 16 floats.
const ROW: usize = 16 * 4;

fn planned(more: &[&str]) -> (Option<i32>, String) {
    let example = example();
    let output = snick(&[&["plan", &example, "--format", "json"], more].concat());
    let printed = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
    (output.status.code(), text(printed))
}

#[test]
fn the_batch_is_spread_first() {
    let (code, plan) = planned(&["--shape", "x[8,16]", "--devices", "4"]);
    assert_eq!(code, Some(0), "{plan}");
    for part in [
        "\"schema\":\"snick.plan/1\",\"devices\":4,\"mesh\":\"batch=4\",\"shard\":\"x[batch]\"",
        &format!("\"weight_bytes\":4096,\"input_bytes\":{}", 2 * ROW),
        "\"sent_bytes\":0",
    ] {
        assert!(plan.contains(part), "{part} in\n{plan}");
    }
}

#[test]
fn matrices_are_spread_where_the_batch_cannot_be() {
    // The first matrix is sharded by columns, so the second is sharded by rows. Each device takes part in one
    // all-reduce of a row.
    let (code, plan) = planned(&["--shape", "x[1,16]", "--devices", "4"]);
    assert_eq!(code, Some(0), "{plan}");
    for part in [
        "\"mesh\":\"model=4\",\"shard\":\"up[_,model]\",\"weight_bytes\":1024",
        &format!("\"sent_bytes\":{}", ROW * 2 * 3 / 4),
        "\"name\":\"down\",\"element_type\":\"f32\",\"dims\":[32,16],\"is_input\":false,\"axes\":[[\"model\"],[]]",
        "\"collective\":\"all-reduce\",\"devices\":4",
        "\"unplanned\":[]",
    ] {
        assert!(plan.contains(part), "{part} in\n{plan}");
    }
}

#[test]
fn memory_decides() {
    let shape = ["--shape", "x[8,16]", "--devices", "4"];
    // The weights alone take 4096 bytes, so they have to be sharded over an axis.
    let (code, plan) = planned(&[&shape[..], &["--memory", "4000"]].concat());
    assert_eq!(code, Some(0), "{plan}");
    assert!(plan.contains("\"mesh\":\"batch=2,model=2\"") && plan.contains("\"fits\":true"), "{plan}");
    let (code, plan) = planned(&[&shape[..], &["--memory", "1000"]].concat());
    assert_eq!(code, Some(1), "{plan}");
    // No mesh fits, so the mesh that needs the least memory is proposed.
    assert!(plan.contains("\"mesh\":\"batch=2,model=2\"") && plan.contains("\"fits\":false"), "{plan}");
}

#[test]
fn given_meshes_and_rules_are_followed() {
    let (_, plan) = planned(&["--shape", "x[8,16]", "--mesh", "m=2", "--shard", "x[_,m],up[]"]);
    // The contracted axis is only sharded in x. x is gathered, because it is smaller than the result.
    assert!(
        plan.contains(&format!("\"collective\":\"all-gather\",\"devices\":2,\"bytes\":{}", 8 * ROW / 2)),
        "{plan}"
    );
    for (more, message) in [
        (&["--shape", "x[8,16]", "--mesh", "m=2", "--devices", "3"][..], "--devices is 3"),
        (&["--shape", "x[8,16]", "--mesh", "m=3", "--shard", "x[m]"], "m=3 does not divide dim 0 of `x`"),
        (&["--devices", "2"], "give the inputs sizes with --shape"),
        (&["--shape", "x[8,16]"], "--devices"),
    ] {
        let (code, printed) = planned(more);
        assert_eq!(code, Some(2), "{printed}");
        assert!(printed.contains(message), "{message} in\n{printed}");
    }
}

#[test]
fn what_is_not_known_is_named() {
    let folder = crate::scratch("plan");
    let path = folder.join("concat.snick");
    let layers = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4,8\"}\n  \
                  %y = Concat-1(%x, %x) {axis: 1}\n  %r = Result-1(%y)\n}\n";
    std::fs::write(&path, layers).unwrap();
    let output = snick(&["plan", &path.display().to_string(), "--mesh", "m=2", "--shard", "x[_,m]"]);
    let printed = text(&output.stdout);
    assert!(printed.contains("sends at least 0 B per call"), "{printed}");
    assert!(printed.contains("concatenate y: parts of it move along a dim that is spread"), "{printed}");
    std::fs::remove_dir_all(folder).unwrap();
}
