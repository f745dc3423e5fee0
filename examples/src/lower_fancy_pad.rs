//! lower-fancy-pad: replaces a layer that snick does not know by known ones.

use snick::{RewriteResult, Rule};

/// Lowers `FancyPad`, which adds `by` elements before and after each row, to a Pad with the value `fill`.
pub fn lower_fancy_pad(fill: f64) -> Rule {
    Rule::new("lower-fancy-pad", move |patch| {
        if patch.node().op().type_name() != "FancyPad" {
            return Ok(RewriteResult::NoMatch);
        }
        let by = patch.node().op().attrs().int("by")?.unwrap_or(1);
        if by < 0 {
            return Ok(RewriteResult::declined(format!("pads by {by}, which would remove elements")));
        }
        let data = patch.input(0)?;
        let padded = patch.pad(data, &[0, by], &[0, by], patch.scalar_like(data, fill)?)?;
        Ok(RewriteResult::one(padded))
    })
}
