//! fuse-group-normalization: one GroupNormalization instead of the layers of its decomposition.

use snick_ir::ops::{Arithmetic, AutoBroadcast, GroupNormalization};
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError, Value};
use snick_shape::SymExpr;
use snick_tensor::ElementType;
use snick_tensor::kernels::{BinaryOp, EpsMode};

/// Fuses the normalisation of groups of channels as rows, with a scale and a bias for each channel.
pub(crate) const RULE: Rule = Rule::exact("fuse-group-normalization", apply).may_round_within(1e-5, 1e-5);

fn apply(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let fused = || -> Result<_, OpError> {
        let Some([scaled, bias]) = operands(patch, patch.output(0), BinaryOp::Add)? else { return Ok(None) };
        let Some([even, scale]) = operands(patch, scaled, BinaryOp::Mul)? else { return Ok(None) };
        let Some((data, op)) = groups(patch, even)? else { return Ok(None) };
        let is_used_elsewhere = [scaled, even].iter().any(|&inner| !patch.is_read_once(inner));
        let (scale, bias) = (per_channel(patch, scale, data)?, per_channel(patch, bias, data)?);
        let parameters = scale.zip(bias).filter(|_| !is_used_elsewhere);
        Ok(parameters.map(|(scale, bias)| (op, [data, scale, bias])))
    };
    match fused()? {
        Some((op, inputs)) => patch.add_op(op, &inputs).map(RewriteResult::one),
        None => Ok(RewriteResult::NoMatch),
    }
}

/// The operands of a sum or product, the one with more axes first.
fn operands(patch: &Patch, value: Value, wanted: BinaryOp) -> Result<Option<[Value; 2]>, OpError> {
    let Op::Arithmetic(Arithmetic { function, broadcast: AutoBroadcast::Numpy }) = patch.op_of(value) else {
        return Ok(None);
    };
    let &[x, y] = &patch.inputs_of(value)?[..] else { return Ok(None) };
    let (Some(of_x), Some(of_y)) = (patch.dims(x)?, patch.dims(y)?) else { return Ok(None) };
    let ordered = if of_x.len() >= of_y.len() { [x, y] } else { [y, x] };
    Ok((*function == wanted).then_some(ordered))
}

/// The data whose groups of channels have been normalised, with the groups and the epsilon.
fn groups(patch: &Patch, even: Value) -> Result<Option<(Value, GroupNormalization)>, OpError> {
    let Op::Reshape(_) = patch.op_of(even) else { return Ok(None) };
    let rows = patch.input_of(even, 0)?;
    let Op::Mvn(mvn) = patch.op_of(rows) else { return Ok(None) };
    let &[grouped, axes] = &patch.inputs_of(rows)?[..] else { return Ok(None) };
    let Op::Reshape(_) = patch.op_of(grouped) else { return Ok(None) };
    let data = patch.input_of(grouped, 0)?;
    let (from, to, back) = (patch.dims(data)?, patch.dims(grouped)?, patch.dims(even)?);
    let (Some([samples, SymExpr::Const(channels), ..]), Some([of, SymExpr::Const(groups), _])) =
        (from.as_deref(), to.as_deref())
    else {
        return Ok(None);
    };
    let is_grouped = from == back && samples == of && *groups > 0 && channels % groups == 0;
    let is_normalised = mvn.normalize_variance && mvn.eps_mode == EpsMode::InsideSqrt;
    let is_wide = matches!(patch.element_type(data)?, ElementType::F32 | ElementType::F64);
    let is_of_rows = patch.fact(axes)?.ints().is_some_and(|axes| matches!(axes[..], [2 | -1]));
    let is_fused = is_grouped
        && is_normalised
        && is_wide
        && is_of_rows
        && patch.is_read_once(rows)
        && patch.is_read_once(grouped);
    let op = GroupNormalization { num_groups: *groups, epsilon: mvn.eps };
    Ok(is_fused.then_some((data, op)))
}

