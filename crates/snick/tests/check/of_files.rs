//! Findings about files: weights, edges, ports, names, releases.

use snick::{CheckOptions, CheckStatus, InferOptions, Limits, LoadOptions, Release, Severity, check_codes};

use super::{Scratch, codes, serious, sums};

#[test]
fn weights_are_compared_with_constants() {
    let scratch = Scratch::new("weights");
    let quiet = CheckOptions::new().ignore(["S040"]).unwrap();
    for (offsets, weights, expected) in [
        (&[0, 8][..], Some(16), vec![]),
        (&[0, 0], Some(8), vec![]),
        // Up to 4095 bytes may be padding.
        (&[0, 8], Some(16 + 4095), vec![]),
        (&[0, 8], Some(16 + 4096), vec![("S004", "")]),
        (&[0, 4096 + 8], Some(4096 + 16), vec![("S004", "")]),
        (&[0, 8], Some(12), vec![("S003", "c1")]),
        (&[0, 8, 16], Some(4), vec![("S003", "c0")]),
        (&[0, 8], None, vec![("S002", "c0")]),
        (&[0, 4], Some(12), vec![("S009", "c1")]),
        (&[4, 0, 0, 8], Some(16), vec![("S009", "c0"), ("S009", "c3")]),
    ] {
        let bytes = weights.map(|len| vec![0; len]);
        let (_, findings) = scratch.check(&sums(offsets, 8), bytes.as_deref(), &quiet);
        let found: Vec<_> = findings.iter().map(|finding| (finding.code, finding.layer.as_str())).collect();
        assert_eq!(found, expected, "{offsets:?} {weights:?}");
    }
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 16\n";
    assert_eq!(codes(&scratch.check(&sums(&[0], 8), Some(pointer), &quiet).1), ["S005"]);
}

#[test]
fn files_that_are_no_models_are_findings() {
    let scratch = Scratch::new("unreadable");
    let whole = sums(&[0], 8);
    for text in ["", "\n", "<html><body/></html>", "\u{1}junk", &whole[..whole.len() / 2]] {
        let (status, findings) = scratch.check(text, None, &CheckOptions::new());
        assert_eq!((status, codes(&findings)), (CheckStatus::Unreadable, vec!["S001"]), "{text}");
    }
    let limited = LoadOptions::new().limits(Limits::new().layers(2));
    let path = scratch.0.join("limited.xml");
    std::fs::write(&path, whole).unwrap();
    let (status, findings) =
        snick::check_file(&path, &limited, &InferOptions::new(), &CheckOptions::new()).unwrap();
    assert_eq!((status, codes(&findings)), (CheckStatus::Limit, vec!["S008"]));
}

#[test]
fn what_follows_from_broken_edges_is_not_reported() {
    let scratch = Scratch::new("edges");
    let whole = sums(&[0, 8], 8);
    let weights = [0; 16];
    let quiet = CheckOptions::new().ignore(["S040"]).unwrap();
    for (from, to, expected) in [
        // The constant is read by nothing then, and the sum has one input.
        (
            "from-layer=\"3\" from-port=\"0\" to-layer=\"4\"",
            "from-layer=\"3\" from-port=\"0\" to-layer=\"9\"",
            "S010",
        ),
        (
            "from-layer=\"3\" from-port=\"0\" to-layer=\"4\"",
            "from-layer=\"9\" from-port=\"0\" to-layer=\"4\"",
            "S010",
        ),
        ("from-layer=\"0\" from-port=\"0\"", "from-layer=\"4\" from-port=\"2\"", "S013"),
        ("to-layer=\"4\" to-port=\"1\"", "to-layer=\"4\" to-port=\"0\"", "S017"),
        ("<layer id=\"3\"", "<layer id=\"1\"", "S011"),
    ] {
        let broken = whole.replacen(from, to, 1);
        assert_ne!(broken, whole);
        let (_, findings) = scratch.check(&broken, Some(&weights), &quiet);
        assert_eq!(codes(&findings), [expected], "{to}");
        assert!(findings[0].loc.line > 0 && !findings[0].layer.is_empty(), "{findings:?}");
    }
}

