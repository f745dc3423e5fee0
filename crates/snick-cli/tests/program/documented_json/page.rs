//! Reads the tables of `docs/src/json.md`. The page describes how they are written.

use crate::root;

/// A section of the page with a table of members.
pub struct Table {
    /// The anchor of its heading, by which other tables link to it.
    pub anchor: String,
    /// The schemas that the section describes.
    pub schemas: Vec<String>,
    pub members: Vec<Member>,
    text: String,
}

/// A member of an object, or several with the same description.
pub struct Member {
    /// The path from the outermost object, such as `layers[].name`.
    pub path: String,
    pub kinds: Vec<Kind>,
    pub is_optional: bool,
}

/// A type of a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    /// An integer, or a string over symbols.
    Expression,
    /// An object whose members follow in the table.
    Object,
    /// An object with the members of another table, given by its anchor.
    Like(String),
    /// One of the listed strings.
    Literal(String),
    List(Vec<Kind>),
}

impl Table {
    /// The tables of the page, in order.
    pub fn all() -> Vec<Self> {
        let page = std::fs::read_to_string(root().join("docs/src/json.md")).unwrap();
        let sections = page.split("\n#").skip(1).map(Self::read);
        sections.filter(|table| !table.members.is_empty()).collect()
    }

    fn read(section: &str) -> Self {
        let (heading, text) = section.split_once('\n').unwrap();
        let prose: String = text.split("```").step_by(2).collect();
        let spans = prose.split('`').skip(1).step_by(2);
        let schemas = spans.filter(|span| span.starts_with("snick.") && span.ends_with("/1"));
        let rows = text.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
        let rows = rows.take_while(|line| line.starts_with('|'));
        Self {
            anchor: anchor(heading.trim_start_matches('#').trim()),
            schemas: schemas.map(String::from).collect(),
            members: rows.flat_map(Member::read).collect(),
            text: text.to_string(),
        }
    }

    /// Whether an example in the section prints an answer of this schema.
    pub fn has_example(&self, schema: &str) -> bool {
        self.text.contains(&format!("{{\"schema\":\"{schema}\""))
    }
}

impl Member {
    /// The members of a row: `` | `macs`, `flops` | integer, optional | meaning | ``.
    fn read(row: &str) -> Vec<Self> {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [names, kinds, _] = cells.as_slice() else { panic!("three cells are expected in {row}") };
        let (kinds, is_optional) = match kinds.strip_suffix(", optional") {
            Some(kinds) => (kinds, true),
            None => (*kinds, false),
        };
        let kinds: Vec<Kind> = kinds.split(", or ").flat_map(Kind::read).collect();
        let names = names.split('`').skip(1).step_by(2);
        names.map(|path| Self { path: path.to_string(), kinds: kinds.clone(), is_optional }).collect()
    }
}

impl Kind {
    /// `string or null`, `list of integers or nulls`, `list of lists of [symbols](#symbols)`
    fn read(text: &str) -> Vec<Self> {
        match text.strip_prefix("list of ").or_else(|| text.strip_prefix("lists of ")) {
            Some(elements) => vec![Self::List(Self::read(elements))],
            None => text.split(" or ").flat_map(Self::read_words).collect(),
        }
    }

    fn read_words(text: &str) -> Vec<Self> {
        if text.starts_with('`') {
            return text.split('`').skip(1).step_by(2).map(|word| Self::Literal(word.to_string())).collect();
        }
        if let Some((_, link)) = text.split_once("](#") {
            return vec![Self::Like(link.trim_end_matches(')').to_string())];
        }
        vec![match text.trim_end_matches('s') {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            "expression" => Self::Expression,
            "object" => Self::Object,
            other => panic!("unknown type `{other}`"),
        }]
    }
}

/// The anchor that mdBook generates for a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}
