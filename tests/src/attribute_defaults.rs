//! Checks that declared defaults of attributes match the runtime's, listed in `attribute_defaults.tsv`.

use snick_ir::{Dialect, ops};

use crate::files::root;

/// Whether two defaults are equal except for notation: `[1,2]` and `1,2`, `1e-5` and `0.00001`.
fn agree(ours: &str, runtime: &str) -> bool {
    let items = |text: &str| -> Vec<String> {
        let items = text.trim_matches(['[', ']']).split(',');
        items.map(|item| item.trim().trim_matches('"').to_string()).collect()
    };
    let same = |(a, b): (&String, &String)| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 1e-6 * b.abs(),
        _ => a == b,
    };
    let (ours, runtime) = (items(ours), items(runtime));
    ours.len() == runtime.len() && ours.iter().zip(&runtime).all(same)
}

#[test]
fn declared_defaults_are_those_of_the_runtime() {
    let table = std::fs::read_to_string(root().join("tests/attribute_defaults.tsv")).unwrap();
    let mut differences = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let [op, set, attr, value] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let set: u8 = set.parse().unwrap();
        let specs = ops::find(Dialect::OpenVino, op).unwrap().attrs();
        let is_defined = |since: u8, until: Option<u8>| set >= since && until.is_none_or(|until| set < until);
        let Some(spec) = specs.iter().find(|spec| spec.name == attr && is_defined(spec.since, spec.until))
        else {
            continue; // declared under another name, or unused
        };
        match &spec.default {
            _ if spec.required => differences.push(format!("{line}: required")),
            Some(default) if !agree(default, value) => differences.push(format!("{line}: {default}")),
            _ => {}
        }
    }
    assert_eq!(differences, [""; 0]);
}
