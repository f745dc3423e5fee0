//! The operator sets and functions of a model.

use std::collections::HashMap;

use snick_onnx::{Function, Model, OperatorSet};

/// The operator sets of ONNX that the reader supports.
const OPSETS: std::ops::RangeInclusive<i64> = 1..=28;

/// Operator set versions by domain. The domain of ONNX itself is empty.
pub(super) type Opsets = HashMap<String, i64>;

/// Functions by domain, name and overload.
pub(super) type Functions<'m> = HashMap<(&'m str, &'m str, &'m str), &'m Function>;

/// The operator sets that a model or a function imports.
pub(super) fn opsets(imports: &[OperatorSet]) -> Result<Opsets, String> {
    let mut opsets = Opsets::new();
    for import in imports {
        let (domain, version) = (normal_domain(&import.domain), import.version.unwrap_or_default());
        if domain.is_empty() && !OPSETS.contains(&version) {
            let (first, last) = (OPSETS.start(), OPSETS.end());
            return Err(format!("operator set {version} is not supported; snick reads {first} to {last}"));
        }
        opsets.insert(domain.to_string(), version);
    }
    Ok(opsets)
}

/// The canonical name of a domain: the domain of ONNX itself has two names.
pub(super) fn normal_domain(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

/// The functions of a model.
pub(super) fn functions(model: &Model) -> Functions<'_> {
    fn key(f: &Function) -> (&str, &str, &str) {
        (normal_domain(&f.domain), &f.name, &f.overload)
    }
    model.functions.iter().map(|f| (key(f), f)).collect()
}
