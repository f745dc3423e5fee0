//! Findings: each code finds its own example. Correct models are not reported, nor are consequences of
//! errors.
#![cfg(feature = "analyze")]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod of_files;
mod of_graphs;

use std::path::{Path, PathBuf};

use snick::{CheckOptions, CheckStatus, Example, Finding, InferOptions, LoadOptions, Severity, check_codes};

/// A folder that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("snick-check-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Writes a model with weights, and checks it.
    fn check(
        &self,
        xml: &str,
        weights: Option<&[u8]>,
        options: &CheckOptions,
    ) -> (CheckStatus, Vec<Finding>) {
        let path = self.0.join("model.xml");
        std::fs::write(&path, xml).unwrap();
        let bin = path.with_extension("bin");
        match weights {
            Some(bytes) => std::fs::write(bin, bytes).unwrap(),
            None => drop(std::fs::remove_file(bin)),
        }
        check_path(&path, options)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn check_path(path: &Path, options: &CheckOptions) -> (CheckStatus, Vec<Finding>) {
    snick::check_file(path, &LoadOptions::new(), &InferOptions::new(), options).unwrap()
}

fn check_text(layers: &str) -> Vec<Finding> {
    let text = format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n");
    snick::parse(&text).unwrap().check(&CheckOptions::new())
}

/// Code and layer of each finding above a note.
fn serious(findings: &[Finding]) -> Vec<(&str, &str)> {
    let serious = findings.iter().filter(|finding| finding.severity > Severity::Note);
    serious.map(|finding| (finding.code, finding.layer.as_str())).collect()
}

fn codes(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.code).collect()
}

/// A model with a constant of `size` bytes at each offset; the constants are added to the input one after the
/// other.
fn sums(offsets: &[usize], size: usize) -> String {
    let port = |id: usize| format!("<port id=\"{id}\" precision=\"FP32\"><dim>{}</dim></port>", size / 4);
    let mut layers = format!(
        "<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\"><data shape=\"{}\" element_type=\"f32\"/>\
         <output>{}</output></layer>\n",
        size / 4,
        port(0)
    );
    let (mut edges, mut sum, mut sum_port) = (String::new(), 0, 0);
    for (at, offset) in offsets.iter().enumerate() {
        let (constant, add) = (2 * at + 1, 2 * at + 2);
        layers += &format!(
            "<layer id=\"{constant}\" name=\"c{at}\" type=\"Const\" version=\"opset1\"><data element_type=\"f32\" \
             shape=\"{}\" offset=\"{offset}\" size=\"{size}\"/><output>{}</output></layer>\n\
             <layer id=\"{add}\" name=\"a{at}\" type=\"Add\" version=\"opset1\"><input>{}{}</input><output>{}</output>\
             </layer>\n",
            size / 4,
            port(0),
            port(0),
            port(1),
            port(2)
        );
        edges += &format!(
            "<edge from-layer=\"{sum}\" from-port=\"{sum_port}\" to-layer=\"{add}\" to-port=\"0\"/>\n\
             <edge from-layer=\"{constant}\" from-port=\"0\" to-layer=\"{add}\" to-port=\"1\"/>\n"
        );
        (sum, sum_port) = (add, 2);
    }
    let result = 2 * offsets.len() + 1;
    layers += &format!(
        "<layer id=\"{result}\" name=\"y\" type=\"Result\" version=\"opset1\"><input>{}</input></layer>\n",
        port(0)
    );
    edges += &format!(
        "<edge from-layer=\"{sum}\" from-port=\"{sum_port}\" to-layer=\"{result}\" to-port=\"0\"/>\n"
    );
    format!("<net name=\"n\" version=\"11\"><layers>\n{layers}</layers><edges>\n{edges}</edges></net>\n")
}

