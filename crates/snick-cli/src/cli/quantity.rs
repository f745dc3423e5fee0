//! Formats numbers for people: few digits, and one style of units.

/// Numbers below this are shown in full.
const FULL: f64 = 10_000.0;

/// Prefixes of units.
const PREFIXES: [(f64, &str); 6] =
    [(1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];

/// A count with at most four significant digits: `5554`, `1.38 G`.
pub fn count(number: u64) -> String {
    amount(number, "")
}

/// A number of bytes: `352 B`, `22.6 kB`.
pub fn bytes(number: u64) -> String {
    amount(number, "B")
}

/// A number with a unit; the unit may be empty.
pub fn amount(number: u64, unit: &str) -> String {
    match (number as f64) < FULL {
        true => format!("{number} {unit}").trim_end().to_string(),
        false => rounded(number as f64, 3, unit),
    }
}

/// A number with this many significant digits and a prefix such as k or M.
pub fn rounded(number: f64, digits: usize, unit: &str) -> String {
    // Rounds before choosing a prefix, so that no number is shown as 1000 k.
    let number: f64 = format!("{number:.*e}", digits.saturating_sub(1)).parse().unwrap_or(number);
    let (factor, prefix) =
        PREFIXES.into_iter().find(|(factor, _)| number.abs() >= *factor).unwrap_or((1.0, ""));
    let scaled = number / factor;
    if scaled.abs() < 1.0 {
        return format!("{scaled} {unit}").trim_end().to_string();
    }
    let before_point = format!("{:.0}", scaled.abs().floor()).len();
    let text = format!("{scaled:.*}", digits.saturating_sub(before_point));
    // Without a prefix, the number may be an integer, which needs no `.0`.
    let text = if prefix.is_empty() { text.trim_end_matches(".0").to_string() } else { text };
    format!("{text} {prefix}{unit}").trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_few_digits_and_a_prefix() {
        assert_eq!([0, 352, 9999].map(bytes), ["0 B", "352 B", "9999 B"]);
        assert_eq!([22_632, 999_999, 1_815_700].map(bytes), ["22.6 kB", "1.00 MB", "1.82 MB"]);
        assert_eq!([5554, 907_500, 1_384_000_000].map(count), ["5554", "908 k", "1.38 G"]);
        assert_eq!(count(u64::MAX), "18.4 E");
        assert_eq!(
            [3379.4, 8.0, 0.031, 99.6, -12.0].map(|n| rounded(n, 2, "")),
            ["3.4 k", "8", "0.031", "100", "-12"]
        );
        assert_eq!(rounded(440.0, 2, "B"), "440 B");
    }
}
