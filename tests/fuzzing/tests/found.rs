//! Checks every past finding in `tests/cases/found/` with its target.

use std::fs;
use std::path::Path;

use snick_fuzzing::memory::Counting;
use snick_fuzzing::{Target, check};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn nothing_is_found_again() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases/found");
    let mut failures = Vec::new();
    let mut count = 0;
    for target in Target::ALL {
        let Ok(entries) = fs::read_dir(root.join(target.name())) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            count += 1;
            if let Err(finding) = check(target, &fs::read(&path).unwrap()) {
                failures.push(format!("{}: {finding}", path.display()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count > 0);
}
