//! `snick certify`: exit codes, the forms of its answers, and the files that it writes.

use std::fs;

use serde_json::Value;

use crate::{model, root, scratch, snick, text};

fn json(args: &[&str]) -> (Value, Option<i32>) {
    let output = snick(&[&["certify", "--format", "json"], args].concat());
    (serde_json::from_slice(&output.stdout).unwrap(), output.status.code())
}

fn code(args: &[&str]) -> Option<i32> {
    snick(&[&["certify"], args].concat()).status.code()
}

fn count(list: &Value, status: &str) -> usize {
    list.as_array().unwrap().iter().filter(|one| one["status"] == status).count()
}

#[test]
fn rewrites_are_counted_and_all_must_be_proved_if_required() {
    let cnn = model("focus_cnn");
    let (answer, exit) = json(&[&cnn]);
    let [proved, sampled, refuted] =
        ["proved", "sampled", "refuted"].map(|status| count(&answer["rewrites"], status));
    let applied = answer["rewrites"].as_array().unwrap().len();
    assert_eq!(
        answer["summary"],
        serde_json::json!({"applied": applied, "proved": proved, "sampled": sampled, "refuted": refuted})
    );
    assert_eq!((answer["schema"].as_str(), applied > 0), (Some("snick.certify/1"), true));
    assert_eq!((refuted, exit), (0, Some(0)));
    assert_eq!(code(&[&cnn, "--require-proof"]), Some(i32::from(proved < applied)));
    let first = &answer["rewrites"][0];
    let place = ["rule", "op", "layer", "loc"].map(|key| first[key].as_str());
    assert_eq!(place, ["lower-slices", "StridedSlice", "focus_00", "28:3"].map(Some));
}

#[test]
fn text_has_a_line_for_each_rule_and_for_each_rewrite_without_a_proof() {
    let cnn = model("focus_cnn");
    let (answer, _) = json(&[&cnn]);
    let rewrites = answer["rewrites"].as_array().unwrap();
    let mut rules: Vec<&str> = rewrites.iter().map(|rewrite| rewrite["rule"].as_str().unwrap()).collect();
    rules.sort_unstable();
    rules.dedup();
    let printed = text(&snick(&["certify", &cnn]).stdout);
    let numbers = |line: &str| -> usize {
        line.split_whitespace().skip(1).take(4).map(|word| word.parse::<usize>().unwrap()).sum()
    };
    let lines = rules.iter().map(|rule| printed.lines().find(|line| line.starts_with(rule)).unwrap());
    // Each rewrite is counted as applied, and by its status.
    assert_eq!(lines.map(numbers).sum::<usize>(), 2 * rewrites.len());
    let unproved = rewrites.len() - count(&answer["rewrites"], "proved");
    assert_eq!(printed.lines().count(), 2 + rules.len() + unproved);
}

#[test]
fn two_models_are_equal_only_if_all_outputs_are_proved() {
    let folder = scratch("certify-pair");
    let [a, b] = ["a.snick", "b.snick"].map(|name| folder.join(name).display().to_string());
    let layers = |op: &str| {
        format!(
            "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"N,3\"}}\n  \
             %r = {op}-1(%x)\n  %y = Result-1(%r)\n  %z = Result-1(%x)\n}}\n"
        )
    };
    fs::write(&a, layers("ReLU")).unwrap();
    fs::write(&b, layers("Negative")).unwrap();
    let (answer, exit) = json(&[&a, "--after", &b]);
    let outputs = answer["outputs"].as_array().unwrap();
    assert_eq!(outputs.iter().map(|output| output["name"].as_str().unwrap()).collect::<Vec<_>>(), ["y", "z"]);
    assert_eq!((count(&answer["outputs"], "proved") < 2, exit), (true, Some(1)));
    for output in outputs {
        assert_eq!(output["counterexample"].is_object(), output["status"] == "refuted");
    }
    let proved = count(&json(&[&a, "--after", &a]).0["outputs"], "proved");
    assert_eq!(code(&[&a, "--after", &a]), Some(i32::from(proved < 2)));
    let printed = text(&snick(&["certify", &a, "--after", &b]).stdout);
    assert_eq!(printed.lines().count(), 3);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_certificate_is_checked_against_its_models() {
    let folder = scratch("certify-check");
    let [one, both, damaged, gone] = ["one.json", "both.json", "damaged.json", "gone.json"]
        .map(|name| folder.join(name).display().to_string());
    let [slice, cnn] = ["slice8_03_step_2", "focus_cnn"].map(model);
    assert_eq!(code(&[&slice, "-o", &one]), Some(0));
    code(&[&slice, "--after", &slice, "-o", &both]);
    fs::write(&damaged, &fs::read(&one).unwrap()[1..]).unwrap();
    assert_eq!(code(&["--check", &one, &slice]), Some(0));
    assert_eq!(code(&["--check", &both, &slice, &slice]), Some(0));
    for args in [
        vec![&one, &cnn],
        vec![&one, &slice, &slice],
        vec![&both, &slice],
        vec![&both, &slice, &cnn],
        vec![&damaged, &slice],
        vec![&gone, &slice],
    ] {
        let args: Vec<&str> = ["--check"].into_iter().chain(args.into_iter().map(String::as_str)).collect();
        let (answer, exit) = json(&args);
        assert_eq!(
            (&answer["valid"], answer["error"].is_string(), exit),
            (&false.into(), true, Some(1)),
            "{args:?}"
        );
        let errors = snick(&[&["certify"], &args[..]].concat()).stderr;
        assert_eq!(text(&errors).lines().filter(|line| line.starts_with("error: ")).count(), 1, "{args:?}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn proofs_go_to_standard_output_and_never_over_a_model() {
    let folder = scratch("certify-output");
    let path = folder.join("m.snick").display().to_string();
    fs::copy(root().join("docs/examples/two_inputs.snick"), &path).unwrap();
    let before = fs::read(&path).unwrap();
    assert_eq!(code(&[&path, "-o", &path]), Some(2));
    assert_eq!(fs::read(&path).unwrap(), before);
    let printed = folder.join("printed.json").display().to_string();
    fs::write(&printed, snick(&["certify", &path, "-o", "-"]).stdout).unwrap();
    assert_eq!(code(&["--check", &printed, &path]), Some(0));
    let smt = folder.join("new/smt").display().to_string();
    assert_eq!(code(&[&path, "--smt", &smt]), Some(0));
    assert!(fs::metadata(&smt).unwrap().is_dir());
    assert_eq!(code(&[&path, "--smt", &path]), Some(2));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn wrong_use_and_limits_have_their_exit_codes() {
    let cnn = model("focus_cnn");
    for (args, exit) in [
        (vec![&*cnn, "--max-layers", "2"], 3),
        (vec![&cnn, "--timeout", "0ms"], 3),
        (vec![&cnn, &cnn], 2),
        (vec!["--check", "c.json", &cnn, "--after", &cnn], 2),
        (vec!["--check", "c.json", &cnn, "-o", "d.json"], 2),
        (vec!["-", "--after", "-"], 2),
        (vec!["nosuch.xml"], 2),
        (vec![&cnn, "--after", "nosuch.xml"], 2),
    ] {
        assert_eq!(code(&args), Some(exit), "{args:?}");
    }
    // An inference error is a finding.
    assert_eq!(code(&[&root().join("docs/examples/mismatch.snick").display().to_string()]), Some(1));
}
