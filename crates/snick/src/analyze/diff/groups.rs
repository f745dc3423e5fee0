//! Groups of layers with the same operation and the same kind of change.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::{LayerChange, LayerRef, ModelDiff};

/// Layers with the same operation and the same kind of change.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChangeGroup<'d, T> {
    /// The operation and the kind of change, such as `SoftMax (axis)`.
    pub title: String,
    /// The layers.
    pub items: Vec<&'d T>,
    /// Whether the group is a likely consequence of other groups, such as the constants of added layers.
    pub is_minor: bool,
}

impl ModelDiff {
    /// Groups the layers that only the first model has by operation. The largest groups come first, and
    /// constants last, because they usually change together with other layers.
    pub fn removed_groups(&self) -> Vec<ChangeGroup<'_, LayerRef>> {
        by_operation(&self.removed)
    }

    /// Groups the layers that only the second model has, in the same way.
    pub fn added_groups(&self) -> Vec<ChangeGroup<'_, LayerRef>> {
        by_operation(&self.added)
    }

    /// Groups the changed layers by operation and kind of change. The largest groups come first. In each
    /// group, the constants that changed most come first.
    pub fn changed_groups(&self) -> Vec<ChangeGroup<'_, LayerChange>> {
        let mut groups = groups(&self.changed, |change| {
            let op = match change.a.op == change.b.op {
                true => change.a.op.clone(),
                false => format!("{} -> {}", change.a.op, change.b.op),
            };
            (format!("{op} ({})", what_changed(change)), false)
        });
        let largest = |change: &LayerChange| change.weights.map_or(0.0, |weights| weights.max_abs);
        for group in &mut groups {
            group.items.sort_by(|a, b| largest(b).total_cmp(&largest(a)));
        }
        groups
    }
}

fn by_operation(layers: &[LayerRef]) -> Vec<ChangeGroup<'_, LayerRef>> {
    groups(layers, |layer| (layer.op.clone(), layer.op == "Const"))
}

/// The attributes and other properties that changed.
fn what_changed(change: &LayerChange) -> String {
    let others = [
        (!change.inputs.is_empty(), "inputs"),
        (change.types.is_some(), "type"),
        (change.shapes.is_some(), "shape"),
        (change.weights.is_some() || change.lacks_elements, "weights"),
    ];
    let others = others.into_iter().filter(|(changed, _)| *changed).map(|(_, what)| what);
    change.attrs.iter().map(|attr| attr.name.as_str()).chain(others).collect::<Vec<_>>().join(", ")
}

/// Groups items by their description: a title, and whether the group is minor. The largest groups come first,
/// and minor groups last.
fn groups<T>(items: &[T], describe: impl Fn(&T) -> (String, bool)) -> Vec<ChangeGroup<'_, T>> {
    let mut groups: Vec<ChangeGroup<T>> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for item in items {
        let (title, is_minor) = describe(item);
        let at = *known.entry(title).or_insert_with_key(|title| {
            groups.push(ChangeGroup { title: title.clone(), items: Vec::new(), is_minor });
            groups.len() - 1
        });
        groups[at].items.push(item);
    }
    groups.sort_by_key(|group| (group.is_minor, Reverse(group.items.len())));
    groups
}
