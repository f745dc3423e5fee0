//! Groups of layers with the same operation and the same kind of change.

use std::cmp::Reverse;
use std::collections::HashMap;

use snick::{LayerChange, LayerRef};

/// Layers with the same operation and the same kind of change.
pub(super) struct Group<'d, T> {
    /// The operation and the kind of change, such as `SoftMax (axis)`.
    pub title: String,
    pub items: Vec<&'d T>,
    /// Whether examples from other groups are more informative.
    is_minor: bool,
}

/// Groups layers that only one model has. Constants come last, because they usually change together with
/// other layers.
pub(super) fn of_layers(layers: &[LayerRef]) -> Vec<Group<'_, LayerRef>> {
    groups(layers, |layer| (layer.op.clone(), layer.op == "Const"))
}

/// Groups changed layers. In each group, the constants that changed most come first.
pub(super) fn of_changes(changes: &[LayerChange]) -> Vec<Group<'_, LayerChange>> {
    let mut groups = groups(changes, |change| {
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

/// Whether the changed layer is a constant.
pub(super) fn is_constant(change: &LayerChange) -> bool {
    change.a.op == "Const"
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
fn groups<T>(items: &[T], describe: impl Fn(&T) -> (String, bool)) -> Vec<Group<'_, T>> {
    let mut groups: Vec<Group<T>> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for item in items {
        let (title, is_minor) = describe(item);
        let at = *known.entry(title).or_insert_with_key(|title| {
            groups.push(Group { title: title.clone(), items: Vec::new(), is_minor });
            groups.len() - 1
        });
        groups[at].items.push(item);
    }
    groups.sort_by_key(|group| (group.is_minor, Reverse(group.items.len())));
    groups
}

/// Chooses at most `most` items, as evenly from the groups as possible, and from minor groups only if there
/// are not enough others.
pub(super) fn examples<'d, T>(groups: &[Group<'d, T>], most: usize) -> Vec<&'d T> {
    let major = groups.iter().take_while(|group| !group.is_minor).count();
    let (major, minor) = groups.split_at(major);
    let mut chosen = evenly(major, most);
    chosen.extend(evenly(minor, most - chosen.len()));
    chosen
}

fn evenly<'d, T>(groups: &[Group<'d, T>], most: usize) -> Vec<&'d T> {
    let of_each = |limit: usize| groups.iter().map(move |group| group.items.len().min(limit));
    // The largest number of items per group with a total of at most `most`.
    let limit = (0..most).rev().find(|&limit| of_each(limit).sum::<usize>() <= most).unwrap_or(0);
    let mut left = most - of_each(limit).sum::<usize>();
    let counts = of_each(limit).zip(groups).map(|(count, group)| {
        let more = usize::from(left > 0 && count < group.items.len());
        left -= more;
        count + more
    });
    let counts: Vec<usize> = counts.collect();
    groups.iter().zip(counts).flat_map(|(group, count)| group.items[..count].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_come_from_all_groups_and_last_from_constants() {
        let ops = ["Const", "Const", "Const", "Add", "Convolution", "Add", "Add"];
        let layers = ops.iter().zip('a'..).map(|(op, name)| {
            let mut layer = LayerRef::default();
            (layer.op, layer.name) = (op.to_string(), name.to_string());
            layer
        });
        let layers: Vec<LayerRef> = layers.collect();
        let groups = of_layers(&layers);
        let counts: Vec<(&str, usize)> =
            groups.iter().map(|group| (group.title.as_str(), group.items.len())).collect();
        assert_eq!(counts, [("Add", 3), ("Convolution", 1), ("Const", 3)]);
        let names =
            |most| examples(&groups, most).iter().map(|layer| layer.name.as_str()).collect::<String>();
        assert_eq!([0, 1, 2, 3, 5, 9].map(names), ["", "d", "de", "dfe", "dfgea", "dfgeabc"]);
    }
}
