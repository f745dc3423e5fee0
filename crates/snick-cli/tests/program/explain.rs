//! Explanations of a model: origins of sizes, cost of a run, states and weights.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{model, root, scratch, snick, text};

#[test]
fn inspect_tells_states_and_weights() {
    let cache = root().join("docs/examples/key_cache.snick").display().to_string();
    let out = text(&snick(&["inspect", &cache]).stdout);
    for line in
        ["  new_keys  f32[1,T,4]", "  keys  f32[1,T+s1,4]", "  past.0present.0  f32[1,?,4]  16 B per token"]
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
fn inspect_is_short_unless_asked_for_all() {
    let folder = scratch("short");
    let layers: String = (0..90)
        .map(|at| {
            format!("  %x{at} = Parameter-1 {{element_type: f32, shape: \"N{at}\"}}\n  %y{at} = Result-1(%x{at})\n")
        })
        .collect();
    let path = folder.join("wide.snick");
    std::fs::write(&path, format!("snick 1\ngraph \"wide\" {{\n{layers}}}\n")).unwrap();
    let path = path.display().to_string();
    let short = text(&snick(&["inspect", &path]).stdout);
    let hidden = short.lines().filter(|line| line.ends_with(" more; --all shows all")).count();
    assert_eq!((short.lines().count() <= 60, hidden), (true, 2), "{short}");
    let all = text(&snick(&["inspect", &path, "--all"]).stdout);
    assert!(all.contains("\n  x89  f32[N89]\n") && all.contains("\n  y89  f32[N89]\n"), "{all}");
    assert!(!all.contains("more;"), "{all}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn costs_have_leading_terms_and_an_example() {
    let out = text(&snick(&["inspect", &model("focus_cnn")]).stdout);
    assert!(
        out.contains("  macs         \u{2248} 510\u{b7}s0\u{b7}s1; 2.07 M at image[1,3,64,64]\n"),
        "{out}"
    );
    let out = text(&snick(&["cost", &model("focus_cnn"), "--shape", "[1,3,64,64]"]).stdout);
    assert!(out.contains("  macs         2.07 M\n") && !out.contains("formulas"), "{out}");
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

/// The unnamed symbols in a text, such as `s3`.
fn symbols(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || "_./-:".contains(c)));
    let is_symbol = |word: &&str| {
        word.strip_prefix('s')
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    words.filter(is_symbol).collect()
}

/// Adds the symbols of the expressions in an answer to a set.
fn add_symbols(answer: &Value, found: &mut BTreeSet<String>) {
    const EXPRESSIONS: [&str; 12] = [
        "symbolic",
        "expr",
        "dim",
        "symbol",
        "type",
        "macs",
        "flops",
        "bytes",
        "activation_bytes",
        "peak_bytes",
        "state_bytes",
        "fuel",
    ];
    match answer {
        Value::Array(items) => items.iter().for_each(|item| add_symbols(item, found)),
        // Suggestions may contain new symbols, which they define themselves.
        Value::Object(fields) => {
            fields.iter().filter(|(key, _)| *key != "suggest").for_each(|(key, value)| match value.as_str() {
                Some(text) if EXPRESSIONS.contains(&key.as_str()) => {
                    let start = if key == "type" { text.find('[').unwrap_or(text.len()) } else { 0 };
                    let words = text[start..].split(|c: char| !(c.is_alphanumeric() || c == '_'));
                    let is_name = |word: &&str| word.starts_with(|c: char| c.is_alphabetic() || c == '_');
                    let is_function = |word: &&str| ["min", "max"].contains(word);
                    found.extend(words.filter(|w| is_name(w) && !is_function(w)).map(String::from));
                }
                _ => add_symbols(value, found),
            })
        }
        _ => {}
    }
}

#[test]
fn every_symbol_of_an_answer_is_listed() {
    let (mut listed, mut counted) = (0, 0);
    for entry in std::fs::read_dir(root().join("models")).unwrap() {
        let path = entry.unwrap().path().join("model.xml");
        if !path.exists() {
            continue;
        }
        let path = path.display().to_string();
        for verb in [&["inspect"][..], &["infer"], &["cost"], &["why", "--unknown"]] {
            let args = [verb, &[&path]].concat();
            let json = text(&snick(&[args.as_slice(), &["--format", "json"]].concat()).stdout);
            let answer: Value = serde_json::from_str(&json).unwrap();
            let entries = answer["symbols"].as_array().unwrap().iter();
            let entries: BTreeSet<&str> = entries.filter_map(|entry| entry["name"].as_str()).collect();
            let mut mentioned: BTreeSet<String> = symbols(&json).into_iter().map(String::from).collect();
            add_symbols(&answer, &mut mentioned);
            mentioned.retain(|name| !entries.contains(name.as_str()));
            assert!(mentioned.is_empty(), "{args:?}: {mentioned:?}");
            listed += entries.len();
            counted += entries.iter().filter(|name| name.starts_with('u')).count();
            let answer = text(&snick(&args).stdout);
            let lines: BTreeSet<&str> = answer
                .lines()
                .filter_map(|line| line.trim().split_once(": "))
                .map(|(name, _)| name)
                .collect();
            let origins = answer.lines().filter_map(|line| line.split_whitespace().nth(2));
            let inputs = answer.lines().flat_map(|line| line.split(['[', ',', ']', '=']));
            let known: BTreeSet<&str> = lines.into_iter().chain(origins).chain(inputs).collect();
            let missing: Vec<_> = symbols(&answer).difference(&known).copied().collect();
            assert!(missing.is_empty(), "{args:?}: {missing:?}");
        }
    }
    assert!(listed > 50 && counted > 1, "{listed} {counted}");
}

/// A count can contain symbols that the model does not have, such as the trip count of a loop. They are
/// listed, and renamed if an input symbol has the same name.
#[test]
fn symbols_of_a_count_are_listed() {
    let path = model("subgraphs_loop");
    for verb in ["inspect", "cost"] {
        let answer = text(&snick(&[verb, &path]).stdout);
        assert!(answer.lines().any(|line| line.starts_with("  u0: ")), "{answer}");
    }
    let cost = text(&snick(&["cost", &path, "--shape", "x[u0=3..8,4]", "--format", "json"]).stdout);
    let cost: Value = serde_json::from_str(&cost).unwrap();
    let symbols = cost["symbols"].as_array().unwrap();
    assert!(symbols.iter().any(|symbol| symbol["name"] == "u1" && symbol["kind"] == "data"), "{cost}");
    assert_eq!(cost["flops"], "10*u1");
}

#[test]
fn operations_name_the_releases_that_read_each_version() {
    let out = text(&snick(&["ops", "Pad", "--format", "json"]).stdout);
    let answer: Value = serde_json::from_str(&out).unwrap();
    let releases = &answer["ops"][0]["releases"];
    assert_eq!(
        *releases,
        serde_json::json!([
            {"version": "opset1", "reads": "2022.1", "runs": "2022.1"},
            {"version": "opset12", "reads": "2023.1", "runs": "2023.1", "before": ["Pad-opset1", "Slice-opset8"]},
        ])
    );
    let lines = text(&snick(&["ops", "AvgPool"]).stdout);
    let line = lines.lines().find(|line| line.trim_start().starts_with("OpenVINO")).unwrap();
    assert!(
        ["opset1 since 2022.1", "opset14 since 2024.0", "opset16 since"]
            .iter()
            .all(|part| line.contains(part))
    );
    // No release reads an operation of a library of extensions.
    assert!(!text(&snick(&["ops", "BPETokenizer"]).stdout).contains("OpenVINO "));
}

#[test]
fn operations_that_differ_in_case_are_both_shown() {
    for (name, first) in [("slice", "slice: primitive"), ("Slice", "Slice: opset8"), ("elu", "Elu: opset1")] {
        let out = text(&snick(&["ops", name]).stdout);
        assert!(out.starts_with(first), "{out}");
    }
}
