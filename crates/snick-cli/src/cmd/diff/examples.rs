//! Examples from groups of layers.

use snick::ChangeGroup;

/// Chooses at most `most` items, as evenly from the groups as possible, and from minor groups only if there
/// are not enough others.
pub(super) fn examples<'d, T>(groups: &[ChangeGroup<'d, T>], most: usize) -> Vec<&'d T> {
    let major = groups.iter().take_while(|group| !group.is_minor).count();
    let (major, minor) = groups.split_at(major);
    let mut chosen = evenly(major, most);
    chosen.extend(evenly(minor, most - chosen.len()));
    chosen
}

fn evenly<'d, T>(groups: &[ChangeGroup<'d, T>], most: usize) -> Vec<&'d T> {
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
    use snick::{LayerRef, ModelDiff};

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
        let mut diff = ModelDiff::default();
        diff.added = layers;
        let groups = diff.added_groups();
        let counts: Vec<(&str, usize)> =
            groups.iter().map(|group| (group.title.as_str(), group.items.len())).collect();
        assert_eq!(counts, [("Add", 3), ("Convolution", 1), ("Const", 3)]);
        let names =
            |most| examples(&groups, most).iter().map(|layer| layer.name.as_str()).collect::<String>();
        assert_eq!([0, 1, 2, 3, 5, 9].map(names), ["", "d", "de", "dfe", "dfgea", "dfgeabc"]);
    }
}
