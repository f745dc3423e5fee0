//! Report files. `tests/browser` tests the page in a browser.

use crate::{model, root, scratch, snick, text};

#[test]
fn a_report_is_one_file_that_loads_nothing() {
    let folder = scratch("report");
    let out = folder.join("r.html").display().to_string();
    let run = snick(&["report", &model("focus_cnn"), "-o", &out]);
    assert_eq!((run.status.code(), text(&run.stdout)), (Some(0), String::new()));
    let page = std::fs::read_to_string(&out).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains(r#"{"schema":"snick.view/1","#));
    assert!(page.contains("default-src 'none'"));
    let page_without_icon = page.replace("href=\"data:", "");
    for loading in ["src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest"] {
        assert!(!page_without_icon.contains(loading), "{loading}");
    }
    assert!(page.contains(r#""name":"s0","kind":"input","min":16,"max":64"#));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_report_with_an_error_is_written_and_marks_the_layer() {
    let folder = scratch("report-error");
    let path = folder.join("m.snick");
    let graph = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2,3\"}\n  \
                 %p = MatMul-1(%x, %x) {transpose_a: false, transpose_b: false}\n  %y = Result-1(%p)\n}\n";
    std::fs::write(&path, graph).unwrap();
    let out = folder.join("r.html").display().to_string();
    let run = snick(&["report", &path.display().to_string(), "-o", &out]);
    assert_eq!(run.status.code(), Some(1));
    let page = std::fs::read_to_string(&out).unwrap();
    assert!(page.contains(r#""name":"p","op":"MatMul","version":"opset1","loc":"4:3","kind":"failed""#));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_report_shows_what_changed_and_overwrites_no_model() {
    let folder = scratch("report-diff");
    let out = folder.join("r.html").display().to_string();
    let [a, b] = ["slice8_01_basic", "slice8_03_step_2"].map(model);
    assert_eq!(snick(&["report", &a, "--diff", &b, "-o", &out]).status.code(), Some(0));
    let page = std::fs::read_to_string(&out).unwrap();
    let names = r#""names":["slice8_01_basic/model.xml","slice8_03_step_2/model.xml"]"#;
    assert!(page.contains(&format!(r#""diff":{{{names},"equal":false,"#)) && page.contains(r#""other":{"#));
    let copy = folder.join("m.xml");
    std::fs::copy(root().join("models/slice8_01_basic/model.xml"), &copy).unwrap();
    let copy = copy.display().to_string();
    let refused = snick(&["report", &a, "--diff", &copy, "-o", &copy]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("would overwrite the input"));
    std::fs::remove_dir_all(folder).unwrap();
}
