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
        // With this edge missing, the constant has no reader, and the sum has only one input.
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
    // If the model was declared for another input size, only the input is reported: the sizes of all ports
    // follow from it.
    let stale = whole.replacen("shape=\"2\"", "shape=\"1\"", 1);
    assert_eq!(serious(&check(&stale)), [("S021", "x")]);
    // A port is reported if it differs from the declaration of the preceding layer.
    let input = whole.replacen(
        "<input><port id=\"0\" precision=\"FP32\"><dim>2<",
        "<input><port id=\"0\"><dim>3<",
        1,
    );
    let findings = check(&input);
    assert_eq!(serious(&findings), [("S021", "a0")]);
    assert_eq!(findings[0].message, "input 0 is declared [3], but [2] arrives from Parameter `x` (2:1)");
    // Two wrong ports of one layer are two findings.
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
    // The ports of this layer do not match the GLU that snick knows, and the following sum does not fit its
    // output.
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
    // If an input and another layer share a name, the other layer is reported, because the input keeps its
    // name.
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
    let example = check_codes()
        .into_iter()
        .find(|code| code.code == snick::Code::NeedsOpenVino)
        .unwrap()
        .example
        .text();
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

/// A transposed, reshaped and returned constant with declared ports.
fn detector() -> String {
    let port = |id: usize, dims: &[usize]| {
        let dims: String = dims.iter().map(|dim| format!("<dim>{dim}</dim>")).collect();
        format!("<port id=\"{id}\" precision=\"FP32\">{dims}</port>")
    };
    let constant = |id: usize,
                    name: &str,
                    of: &str,
                    shape: &str,
                    offset: usize,
                    size: usize,
                    out: &[usize]| {
        format!(
            "<layer id=\"{id}\" name=\"{name}\" type=\"Const\" version=\"opset1\"><data element_type=\"{of}\" \
             shape=\"{shape}\" offset=\"{offset}\" size=\"{size}\"/><output>{}</output></layer>\n",
            port(0, out)
        )
    };
    let layer = |id: usize, name: &str, op: &str, data: &str, inputs: [&[usize]; 2], out: &[usize]| {
        let [a, b] = inputs;
        format!(
            "<layer id=\"{id}\" name=\"{name}\" type=\"{op}\" version=\"opset1\">{data}<input>{}{}</input><output>{}\
             </output></layer>\n",
            port(0, a),
            port(1, b),
            port(2, out)
        )
    };
    let mut text = format!(
        "<net name=\"n\" version=\"11\"><layers>\n<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\">\
         <data shape=\"2,8,8\" element_type=\"f32\"/><output>{}</output></layer>\n",
        port(0, &[2, 8, 8])
    );
    text += &constant(1, "w", "f32", "8,8", 0, 256, &[8, 8]);
    let numpy = "<data auto_broadcast=\"numpy\"/>";
    text += &layer(2, "sum", "Add", numpy, [&[2, 8, 8], &[8, 8]], &[2, 8, 8]);
    text += &constant(3, "order", "i64", "3", 256, 24, &[3]);
    text += &layer(4, "turn", "Transpose", "", [&[2, 8, 8], &[3]], &[8, 8, 2]);
    text += &constant(5, "to", "i64", "2", 280, 16, &[2]);
    let zero = "<data special_zero=\"true\"/>";
    text += &layer(6, "flat", "Reshape", zero, [&[8, 8, 2], &[2]], &[8, 16]);
    text += &format!(
        "<layer id=\"7\" name=\"y\" type=\"Result\" version=\"opset1\"><input>{}</input></layer>\n</layers><edges>\n",
        port(0, &[8, 16])
    );
    for (from, from_port, to, to_port) in
        [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 4, 0), (3, 0, 4, 1), (4, 2, 6, 0), (5, 0, 6, 1), (6, 2, 7, 0)]
    {
        text += &format!(
            "<edge from-layer=\"{from}\" from-port=\"{from_port}\" to-layer=\"{to}\" to-port=\"{to_port}\"/>\n"
        );
    }
    text + "</edges></net>\n"
}