#[test]
fn ports_are_compared_where_they_begin_to_be_wrong() {
    let scratch = Scratch::new("ports");
    let whole = sums(&[0, 8], 8);
    let check = |xml: &str| scratch.check(xml, Some(&[0; 16]), &CheckOptions::new()).1;
    assert_eq!(serious(&check(&whole)), []);
    // All ports of a model that was declared for another size follow from its input.
    let stale = whole.replacen("shape=\"2\"", "shape=\"1\"", 1);
    assert_eq!(serious(&check(&stale)), [("S021", "x")]);
    // A port that the layer before does not declare so is a cause.
    let input = whole.replacen(
        "<input><port id=\"0\" precision=\"FP32\"><dim>2<",
        "<input><port id=\"0\"><dim>3<",
        1,
    );
    let findings = check(&input);
    assert_eq!(serious(&findings), [("S021", "a0")]);
    assert_eq!(findings[0].message, "input 0 is declared [3], but [2] arrives from Parameter `x` (2:1)");
    // Two wrong ports of one layer are two causes.
    let both = input.replacen("<port id=\"1\" precision=\"FP32\"><dim>2<", "<port id=\"1\"><dim>4<", 1);
    assert_eq!(serious(&check(&both)), [("S021", "a0"), ("S021", "a0")]);
}

#[test]
fn an_execution_graph_is_one_finding() {
    let scratch = Scratch::new("recorded");
    let layer = |id: usize| {
        format!(
            "<layer id=\"{id}\" name=\"l{id}\" type=\"Input\"><data execTimeMcs=\"7\" primitiveType=\"ref\"/><output>\
             <port id=\"0\" precision=\"FP32\"><dim>2</dim></port></output></layer>"
        )
    };
    let xml = format!("<net name=\"n\" version=\"11\"><layers>{}{}</layers></net>", layer(0), layer(1));
    let findings = scratch.check(&xml, None, &CheckOptions::new()).1;
    assert_eq!(serious(&findings), [("S041", "l0")]);
}

#[test]
fn operations_of_plug_ins_are_reported_and_not_judged() {
    let scratch = Scratch::new("plug-ins");
    // Neither its inputs nor its output are those of an RMS that snick knows, and the sum behind it does not fit.
    let xml = sums(&[0, 8], 8).replacen(
        "name=\"a0\" type=\"Add\" version=\"opset1\"",
        "name=\"a0\" type=\"GLU\" version=\"extension\"",
        1,
    );
    let findings = scratch.check(&xml, Some(&[0; 16]), &CheckOptions::new()).1;
    assert_eq!(serious(&findings), [("S041", "a0")]);
}

#[test]
fn names_are_compared_whatever_the_order_of_the_file() {
    let scratch = Scratch::new("names");
    let whole = sums(&[0], 8).replacen("name=\"c0\"", "name=\"y\"", 1);
    let findings = scratch.check(&whole, Some(&[0; 8]), &CheckOptions::new()).1;
    assert_eq!(serious(&findings), [("S012", "y")]);
    // An input is never the one to rename.
    let tensor = sums(&[0], 8).replace("<port id=\"0\" precision", "<port id=\"0\" names=\"t\" precision");
    let lines: Vec<&str> = tensor.lines().collect();
    let swapped = [&lines[..1], &[lines[2], lines[1]], &lines[3..]].concat().join("\n");
    for xml in [tensor.as_str(), swapped.as_str()] {
        let findings = scratch.check(xml, Some(&[0; 8]), &CheckOptions::new()).1;
        assert_eq!(serious(&findings), [("S012", "c0")]);
        assert!(findings[0].message.starts_with("the tensor name `t` is also one of Parameter `x`"));
    }
}

#[test]
fn releases_are_compared_with_the_target() {
    let scratch = Scratch::new("releases");
    let example = check_codes().into_iter().find(|code| code.code == "S040").unwrap().example.text();
    for (target, severity) in
        [(None, Severity::Note), (Some((2023, 2)), Severity::Note), (Some((2023, 1)), Severity::Error)]
    {
        let options = match target {
            Some((year, number)) => CheckOptions::new().target(Release::new(year, number)),
            None => CheckOptions::new(),
        };
        let (_, findings) = scratch.check(&example, None, &options);
        assert_eq!(codes(&findings), ["S040"]);
        assert_eq!((findings[0].severity, findings[0].layer.as_str()), (severity, "not"), "{target:?}");
    }
}