#[test]
fn each_code_is_found_in_its_example_and_nothing_worse() {
    let scratch = Scratch::new("examples");
    let mut tried = 0;
    for code in check_codes() {
        let options = match code.on_demand {
            true => CheckOptions::new().select([code.code.text()]).unwrap(),
            false => CheckOptions::new(),
        };
        let findings = match code.example {
            Example::Text(_) => snick::parse(&code.example.text()).unwrap().check(&options),
            Example::Xml(_) => scratch.check(&code.example.text(), None, &options).1,
            Example::Files(_) => continue,
            _ => panic!("an example of a new kind"),
        };
        tried += 1;
        let found = findings.iter().find(|finding| finding.code == code.code);
        let found = found.unwrap_or_else(|| panic!("{} is not found: {findings:?}", code.code));
        assert_eq!((found.name, found.severity), (code.code.name(), code.code.severity()));
        let others = serious(&findings).into_iter().filter(|(other, _)| *other != code.code);
        assert_eq!(others.collect::<Vec<_>>(), [], "{}", code.code);
    }
    assert!(tried > 15);
}

#[test]
fn each_code_has_one_check_in_plain_words() {
    let codes = check_codes();
    assert!(codes.is_sorted_by(|a, b| a.code < b.code));
    for code in codes {
        assert!(code.meaning.ends_with('.') && code.reason.ends_with('.'), "{}", code.code);
        assert!(!code.remedy.ends_with('.'), "{}: the remedy stands behind `help:`", code.code);
    }
}

#[test]
fn models_of_this_project_have_no_errors() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut checked = 0;
    for entry in std::fs::read_dir(models).unwrap() {
        let path = entry.unwrap().path().join("model.xml");
        if path.exists() {
            let (status, findings) = check_path(&path, &CheckOptions::new());
            assert!(status < CheckStatus::Error, "{}: {findings:?}", path.display());
            checked += 1;
        }
    }
    assert!(checked > 25);
}

#[test]
fn what_reads_all_weights_is_looked_for_on_demand() {
    let layers = "%x = Parameter-1 {element_type: f32, shape: \"3\"}\n%m = Const-1 f32[3] <nan, -inf, 3.4e38>\n\
                  %h = Const-1 f16[3] <nan, inf, 65504.0>\n%c = Convert-1(%h) {destination_type: f32}\n\
                  %a = Add-1(%x, %m)\n%b = Add-1(%a, %c)\n%y = Result-1(%b)";
    let model = snick::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n")).unwrap();
    assert_eq!(codes(&model.check(&CheckOptions::new())), Vec::<&str>::new());
    let findings = model.check(&CheckOptions::new().select(["S"]).unwrap());
    assert_eq!(serious(&findings), [("S060", "m"), ("S061", "m"), ("S060", "h")]);
    assert_eq!(findings[1].message, "1 element is beyond 65504, up to 3.4e38");

    let scratch = Scratch::new("repeated");
    let options = CheckOptions::new().select(["S062"]).unwrap();
    let check = |offsets: &[usize], weights: &[u8]| {
        codes(&scratch.check(&sums(offsets, 4096), Some(weights), &options).1).len()
    };
    let mut weights = vec![7; 8192];
    assert_eq!(check(&[0, 4096], &weights), 1);
    // Two constants that refer to the same bytes of the file are intended.
    assert_eq!(check(&[0, 0], &weights), 0);
    weights[5000] = 8;
    assert_eq!(check(&[0, 4096], &weights), 0);
}

#[test]
fn codes_are_selected_and_ignored() {
    let layers = "%x = Parameter-1 {element_type: f32, shape: \"2\"}\n%lost = Exp-1(%x)\n\
                  %mask = Parameter-1 {element_type: i64, shape: \"2\"}\n%y = Result-1(%x)";
    let model = snick::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n")).unwrap();
    let found = |options: CheckOptions| model.check(&options).iter().map(|f| f.code).collect::<Vec<_>>();
    let new = CheckOptions::new;
    assert_eq!(found(new()), ["S015", "S016"]);
    assert_eq!(found(new().select(["S016"]).unwrap()), ["S016"]);
    assert_eq!(found(new().select(["S01"]).unwrap()), ["S015", "S016"]);
    assert_eq!(found(new().select(["unused-layer"]).unwrap()), ["S015"]);
    assert_eq!(found(new().ignore(["S01"]).unwrap()), Vec::<&str>::new());
    assert!(new().ignore(["S1"]).is_err() && new().select([""]).is_err());
}
