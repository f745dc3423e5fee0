//! The changelog: a section `## [VERSION] - DATE` for every release.

/// The text instead of a date before a release is published.
const NOT_PUBLISHED: &str = "not published yet";

/// The changelog with the date of a release, which must have a section with entries.
pub fn dated(changelog: &str, version: &str, date: &str) -> Result<String, String> {
    let heading = format!("## [{version}] - ");
    let Some(start) = changelog.find(&heading) else {
        return Err(format!("no section `{heading}{NOT_PUBLISHED}`"));
    };
    let section = changelog.get(start + 1..).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    if !section.lines().any(|line| line.starts_with("- ")) {
        return Err(format!("the section of {version} has no entries"));
    }
    if !section.lines().next().is_some_and(|line| line.ends_with(NOT_PUBLISHED)) {
        return Err(format!("{version} already has a date"));
    }
    Ok(changelog.replacen(&format!("{heading}{NOT_PUBLISHED}"), &format!("{heading}{date}"), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_gets_a_date() {
        let changelog =
            "# Changelog\n\n## [0.2.0] - not published yet\n\n- New.\n\n## [0.1.0] - 2026-01-01\n\n- Old.\n";
        let dated_one = dated(changelog, "0.2.0", "2026-12-01").unwrap();
        assert_eq!(dated_one, changelog.replace("not published yet", "2026-12-01"));
        assert!(dated(changelog, "0.1.0", "2026-12-01").is_err());
        assert!(dated(changelog, "0.3.0", "2026-12-01").is_err());
    }

    #[test]
    fn a_release_needs_entries() {
        let changelog = "## [0.2.0] - not published yet\n\n## [0.1.0] - 2026-01-01\n\n- Old.\n";
        assert!(dated(changelog, "0.2.0", "2026-12-01").is_err());
    }
}
