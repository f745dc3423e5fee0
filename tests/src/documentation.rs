//! README.md and the book in `docs/`: tables are current, code is that of the files, links lead somewhere.
//!
//! Commands are run by `crates/snick-cli/tests/documented_commands.rs`, Rust blocks by the doctests of `examples/`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::files::{self, root};

/// Pages are rewritten by one test at a time.
static WRITING: Mutex<()> = Mutex::new(());

fn is_update() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always")
}

/// The page that has `<!-- MARK -->`, and its text before, between and after the marks.
fn marked(mark: &str) -> (PathBuf, [String; 3]) {
    let [begin, end] = [format!("<!-- {mark} -->\n"), format!("<!-- /{mark} -->")];
    let page = pages().into_iter().find_map(|page| {
        let (before, rest) = page.text.split_once(&begin)?;
        let (between, after) = rest.split_once(&end)?;
        Some((page.path, [format!("{before}{begin}"), between.trim().to_string(), format!("\n{end}{after}")]))
    });
    page.unwrap_or_else(|| panic!("no page has {begin} and {end}"))
}

/// The text between `<!-- MARK -->` and `<!-- /MARK -->` of a page.
pub fn documented(mark: &str) -> String {
    let (_, [_, between, _]) = marked(mark);
    between
}

/// Checks that a page has this text between its marks; `INSTA_UPDATE=always` writes it.
pub fn check_documented(mark: &str, text: &str) {
    let _guard = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let (path, [before, between, after]) = marked(mark);
    if between == text.trim() {
        return;
    }
    assert!(is_update(), "{} is out of date; between the marks `{mark}` write\n{text}", path.display());
    fs::write(&path, before + text.trim() + &after).unwrap();
}

struct Page {
    path: PathBuf,
    text: String,
}

impl Page {
    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap();
        Self { path, text }
    }

    /// The lines outside of code blocks, without what stands between backticks.
    fn prose(&self) -> String {
        let mut is_code = false;
        let mut prose = String::new();
        for line in self.text.lines() {
            let is_fence = line.starts_with("```");
            is_code ^= is_fence;
            if !is_code && !is_fence {
                prose.extend(line.split('`').step_by(2));
                prose.push('\n');
            }
        }
        prose
    }

    /// What stands between single backticks in prose.
    fn code_spans(&self) -> Vec<&str> {
        let outside = self.text.split("```").step_by(2);
        outside.flat_map(|text| text.split('`').skip(1).step_by(2)).collect()
    }

    /// The code blocks of a language, with the line before them.
    fn blocks(&self, language: &str) -> Vec<(String, String)> {
        let lines: Vec<&str> = self.text.lines().collect();
        let opening = format!("```{language}");
        let starts = (0..lines.len()).filter(|&at| lines[at] == opening);
        let block = |at: usize| lines[at + 1..].iter().take_while(|line| **line != "```").copied();
        let text = |at: usize| block(at).collect::<Vec<_>>().join("\n") + "\n";
        starts.map(|at| (lines[at.max(1) - 1].to_string(), text(at))).collect()
    }

    /// Anchors of the headings, as GitHub and mdBook make them.
    fn anchors(&self) -> BTreeSet<String> {
        let headings = self.text.lines().filter(|line| line.starts_with('#'));
        headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
    }
}

fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The pages of the book.
fn book() -> Vec<Page> {
    let pages = files::with_extension(files::entries(&root().join("docs/src")), "md");
    pages.into_iter().map(Page::read).collect()
}

/// The pages of the book, and those beside it.
fn pages() -> Vec<Page> {
    let beside = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "tests/known_differences.md",
        "tests/conformance/README.md",
    ];
    book().into_iter().chain(beside.map(|name| Page::read(root().join(name)))).collect()
}