#[test]
fn weights_of_another_model_are_one_finding() {
    let scratch = Scratch::new("wrong-weights");
    let weights = |floats: &dyn Fn(usize) -> f32, order: [i64; 3], to: [i64; 2]| {
        let floats = (0..64).flat_map(|i| floats(i).to_le_bytes());
        floats.chain(order.into_iter().chain(to).flat_map(i64::to_le_bytes)).collect::<Vec<u8>>()
    };
    let check = |bytes: &[u8]| scratch.check(&detector(), Some(bytes), &CheckOptions::new()).1;
    let usual = |i: usize| (i as f32).sin() * 0.1;
    let right = weights(&usual, [1, 2, 0], [8, 16]);
    assert_eq!(serious(&check(&right)), []);
    assert_eq!(serious(&check(&weights(&|_| 0.0, [1, 2, 0], [8, 16]))), []);
    // A pseudo-random generator; the quality of its numbers does not matter.
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    let random: Vec<u8> = (0..296).map(|_| next()).collect();
    let text: Vec<u8> = detector().into_bytes()[..296].to_vec();
    let noise: Vec<u8> = random[..256].iter().chain(&right[256..]).copied().collect();
    for (what, bytes) in [
        ("random", random),
        ("a text", text),
        ("zeros", vec![0; 296]),
        ("random floats", noise),
        ("another model", weights(&usual, [0, 0, 3], [4, 4])),
        ("large numbers", weights(&usual, [1, 2, 0], [8, 1 << 40])),
    ] {
        let findings = check(&bytes);
        assert_eq!(serious(&findings).iter().map(|(code, _)| *code).collect::<Vec<_>>(), ["S044"], "{what}");
        assert!(!findings[0].help.contains("snick convert"), "{what}");
    }
    // A single wrong shape is taken for an edit of the model, not for the weights of another model.
    assert_eq!(serious(&check(&weights(&usual, [1, 2, 0], [8, 15])))[0].0, "S020");
    let cut = check(&right[..288]);
    assert_eq!(serious(&cut)[0].0, "S003");
}

#[test]
fn names_that_the_runtime_refuses_are_found() {
    let scratch = Scratch::new("refused-names");
    let whole = sums(&[0], 8);
    for (info, refused) in [
        ("<labels><a7 value=\"5\"/></labels>", false),
        ("<labels><7a value=\"5\"/></labels>", true),
        ("<labels><-a value=\"5\"/></labels>", true),
        ("<labels 7=\"5\"/>", true),
    ] {
        let xml = whole.replacen("</edges>", &format!("</edges><rt_info>{info}</rt_info>"), 1);
        let (_, findings) = scratch.check(&xml, Some(&[0; 8]), &CheckOptions::new());
        assert_eq!(findings.iter().any(|finding| finding.code == "S041"), refused, "{info}");
    }
}

#[test]
fn equal_names_need_a_release_that_reads_them() {
    let scratch = Scratch::new("equal-names");
    let port = |id| format!("<port id=\"{id}\" precision=\"FP32\"><dim>2</dim></port>");
    let relu = |id: usize, name: &str| {
        format!(
            "<layer id=\"{id}\" name=\"{name}\" type=\"ReLU\" version=\"opset1\"><input>{}</input>\
             <output>{}</output></layer>",
            port(0),
            port(1)
        )
    };
    let model = |second: &str, result: &str| {
        let edges: String = [(0, 0, 1), (1, 1, 2), (2, 1, 3)]
            .map(|(from, port, to)| {
                format!("<edge from-layer=\"{from}\" from-port=\"{port}\" to-layer=\"{to}\" to-port=\"0\"/>")
            })
            .concat();
        format!(
            "<net name=\"m\" version=\"11\"><layers><layer id=\"0\" name=\"x\" type=\"Parameter\" \
             version=\"opset1\"><data shape=\"2\" element_type=\"f32\"/><output>{}</output></layer>{}{}\
             <layer id=\"3\" name=\"{result}\" type=\"Result\" version=\"opset1\"><input>{}</input></layer>\
             </layers><edges>{edges}</edges></net>",
            port(0),
            relu(1, "a"),
            relu(2, second),
            port(0)
        )
    };
    let options = CheckOptions::new().select(["S040"]).unwrap().target(Release::new(2023, 3));
    for (second, result, release, severity) in [
        ("b", "a", Release::new(2022, 1), Severity::Note),
        ("a", "y", Release::new(2024, 1), Severity::Error),
    ] {
        let (_, findings) = scratch.check(&model(second, result), None, &options);
        assert_eq!(
            (findings[0].release, findings[0].severity),
            (Some(release), severity),
            "{second} {result}"
        );
    }
}
