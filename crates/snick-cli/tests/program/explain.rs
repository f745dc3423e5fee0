//! What the program says of a model: where sizes come from, what a run costs, states and weights.

use std::collections::BTreeSet;

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

/// The symbols without a name of their own in a text: `s3`.
fn symbols(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || "_./-:".contains(c)));
    let is_symbol = |word: &&str| {
        word.strip_prefix('s')
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    words.filter(is_symbol).collect()
}

#[test]
fn every_symbol_of_an_answer_is_listed() {
    let mut listed = 0;
    for entry in std::fs::read_dir(root().join("models")).unwrap() {
        let path = entry.unwrap().path().join("model.xml").display().to_string();
        for verb in [&["inspect"][..], &["infer"], &["cost"], &["why", "--unknown"]] {
            let args = [verb, &[&path]].concat();
            let json = text(&snick(&[args.as_slice(), &["--format", "json"]].concat()).stdout);
            let entries: BTreeSet<&str> = json
                .split("{\"name\":\"")
                .skip(1)
                .filter(|entry| entry.contains("\"kind\":"))
                .filter_map(|entry| entry.split('"').next())
                .collect();
            let missing: Vec<_> = symbols(&json).difference(&entries).copied().collect();
            assert!(missing.is_empty(), "{args:?}: {missing:?}");
            listed += entries.len();
            let answer = text(&snick(&args).stdout);
            let lines: BTreeSet<&str> = answer
                .lines()
                .filter_map(|line| line.trim().split_once(": "))
                .map(|(name, _)| name)
                .collect();
            let origins = answer.lines().filter_map(|line| line.split_whitespace().nth(1));
            let inputs = answer.lines().flat_map(|line| line.split(['[', ',', ']', '=']));
            let known: BTreeSet<&str> = lines.into_iter().chain(origins).chain(inputs).collect();
            let missing: Vec<_> = symbols(&answer).difference(&known).copied().collect();
            assert!(missing.is_empty(), "{args:?}: {missing:?}");
        }
    }
    assert!(listed > 50, "{listed}");
}

#[test]
fn operations_that_differ_in_case_are_both_shown() {
    for (name, first) in [("slice", "slice: primitive"), ("Slice", "Slice: opset8"), ("elu", "Elu: opset1")] {
        let out = text(&snick(&["ops", name]).stdout);
        assert!(out.starts_with(first), "{out}");
    }
}
