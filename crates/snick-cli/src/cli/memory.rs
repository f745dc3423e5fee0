//! The memory limit for all tensors of a command.

/// The default of `--max-memory`: three quarters of the machine's memory, if the system reports it.
pub fn default_limit() -> Option<usize> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: usize = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib.saturating_mul(1024) / 4 * 3)
}

/// Parses a size such as `2G`, `512M`, `64k` or `1.5GiB`. A number without a unit means bytes.
pub fn parse_size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].trim_end_matches("iB").trim_end_matches('B') {
        "" => 0,
        "k" | "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err("expected a size such as 2G, 512M or 64k".into()),
    };
    let number: f64 = digits.parse().map_err(|_| "expected a size such as 2G, 512M or 64k")?;
    let bytes = number * f64::from(2).powi(unit);
    match bytes >= 1.0 {
        // The conversion saturates. A size beyond the address space is equivalent to no limit.
        true => Ok(bytes as usize),
        false => Err("expected a size of at least one byte".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("2G"), Ok(2 << 30));
        assert_eq!(parse_size("1.5MiB"), Ok(3 << 19));
        assert_eq!(parse_size("64kB"), Ok(64 << 10));
        assert_eq!(parse_size("100"), Ok(100));
        assert_eq!(parse_size("99999999999999999999G"), Ok(usize::MAX));
        for text in ["", "lots", "-1G", "0", "nan", "5X"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
