//! Byte counts as labels. The only place that formats bytes.

/// A count of bytes as a short label: `0 B` … `1023 B`, then KB with one decimal, ties up, and MB and GB as soon as the
/// unit before would read `1024.0`. Whole numbers only, so that every platform says the same.
///
/// ```
/// use chatrows::byte_label;
/// assert_eq!(byte_label(1023), "1023 B");
/// assert_eq!(byte_label(1280), "1.3 KB");
/// assert_eq!(byte_label(1_048_525), "1.0 MB");
/// assert_eq!(byte_label(1_073_689_396), "1.0 GB");
/// ```
pub fn byte_label(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut label = (tenths(bytes, 1 << 10), "KB");
    for (size, unit) in [(1 << 20, "MB"), (1 << 30, "GB")] {
        if label.0 >= 10240 {
            label = (tenths(bytes, size), unit);
        }
    }
    let (tenths, unit) = label;
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

fn tenths(bytes: u64, unit: u64) -> u64 {
    bytes / unit * 10 + (bytes % unit * 20 + unit) / (2 * unit)
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
            (1_048_575, "1.0 MB"),
            (1_048_576, "1.0 MB"),
            (1_310_720, "1.3 MB"),
            (1_073_689_395, "1023.9 MB"),
            (1_073_689_396, "1.0 GB"),
            (1 << 30, "1.0 GB"),
            (1_342_177_280, "1.3 GB"),
            (1 << 40, "1024.0 GB"),
            (u64::MAX, "17179869184.0 GB"),
        ] {
            assert_eq!(byte_label(bytes), label);
        }
    }
}
