//! What the program says of a model: where sizes come from, what a run costs, states and weights.

use crate::{model, root, snick, text};

#[test]
fn inspect_tells_states_and_weights() {
    let cache = root().join("docs/examples/key_cache.snick").display().to_string();
    let out = text(&snick(&["inspect", &cache]).stdout);
    for line in
        ["  new_keys  f32[1,T,4]", "  keys  f32[1,T+s1,4]", "  past.0present.0  f32[1,?,4]  16 bytes a token"]
    {
        assert!(out.contains(line), "{line} is not in {out}");
    }
    let json = text(&snick(&["inspect", &cache, "--format", "json"]).stdout);
    assert!(
        json.contains(r#"{"variable":"past.0present.0","type":"f32[1,?,4]","grows":true,"bytes":16}"#),
        "{json}"
    );
    let json = text(&snick(&["inspect", &model("focus_cnn"), "--format", "json"]).stdout);
    assert!(json.contains(r#""scale":"-""#), "{json}");
}

#[test]
fn why_tells_trees_unknown_sizes_and_errors_as_json() {
    let keys = root().join("docs/examples/masked_keys.snick").display().to_string();
    let clash = root().join("docs/examples/mismatch.snick").display().to_string();
    let tree =
        ["\"schema\":\"snick.why/1\"", "\"role\":\"computed\"", "\"layer\":\"past\"", "\"known\":false"];
    let counts = ["\"schema\":\"snick.why-unknown/1\"", "\"kind\":\"merged\"", "\"dims\":"];
    let operands = ["\"schema\":\"snick.why-error/1\"", "\"operands\":[", "\"role\":\"input\""];
    for (args, code, expected) in [
        (vec![keys.as_str(), "keys:2:1"], 0, &tree[..]),
        (vec![keys.as_str(), "--unknown"], 0, &counts[..]),
        (vec![clash.as_str(), "--error", "1"], 1, &operands[..]),
    ] {
        let args: Vec<&str> = [&["why"][..], &args, &["--format", "json"]].concat();
        let out = snick(&args);
        assert_eq!(out.status.code(), Some(code), "{args:?}");
        let answer = text(&out.stdout);
        expected.iter().for_each(|part| assert!(answer.contains(part), "{args:?}: {answer}"));
    }
    for wrong in [&["why", &clash, "--error", "9"][..], &["why", &keys, "kez"], &["why", &keys]] {
        assert_eq!(snick(wrong).status.code(), Some(2), "{wrong:?}");
    }
}
