//! The version of all crates: in `[workspace.package]` and in the dependencies of the workspace on its own crates.

use toml_edit::{DocumentMut, value};

/// The version in the manifest of the workspace, and the address of the repository.
pub fn current(manifest: &str) -> Result<(String, String), String> {
    let manifest: DocumentMut = manifest.parse().map_err(|error| format!("{error}"))?;
    let package = |key: &str| {
        let text = manifest.get("workspace")?.get("package")?.get(key)?.as_str()?;
        Some(text.to_string())
    };
    let missing = |key: &str| format!("workspace.package.{key} is missing");
    Ok((
        package("version").ok_or_else(|| missing("version"))?,
        package("repository").ok_or_else(|| missing("repository"))?,
    ))
}

/// The manifest of the workspace with another version of its crates.
pub fn set(manifest: &str, version: &str) -> Result<String, String> {
    let mut manifest: DocumentMut = manifest.parse().map_err(|error| format!("{error}"))?;
    let workspace = manifest.get_mut("workspace").ok_or("no workspace")?;
    if let Some(own) = workspace.get_mut("package").and_then(|package| package.get_mut("version")) {
        set_text(own, version);
    }
    let dependencies = workspace.get_mut("dependencies").and_then(|table| table.as_table_like_mut());
    for (_, dependency) in dependencies.into_iter().flat_map(|table| table.iter_mut()) {
        if dependency.get("path").is_some()
            && let Some(required) = dependency.get_mut("version")
        {
            set_text(required, version);
        }
    }
    Ok(manifest.to_string())
}

/// Replaces a value, and keeps the white space around it.
fn set_text(item: &mut toml_edit::Item, text: &str) {
    let decor = item.as_value().map(|old| old.decor().clone());
    *item = value(text);
    if let (Some(new), Some(decor)) = (item.as_value_mut(), decor) {
        *new.decor_mut() = decor;
    }
}

/// Whether a text is a version such as `0.2.0` or `1.0.0-rc.1`.
pub fn is_version(text: &str) -> bool {
    let (numbers, label) =
        text.split_once('-').map_or((text, None), |(numbers, label)| (numbers, Some(label)));
    let is_number = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let is_label = |label: &str| {
        label
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'))
    };
    numbers.split('.').count() == 3 && numbers.split('.').all(is_number) && label.is_none_or(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[workspace.package]\nversion = \"0.1.0\" # all crates\nrepository = \"https://a/b\"\n\n\
        [workspace.dependencies]\nsnick = { path = \"crates/snick\", version = \"0.1.0\" }\nclap = { version = \"0.1.0\" }\n";

    #[test]
    fn only_the_crates_of_the_workspace_get_the_version() {
        let set = set(MANIFEST, "0.2.0").unwrap();
        assert_eq!(
            set,
            MANIFEST
                .replacen("0.1.0", "0.2.0", 1)
                .replace("snick\", version = \"0.1.0\"", "snick\", version = \"0.2.0\"")
        );
        assert_eq!(current(&set), Ok(("0.2.0".to_string(), "https://a/b".to_string())));
    }

    #[test]
    fn versions_have_three_numbers() {
        assert!(["0.2.0", "10.0.3", "1.0.0-rc.1"].into_iter().all(is_version));
        assert!(!["0.2", "v0.2.0", "01.0.0", "1.0.0-", "1.0.0-a..b", "1.0.x"].into_iter().any(is_version));
    }
}
