//! The procedural part of `snick_testing::check_files!`. Lists the files of a folder during expansion, which
//! declarative macros cannot do. Tests should use `check_files!` instead of this crate.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// The name of the test that runs files added after the expansion.
const ADDED: &str = "files_added_since_compilation";

/// Expands `[$crate] name "folder" [passes]` to
/// `$crate::__check_listed! { name __name_suite "folder" (passes) [(test "file" "path") ...] }`.
#[proc_macro]
pub fn list_files(input: TokenStream) -> TokenStream {
    expand(input).unwrap_or_else(|message| {
        let message = TokenTree::from(Literal::string(&message));
        let mut error = TokenStream::from(TokenTree::from(Ident::new("compile_error", Span::call_site())));
        error.extend([TokenTree::from(Punct::new('!', Spacing::Alone)), group(Delimiter::Brace, [message])]);
        error
    })
}

fn expand(input: TokenStream) -> Result<TokenStream, String> {
    let parts: Vec<TokenTree> = input.into_iter().collect();
    let [TokenTree::Group(krate), TokenTree::Ident(name), folder, TokenTree::Group(passes)] = &parts[..]
    else {
        return Err("use `snick_testing::check_files!`".into());
    };
    let folder = string(folder).ok_or("the folder is a string, relative to the crate")?;
    let root =
        std::env::var("CARGO_MANIFEST_DIR").map_err(|_| "CARGO_MANIFEST_DIR is not set: build with cargo")?;
    let mut taken = BTreeSet::from([ADDED.to_string()]);
    let mut files = Vec::new();
    for path in files_of(&Path::new(&root).join(&folder))? {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = path.to_str().ok_or_else(|| format!("the path of {file} is not UTF-8"))?;
        let test = Ident::new_raw(&test_name(&file, &mut taken), name.span());
        let [file, path] = [&format!("{folder}/{file}"), path].map(|text| Literal::string(text).into());
        files.push(group(Delimiter::Parenthesis, [test.into(), file, path]));
    }
    let suite = Ident::new(&format!("__{name}_suite"), Span::call_site());
    let arguments: [TokenTree; 5] = [
        name.clone().into(),
        suite.into(),
        Literal::string(&folder).into(),
        Group::new(Delimiter::Parenthesis, passes.stream()).into(),
        group(Delimiter::Bracket, files),
    ];
    let mut call = krate.stream();
    call.extend([
        TokenTree::from(Punct::new(':', Spacing::Joint)),
        Punct::new(':', Spacing::Alone).into(),
        Ident::new("__check_listed", Span::call_site()).into(),
        Punct::new('!', Spacing::Alone).into(),
        group(Delimiter::Brace, arguments),
    ]);
    Ok(call)
}

fn group(delimiter: Delimiter, tokens: impl IntoIterator<Item = TokenTree>) -> TokenTree {
    Group::new(delimiter, tokens.into_iter().collect()).into()
}

/// The text of a plain string literal. A declarative macro passes the literal in an invisible group.
fn string(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            string(&group.stream().into_iter().next()?)
        }
        TokenTree::Literal(literal) => {
            let text = literal.to_string();
            let text = text.strip_prefix('"')?.strip_suffix('"')?;
            (!text.contains('\\')).then(|| text.to_string())
        }
        _ => None,
    }
}

/// The `.snick` files of a folder, by name.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("{}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        files.push(entry.map_err(failed)?.path());
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "snick"));
    files.sort();
    match files.is_empty() {
        true => Err(format!("{} contains no .snick files", folder.display())),
        false => Ok(files),
    }
}

/// A unique name for the test of a file.
fn test_name(file: &str, taken: &mut BTreeSet<String>) -> String {
    let stem = file.strip_suffix(".snick").unwrap_or(file);
    let is_word = |c: char| c.is_ascii_alphanumeric();
    let mut name: String =
        stem.chars().map(|c| if is_word(c) { c.to_ascii_lowercase() } else { '_' }).collect();
    // Identifiers cannot begin with a digit, and some words are reserved.
    let is_reserved = ["self", "super", "crate", "_"].contains(&name.as_str()) || name.is_empty();
    if is_reserved || name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert_str(0, "file_");
    }
    while !taken.insert(name.clone()) {
        name.push('_');
    }
    name
}
