//! Serialises locations, intervals and values that have a text form.

use std::fmt::Display;

use serde::Serializer;
use snick_ir::Loc;
use snick_shape::Interval;

/// Serialises a location, such as `12:3`.
pub(super) fn loc<S: Serializer>(loc: &Loc, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(loc)
}

/// Whether a location is unknown and therefore omitted.
pub(super) fn is_nowhere(loc: &Loc) -> bool {
    loc.line == 0
}

/// Serialises an interval, such as `1..8` or `?`. If an interval of elements has no lower bound, the smallest
/// i64 is written instead.
pub(super) fn interval<S: Serializer>(interval: &Interval, serializer: S) -> Result<S::Ok, S::Error> {
    match *interval {
        Interval::ANY => serializer.serialize_str("?"),
        interval if interval.has_lower() => serializer.collect_str(&interval),
        interval => serializer.collect_str(&format_args!("{}..{}", i64::MIN, interval.hi())),
    }
}

/// Serialises a value as its text form.
pub(super) fn text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}
