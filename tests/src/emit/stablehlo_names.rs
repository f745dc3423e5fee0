//! StableHLO modules define each value once, before its use, and use it only within its region.

use std::collections::HashSet;

use crate::files;

/// Each `%name` of a line, without the index of a result, and the text after it.
fn names(line: &str) -> Vec<(&str, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '-');
    let mut found = Vec::new();
    for (at, _) in line.match_indices('%') {
        let end = line[at + 1..].find(|c| !is_part(c)).map_or(line.len(), |end| at + 1 + end);
        found.push((&line[at..end], &line[end..]));
    }
    found
}

/// Whether this is a definition: `%x = ..`, `%x:2 = ..`, or an argument of a function or block.
fn begins(line: &str, rest: &str) -> bool {
    let is_head = line.contains("func.func") || line.trim_start().starts_with('^');
    rest.starts_with(" = ")
        || rest.strip_prefix(':').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        || (is_head && rest.starts_with(": tensor"))
}

/// The first incorrect definition or use.
fn wrong_name(text: &str) -> Option<String> {
    let mut scopes: Vec<HashSet<&str>> = vec![HashSet::new()];
    for line in text.lines() {
        // `} do {` and `}, {` close one region and open another.
        let (closed, opened) = (line.trim_start().starts_with('}'), line.ends_with('{'));
        if closed && scopes.len() > 1 {
            scopes.pop();
        }
        let (new, used): (Vec<_>, Vec<_>) = names(line).into_iter().partition(|(_, rest)| begins(line, rest));
        let known = |name: &str| scopes.iter().any(|scope| scope.contains(name));
        if let Some((name, _)) =
            used.iter().find(|(name, _)| !known(name) && !new.iter().any(|(n, _)| n == name))
        {
            return Some(format!("{name} is not there: {line}"));
        }
        if let Some((name, _)) = new.iter().find(|(name, _)| known(name)) {
            return Some(format!("{name} is there twice: {line}"));
        }
        if opened {
            scopes.push(HashSet::new());
        }
        let scope = scopes.last_mut()?;
        scope.extend(new.into_iter().map(|(name, _)| name));
        // The results of an operation with a region are visible after it.
        if opened && line.contains(" = ") {
            let results: Vec<&str> = names(line).into_iter().take(1).map(|(name, _)| name).collect();
            let around = scopes.len() - 2;
            scopes[around].extend(results.iter());
            scopes.last_mut()?.retain(|name| !results.contains(name));
        }
    }
    (scopes.len() != 1).then(|| "a region is open at the end".to_string())
}

#[test]
fn values_are_defined_once_and_before_use() {
    let paths = files::ops_and_models();
    let mut written = 0;
    for path in &paths {
        let mut read = snick_read::read_file(path, None).unwrap();
        snick_ir::infer(&mut read.graph);
        match snick_emit::stablehlo(&read.graph, snick_emit::Precision::Highest) {
            Ok(module) => {
                let text = module.to_string();
                assert_eq!(wrong_name(&text), None, "{}:\n{text}", path.display());
                written += 1;
            }
            Err(error) => assert!(!error.layer.is_empty() && !error.error.to_string().is_empty()),
        }
    }
    assert!(written * 3 > paths.len(), "{written} of {} are written", paths.len());
}

#[test]
fn the_check_finds_wrong_names() {
    let function = |body: &str| {
        format!("module {{\n  func.func public @main(%x: tensor<f32>) -> () {{\n{body}  }}\n}}\n")
    };
    let wrong = |body: &str| wrong_name(&function(body));
    assert_eq!(wrong("    %y = stablehlo.abs %x : tensor<f32>\n"), None);
    assert!(wrong("    %y = stablehlo.abs %z : tensor<f32>\n").unwrap().starts_with("%z is not there"));
    assert!(wrong("    %x = stablehlo.abs %x : tensor<f32>\n").unwrap().starts_with("%x is there twice"));
    let inside =
        "    %w:1 = \"stablehlo.if\" (%x) ({\n      %y = stablehlo.abs %x : tensor<f32>\n    }) : () -> ()\n";
    assert_eq!(wrong(&format!("{inside}    %z = stablehlo.abs %w#0 : tensor<f32>\n")), None);
    let behind = format!("{inside}    %z = stablehlo.abs %y : tensor<f32>\n");
    assert!(wrong(&behind).unwrap().starts_with("%y is not there"));
}
