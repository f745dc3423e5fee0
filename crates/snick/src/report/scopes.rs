//! The scopes of a graph, which the viewer opens and closes.

use serde::{Serialize, Serializer};
use snick_view::{Item, Scope};

use super::Text;
use super::numbers::NumberedGraph;

/// The parts of a graph or scope: ids of layers, and scopes.
pub(super) struct ScopeItems<'g> {
    pub of: &'g NumberedGraph<'g>,
    pub items: Vec<Item>,
}

impl Serialize for ScopeItems<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.items.iter().map(|item| ScopeItem { of: self.of, item }))
    }
}

struct ScopeItem<'g> {
    of: &'g NumberedGraph<'g>,
    item: &'g Item,
}

impl Serialize for ScopeItem<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct ScopeData<'g> {
            name: Text<&'g str>,
            /// The number of blocks of equal structure, for a group of blocks.
            #[serde(skip_serializing_if = "Option::is_none")]
            repeats: Option<usize>,
            /// Whether the first view shows the parts.
            open: bool,
            items: Vec<ScopeItem<'g>>,
        }
        let Self { of, item } = *self;
        match item {
            Item::Layer(id) => of.of(*id).serialize(serializer),
            Item::Scope(Scope { name, repeats, is_open, items, .. }) => ScopeData {
                name: Text(name),
                repeats: Some(*repeats).filter(|repeats| *repeats > 0),
                open: *is_open,
                items: items.iter().map(|item| ScopeItem { of, item }).collect(),
            }
            .serialize(serializer),
        }
    }
}
