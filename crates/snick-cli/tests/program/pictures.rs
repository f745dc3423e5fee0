//! Pictures as files.

use crate::{model, scratch, snick, text};

#[test]
fn pictures_show_what_is_asked_for() {
    let folder = scratch("pictures");
    let out = folder.join("near.svg").display().to_string();
    let convert = |args: &[&str]| snick(&[&["convert", &model("focus_cnn"), "-o"], args].concat());
    assert_eq!(convert(&[&out, "--depth", "1"]).status.code(), Some(0));
    let folded = std::fs::read_to_string(&out).unwrap();
    assert_eq!(convert(&[&out, "--around", "resize", "--steps", "0"]).status.code(), Some(0));
    let one = std::fs::read_to_string(&out).unwrap();
    assert_eq!([&folded, &one].map(|picture| picture.matches("<rect").count()), [21, 1]);
    let failed = convert(&[&out, "--around", "absent"]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(text(&failed.stderr).contains("no layer is called \"absent\""));
    let failed = convert(&[&folder.join("x.dot").display().to_string(), "--depth", "1"]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(text(&failed.stderr).contains(".svg"));
    std::fs::remove_dir_all(folder).unwrap();
}
