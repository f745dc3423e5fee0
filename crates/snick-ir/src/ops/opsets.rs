//! Which operation sets of OpenVINO contain an op: those from its first definition up to [`REPEATING`], with the
//! exceptions listed here. A layer that names any other set is refused, as OpenVINO's reader refuses it.

use std::ops::RangeInclusive;

use crate::OpError;
use crate::op::{OpName, Version};

/// The last operation set that repeats what earlier ones define.
const REPEATING: u8 = 16;

/// The newest operation set: what it defines itself, and of earlier sets only [`IN_NEWEST`].
const NEWEST: u8 = 17;

/// The ops of earlier sets that the newest one repeats.
const IN_NEWEST: [&str; 3] = ["Convert", "Parameter", "ShapeOf"];

/// Sets that leave an op out though a set before them has it.
const LEFT_OUT: [(&str, RangeInclusive<u8>); 4] =
    [("Reverse", 2..=NEWEST), ("RNNCell", 2..=2), ("ShuffleChannels", 2..=2), ("Xor", 2..=NEWEST)];

/// The operation set of a layer of this name, if it declares one, must contain the op.
pub(super) fn check(name: &OpName, declared: &Version) -> Result<(), OpError> {
    let (Version::Opset(set), Some(&first)) = (declared, name.since.first()) else { return Ok(()) };
    let last = match IN_NEWEST.contains(&name.name) || name.since.contains(&NEWEST) {
        true => NEWEST,
        false => REPEATING,
    };
    let left_out = LEFT_OUT.iter().find(|(left_out, _)| *left_out == name.name).map(|(_, sets)| sets);
    if (first..=last).contains(set) && !left_out.is_some_and(|sets| sets.contains(set)) {
        return Ok(());
    }
    let but = left_out.map_or(String::new(), |sets| format!(", not {} to {}", sets.start(), sets.end()));
    Err(OpError::mismatch("the operation set", declared, format!("opset{first} to opset{last}{but}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_a_first_and_a_last_op() {
        let within = |name: &'static str, since: &'static [u8], set| {
            check(&OpName::openvino(name, since), &Version::Opset(set)).is_ok()
        };
        let mish = |set| within("Mish", &[4], set);
        assert!(!mish(3) && mish(4) && mish(16) && !mish(17) && !mish(99));
        let convert = |set| within("Convert", &[1], set);
        assert!(convert(1) && convert(17) && !convert(18));
        let new = |set| within("New", &[17], set);
        assert!(!new(16) && new(17));
        let cell = |set| within("RNNCell", &[1], set);
        assert!(cell(1) && !cell(2) && cell(3));
        assert!(within("Xor", &[1], 1) && !within("Xor", &[1], 2));
        assert!(check(&OpName::openvino("Mish", &[4]), &Version::Unversioned).is_ok());
    }
}
