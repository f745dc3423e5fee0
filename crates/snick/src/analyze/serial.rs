//! Serialises locations, intervals and values that have a text form.

use std::fmt::Display;

use serde::Serializer;
use snick_ir::Loc;
use snick_shape::Interval;

/// `12:3`
pub(super) fn loc<S: Serializer>(loc: &Loc, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(loc)
}

/// Whether a location is unknown and therefore omitted.
pub(super) fn is_nowhere(loc: &Loc) -> bool {
    loc.line == 0
}

/// `1..8`, or `?`. An interval of elements without a lower bound starts at the smallest i64.
pub(super) fn interval<S: Serializer>(interval: &Interval, serializer: S) -> Result<S::Ok, S::Error> {
    match *interval {
        Interval::ANY => serializer.serialize_str("?"),
        interval if interval.has_lower() => serializer.collect_str(&interval),
        interval => serializer.collect_str(&format_args!("{}..{}", i64::MIN, interval.hi())),
    }
}

/// The text of a value.
pub(super) fn text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}
