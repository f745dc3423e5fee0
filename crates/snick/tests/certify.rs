//! Certificates: what they say of rewrites and of two models, and which ones are valid.
#![cfg(feature = "analyze")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::ops::ControlFlow;

use snick::{CertifyOptions, Error, Limits, Model, OutputStatus, RewriteStatus, SmtObligation};

/// A model that slices its input twice. The second slice has the given name.
fn sliced(stop: i64, name: &str) -> Model {
    let text = format!(
        "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"N,4\"}}\n  \
         %start = Const-1 i64[1] <1>\n  %stop = Const-1 i64[1] <{stop}>\n  %step = Const-1 i64[1] <1>\n  \
         %a = Slice-8(%x, %start, %stop, %step)\n  %\"{name}\" = Slice-8(%a, %start, %stop, %step)\n  \
         %y = Result-1(%\"{name}\")\n  %z = Result-1(%x)\n}}\n"
    );
    let mut model = snick::parse(&text).unwrap();
    model.infer().into_result().unwrap();
    model
}

#[test]
fn each_rewrite_of_the_canonical_form_is_listed_in_order() {
    let model = sliced(-1, "b");
    let mut canonical = model.clone();
    let report = canonical.canonicalise();
    let certificate = model.certify(&CertifyOptions::new()).unwrap();
    let listed: Vec<_> =
        certificate.rewrites().iter().map(|one| (&*one.rule, &*one.layer, &*one.op)).collect();
    let applied: Vec<_> = report.applied.iter().map(|one| (&*one.rule, &*one.layer, &*one.op)).collect();
    assert_eq!(listed, applied);
    assert_eq!(certificate.rewrites()[0].loc.line, 7);
    let counts = [RewriteStatus::Proved, RewriteStatus::Sampled, RewriteStatus::Refuted]
        .map(|status| certificate.rewrites().iter().filter(|one| one.status == status).count());
    let summary = certificate.summary();
    assert_eq!((summary.applied, [summary.proved, summary.sampled, summary.refuted]), (listed.len(), counts));
    assert_eq!(certificate.is_proved(), counts[0] == listed.len());
    let unproved =
        |one: &&snick::CertifiedRewrite| (one.status == RewriteStatus::Proved) == one.reason.is_some();
    assert_eq!(certificate.rewrites().iter().find(unproved), None);
    // The model itself does not change.
    assert_eq!(model, sliced(-1, "b"));
    assert!(certificate.outputs().is_empty() && certificate.errors().is_empty());
}

#[test]
fn outputs_have_a_status_each_and_only_equal_ones_are_proved() {
    let certificate = sliced(-1, "b").certify(&CertifyOptions::new().after(&sliced(-2, "b"))).unwrap();
    let [y, z] = certificate.outputs() else { panic!("two outputs") };
    assert_eq!((y.name.as_str(), z.name.as_str()), ("y", "z"));
    assert_ne!(y.status, OutputStatus::Proved);
    assert_ne!(z.status, OutputStatus::Refuted);
    for output in [y, z] {
        assert_eq!(output.reason.is_some(), output.status != OutputStatus::Proved);
        assert_eq!(output.counterexample.is_some(), output.status == OutputStatus::Refuted);
    }
    assert!(!certificate.is_proved() && certificate.rewrites().is_empty());
    let summary = certificate.summary();
    assert_eq!((summary.applied, summary.proved + summary.refuted + summary.undecided), (0, 2));
}

#[test]
fn a_certificate_is_valid_for_its_own_models_only() {
    let [model, other] = [-1, -2].map(|stop| sliced(stop, "b"));
    let of_model = model.certify(&CertifyOptions::new()).unwrap().to_json();
    let of_both = model.certify(&CertifyOptions::new().after(&other)).unwrap().to_json();
    model.check_certificate_json(&of_model, None).unwrap();
    model.check_certificate_json(&of_both, Some(&other)).unwrap();
    for (json, model, after) in [
        (&of_model, &other, None),
        (&of_model, &model, Some(&other)),
        (&of_both, &model, None),
        (&of_both, &model, Some(&model)),
        (&of_both, &other, Some(&model)),
        (&String::new(), &model, None),
        (&"{}".to_string(), &model, None),
        (&"[[[[".repeat(100_000), &model, None),
    ] {
        let checked = model.check_certificate_json(json, after);
        assert!(matches!(checked, Err(Error::Certificate(_))), "{:?}", &json[..json.len().min(100)]);
        assert_eq!(checked.unwrap_err().code(), "S047");
    }
}

#[test]
fn limits_and_the_caller_stop_the_work() {
    let model = sliced(-1, "b");
    let stop = CertifyOptions::new().progress(|_| ControlFlow::Break(()));
    assert!(matches!(model.certify(&stop), Err(Error::Cancelled { .. })));
    let soon = CertifyOptions::new().limits(Limits::new().time(std::time::Duration::ZERO));
    assert!(matches!(model.certify(&soon), Err(Error::Limit { .. })));
    // The models are equal, so only the proof can be stopped.
    let after = CertifyOptions::new().after(&sliced(-1, "b")).progress(|_| ControlFlow::Break(()));
    assert!(matches!(sliced(-1, "b").certify(&after), Err(Error::Cancelled { .. })));
}

#[cfg(feature = "emit")]
#[test]
fn obligations_are_written_to_files_with_safe_names() {
    let folder = std::env::temp_dir().join(format!("snick-smt-{}", std::process::id()));
    let model = sliced(-1, "../b*\\u{1b}");
    let certificate = model.certify(&CertifyOptions::new().smt(true)).unwrap();
    certificate.save_smt(&folder).unwrap();
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), certificate.obligations().len());
    for (number, (file, SmtObligation { text, .. })) in
        files.iter().zip(certificate.obligations()).enumerate()
    {
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(&format!("{:03}-", number + 1)) && name.ends_with(".smt2"), "{name}");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)), "{name}");
        assert_eq!(std::fs::read_to_string(file).unwrap(), *text);
    }
    std::fs::remove_dir_all(folder).unwrap();
}
