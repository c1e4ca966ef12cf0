//! Byte counts as labels. The only place that formats bytes.

/// A count of bytes as a short label: `0 B` … `1023 B`, then KB with one decimal, ties up, and MB as soon as KB would
/// read `1024.0`. Whole numbers only, so that every platform says the same.
///
/// ```
/// use chatrows::byte_label;
/// assert_eq!(byte_label(1023), "1023 B");
/// assert_eq!(byte_label(1280), "1.3 KB");
/// assert_eq!(byte_label(1_048_525), "1.0 MB");
/// ```
pub fn byte_label(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let kb_tenths = tenths(bytes, 1024);
    let (tenths, unit) = if kb_tenths < 10240 { (kb_tenths, "KB") } else { (tenths(bytes, 1024 * 1024), "MB") };
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

fn tenths(bytes: u64, unit: u64) -> u64 {
    ((u128::from(bytes) * 20 + u128::from(unit)) / (2 * u128::from(unit))) as u64
}

#[cfg(test)]
mod tests {
    use super::byte_label;

    #[test]
    fn labels_round_ties_up_and_change_units_where_the_smaller_would_read_1024() {
        for (bytes, label) in [
            (0, "0 B"),
            (1, "1 B"),
            (1023, "1023 B"),
            (1024, "1.0 KB"),
            (1234, "1.2 KB"),
            (1280, "1.3 KB"),
            (1536, "1.5 KB"),
            (2304, "2.3 KB"),
            (102_400, "100.0 KB"),
            (1_048_524, "1023.9 KB"),
            (1_048_525, "1.0 MB"),
            (1_048_576, "1.0 MB"),
            (1_310_720, "1.3 MB"),
            (1 << 40, "1048576.0 MB"),
        ] {
            assert_eq!(byte_label(bytes), label);
        }
        byte_label(u64::MAX);
    }
}