/// Targets of `[text](target)`.
fn links(prose: &str) -> impl Iterator<Item = &str> {
    prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

#[test]
fn readme_is_short() {
    let lines = Page::read(root().join("README.md")).text.lines().count();
    assert!(lines <= 200, "README.md has {lines} lines, 200 are allowed: move what is long to docs/");
}

#[test]
fn summary_lists_every_page() {
    let summary = Page::read(root().join("docs/src/SUMMARY.md"));
    let listed: BTreeSet<String> = links(&summary.prose()).map(String::from).collect();
    let names = book().into_iter().map(|page| page.path.file_name().unwrap().to_str().unwrap().to_string());
    let there: BTreeSet<String> = names.filter(|name| name != "SUMMARY.md").collect();
    assert_eq!(listed, there);
    assert!(fs::read_to_string(root().join("docs/book.toml")).unwrap().contains("src = \"src\""));
}

#[test]
fn links_and_paths_resolve() {
    let mut broken = Vec::new();
    for page in pages() {
        for link in links(&page.prose()).filter(|link| !link.contains("://")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => page.path.clone(),
                file => page.path.parent().unwrap().join(file),
            };
            let has_heading = || Page::read(target.clone()).anchors().contains(heading);
            if !target.exists() || (!heading.is_empty() && !has_heading()) {
                broken.push(format!("{}: {link}", page.path.display()));
            }
        }
        for span in page.code_spans().into_iter().filter(|span| is_path(span)) {
            if !root().join(span).exists() {
                broken.push(format!("{}: `{span}`", page.path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "nothing is there:\n{}", broken.join("\n"));
}

#[test]
fn each_rule_of_the_canonical_form_is_described() {
    let page = Page::read(root().join("docs/src/rewriting.md"));
    let rows = page.text.lines().skip_while(|line| *line != "| rule | effect |").skip(2);
    let described = rows.map_while(|row| Some(row.strip_prefix("| `")?.split_once('`')?.0));
    let rules = snick_pass::PASSES.iter().map(snick_pass::Pass::name);
    assert_eq!(described.collect::<Vec<_>>(), rules.collect::<Vec<_>>());
}

#[test]
fn each_operation_is_described() {
    let bare = snick_ir::ops::reference().into_iter().map(|entry| entry.name);
    let bare: Vec<&str> = bare.filter(|name| name.doc.trim().is_empty()).map(|name| name.name).collect();
    assert!(bare.is_empty(), "without a description: {bare:?}");
}

#[test]
fn each_format_is_described() {
    let page = Page::read(root().join("docs/src/formats.md"));
    for format in snick::Format::ALL {
        let row = page.text.lines().find(|line| line.starts_with(&format!("| {} |", format.name())));
        let extension = format!("`.{}`", format.extension());
        assert!(row.is_some_and(|row| row.contains(&extension)), "formats.md: no row for {}", format.name());
    }
}

/// Whether a code span names a file of the repository.
fn is_path(span: &str) -> bool {
    let roots = ["crates/", "tests/", "models/", "examples/", "docs/"];
    roots.iter().any(|root| span.starts_with(root)) && !span.contains(['*', '<', ' ', '{'])
}

/// A block behind `<!-- file: PATH -->` is that file; `INSTA_UPDATE=always` writes it.
#[test]
fn code_is_that_of_the_files() {
    let _guard = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut compared = 0;
    for page in pages() {
        let mut current = page.text.clone();
        for (before, block) in ["rust,ignore", "snick"].iter().flat_map(|language| page.blocks(language)) {
            let marked = before.strip_prefix("<!-- file: ").and_then(|rest| rest.strip_suffix(" -->"));
            let Some(file) = marked else { continue };
            let text =
                fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            let is_current = text == block || is_update();
            assert!(is_current, "{}: the block is not {file} as it is now", page.path.display());
            current = current.replace(&block, &text);
            compared += 1;
        }
        if current != page.text {
            fs::write(&page.path, current).unwrap();
        }
    }
    assert!(compared > 0, "no page shows a file");
}

#[test]
fn text_form_examples_parse_and_infer() {
    for page in pages() {
        for (_, block) in page.blocks("snick") {
            let read = snick_read::read_text(&block, None, "example.snick");
            let mut read = read.unwrap_or_else(|error| panic!("{}: {error}\n{block}", page.path.display()));
            let errors = snick_ir::infer(&mut read.graph);
            assert!(errors.is_empty(), "{}: {errors:?}\n{block}", page.path.display());
        }
    }
}

/// Every promise of `safety.md` names tests, and there are such.
#[test]
fn reasons_to_give_a_size_up_are_listed() {
    let page = fs::read_to_string(root().join("docs/src/shapes.md")).unwrap();
    for reason in snick_ir::GIVEN_UP {
        assert!(page.contains(&format!("| {reason} |")), "docs/src/shapes.md lacks `{reason}`");
    }
}

#[test]
fn promises_are_held_by_tests() {
    let page = Page::read(root().join("docs/src/safety.md"));
    let mut sources = Vec::new();
    ["crates", "tests"].iter().for_each(|folder| files::walk(&root().join(folder), &mut sources));
    let [rust, python] = ["rs", "py"].map(|extension| -> String {
        let sources = files::with_extension(sources.clone(), extension);
        sources.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
    });
    let mut promises = 0;
    for row in page.text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| promise")) {
        let tests = row.trim_end_matches(" |").rsplit_once(" | ").map(|(_, tests)| tests).unwrap();
        for test in tests.split('`').skip(1).step_by(2) {
            assert!(
                rust.contains(&format!("#[test]\n    fn {test}()"))
                    || rust.contains(&format!("#[test]\nfn {test}()"))
                    || python.contains(&format!("\ndef {test}(")),
                "there is no test {test}"
            );
        }
        assert!(tests.contains('`') || tests == "the same", "no test: {row}");
        promises += 1;
    }
    assert!(promises > 8, "only {promises} promises were found");
}

#[test]
fn marks_are_closed() {
    for page in pages() {
        let marks = |prefix: &str| page.text.matches(prefix).count();
        assert_eq!(
            marks("<!-- /"),
            marks("<!-- ") - marks("<!-- /") - marks("<!-- file: "),
            "{:?}",
            page.path
        );
    }
}
