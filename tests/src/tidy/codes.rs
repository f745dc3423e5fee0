//! The documentation of `snick::Error::code` lists the codes of all errors.

use std::collections::BTreeSet;
use std::fs;

use crate::files::root;

#[test]
fn every_code_of_an_error_is_documented() {
    let read = |path| fs::read_to_string(root().join(path)).unwrap();
    let (facade, ops) = (read("crates/snick/src/error.rs"), read("crates/snick-ir/src/error.rs"));
    let row = |line: &str| line.trim().strip_prefix("/// | S").map(|row| format!("S{}", &row[..3]));
    let documented: BTreeSet<String> = facade.lines().filter_map(row).collect();
    let lines = facade.lines().chain(ops.lines()).filter(|line| !line.trim().starts_with("//"));
    let quoted = |line: &str| line.split('"').skip(1).step_by(2).map(str::to_string).collect::<Vec<_>>();
    let is_code = |text: &String| {
        text.len() == 4 && text.starts_with('S') && text[1..].bytes().all(|byte| byte.is_ascii_digit())
    };
    let used: BTreeSet<String> = lines.flat_map(quoted).filter(is_code).collect();
    assert_eq!(used, documented);
}
