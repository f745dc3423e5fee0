//! The names of the inputs and outputs of states.

/// Words that mark the name of an input as the name of a state. The name of the output has [`PRESENT`]
/// instead.
const PAST: [&str; 2] = ["past_key_values", "past"];
const PRESENT: &str = "present";

/// The names of the input and the output for a variable. Some exporters concatenate both names to name the
/// variable, as in `past_key_values.0.keypresent.0.key`. For any other variable, prefixes are added to its
/// name.
pub(super) fn input_and_output(variable_id: &str) -> (String, String) {
    // The two names differ only in one word, so the length determines where to split.
    let joined = PAST.iter().find_map(|past| {
        let same = variable_id.len().checked_sub(past.len() + PRESENT.len())? / 2;
        let (input, output) = variable_id.split_at_checked(same + past.len())?;
        (output_of(input)? == output).then(|| (input.into(), output.into()))
    });
    joined.unwrap_or_else(|| (format!("past.{variable_id}"), format!("present.{variable_id}")))
}

/// The name of the output that returns the state, if the input is named like a state.
pub(super) fn output_of(input: &str) -> Option<String> {
    PAST.iter().find_map(|past| {
        let (before, after) = input.split_once(past)?;
        Some(format!("{before}{PRESENT}{after}"))
    })
}

/// The variable for an input and an output with these names; the inverse of [`input_and_output`].
pub(super) fn variable_id(input: &str, output: &str) -> String {
    match (input.strip_prefix("past."), output.strip_prefix("present.")) {
        (Some(one), Some(other)) if one == other => one.into(),
        _ => format!("{input}{output}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_named_by_input_and_output() {
        for (id, input, output) in [
            ("past_key_values.1.valuepresent.1.value", "past_key_values.1.value", "present.1.value"),
            ("cache.past.conv.0cache.present.conv.0", "cache.past.conv.0", "cache.present.conv.0"),
            (
                "past_key_values.0.decoder.keypresent.0.decoder.key",
                "past_key_values.0.decoder.key",
                "present.0.decoder.key",
            ),
            ("269", "past.269", "present.269"),
            ("present", "past.present", "present.present"),
            ("é", "past.é", "present.é"),
        ] {
            assert_eq!(input_and_output(id), (input.into(), output.into()));
            assert_eq!(variable_id(input, output), id);
        }
    }
}