/// The vector with a number for each channel that has been reshaped to `[C, 1, ..]`.
fn per_channel(patch: &Patch, parameter: Value, data: Value) -> Result<Option<Value>, OpError> {
    let (rank, channels) = match patch.dims(data)?.as_deref() {
        Some(dims @ [_, channels, ..]) => (dims.len(), channels.clone()),
        _ => return Ok(None),
    };
    let vector = match patch.op_of(parameter) {
        Op::Unsqueeze(_) if rank > 2 => patch.input_of(parameter, 0)?,
        _ => parameter,
    };
    let is_vector = patch.dims(vector)?.as_deref() == Some(std::slice::from_ref(&channels));
    let is_column = match patch.dims(parameter)?.as_deref() {
        Some([first, rest @ ..]) => {
            *first == channels && rest.len() + 2 == rank && rest.iter().all(|dim| *dim == SymExpr::Const(1))
        }
        _ => false,
    };
    Ok((is_vector && is_column).then_some(vector))
}

#[cfg(test)]
mod tests {
    use crate::testing::{fires, silent};

    #[test]
    fn decomposed_group_normalization_is_fused() {
        for shape in ["N,8,H,W", "2,8,3,5", "N,8,L", "3,8"] {
            let decomposed = fires(
                "decompose-group-normalization",
                &format!(
                    "%x = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}
                     %s = Parameter-1 {{element_type: f32, shape: \"8\"}}
                     %b = Parameter-1 {{element_type: f32, shape: \"8\"}}
                     %y = GroupNormalization-12(%x, %s, %b) {{num_groups: 4, epsilon: 0.001}}
                     %r = Result-1(%y)"
                ),
            );
            let body = decomposed.split_once('{').unwrap().1.rsplit_once('}').unwrap().0;
            let text = fires("fuse-group-normalization", body);
            assert!(
                text.contains("GroupNormalization-12(%x, %s, %b) {num_groups: 4, epsilon: 0.001}"),
                "{text}"
            );
        }
    }

    #[test]
    fn other_normalizations_are_kept() {
        let layers = |groups: &str, axis: i64, mode: &str, parameter: &str, back: &str| {
            format!(
                "%x = Parameter-1 {{element_type: f32, shape: \"2,8,6\"}}
                 %s = Parameter-1 {{element_type: f32, shape: \"{parameter}\"}}
                 %groups = Const-1 i64[3] <{groups}>
                 %axis = Const-1 i64[1] <{axis}>
                 %back = Const-1 i64[3] <{back}>
                 %last = Const-1 i64[1] <1>
                 %rows = Reshape-1(%x, %groups) {{special_zero: true}}
                 %mvn = MVN-6(%rows, %axis) {{eps: 0.001, normalize_variance: true, eps_mode: {mode}}}
                 %even = Reshape-1(%mvn, %back) {{special_zero: true}}
                 %column = Unsqueeze-1(%s, %last)
                 %scaled = Multiply-1(%even, %column)
                 %y = Add-1(%scaled, %column)
                 %r = Result-1(%y)"
            )
        };
        fires("fuse-group-normalization", &layers("0, 4, -1", 2, "INSIDE_SQRT", "8", "2, 8, 6"));
        for others in [
            layers("1, 8, -1", 2, "INSIDE_SQRT", "8", "2, 8, 6"),
            layers("0, 4, -1", 1, "INSIDE_SQRT", "8", "2, 8, 6"),
            layers("0, 4, -1", 2, "OUTSIDE_SQRT", "8", "2, 8, 6"),
            layers("0, 4, -1", 2, "INSIDE_SQRT", "1", "2, 8, 6"),
            layers("0, 4, -1", 2, "INSIDE_SQRT", "6", "2, 6, 8"),
        ] {
            silent("fuse-group-normalization", &others);
        }
    }
}
