//! Timestamps of entries: what JavaScript's `Date` writes (`2026-11-30T19:15:45.620Z`), as milliseconds since 1970.

use crate::json::Value;

/// The timestamp as a JSON number of milliseconds: that of an ISO text, or a number as it stands. `null` where it is
/// no time, which is what JSON makes of an invalid date.
pub(super) fn millis(timestamp: Value<'_>) -> String {
    let number = match timestamp.str() {
        Some(text) => iso_millis(&text.text()).map(|millis| millis.to_string()),
        None => timestamp.number().map(str::to_owned),
    };
    number.unwrap_or_else(|| "null".to_owned())
}

/// Milliseconds of `YYYY-MM-DDTHH:MM:SS`, with a fraction or without, and `Z` or an offset such as `+02:00`.
fn iso_millis(text: &str) -> Option<i64> {
    let field = |from: usize, len: usize, before: &str, range: std::ops::RangeInclusive<i64>| {
        let digits = text.get(from - before.len()..from + len)?.strip_prefix(before)?;
        let value = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<i64>().ok())??;
        range.contains(&value).then_some(value)
    };
    let (year, month, day) = (field(0, 4, "", 0..=9999)?, field(5, 2, "-", 1..=12)?, field(8, 2, "-", 1..=31)?);
    let (hour, minute) = (field(11, 2, "T", 0..=23)?, field(14, 2, ":", 0..=59)?);
    let second = field(17, 2, ":", 0..=59)?;
    let (mut rest, mut fraction) = (text.get(19..)?, 0);
    if let Some(digits) = rest.strip_prefix('.') {
        let len = digits.bytes().take_while(u8::is_ascii_digit).count();
        let thousandths = digits.bytes().take(len).chain(std::iter::repeat(b'0')).take(3);
        fraction = thousandths.fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
        rest = digits.get(len..).filter(|_| len > 0)?;
    }
    let offset = match rest.as_bytes() {
        b"Z" => 0,
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let at = text.len() - 5;
            let minutes = field(at, 2, "", 0..=23)? * 60 + field(at + 3, 2, ":", 0..=59)?;
            if *sign == b'+' { minutes } else { -minutes }
        }
        _ => return None,
    };
    Some((((days(year, month, day) * 24 + hour) * 60 + minute - offset) * 60 + second) * 1000 + fraction)
}

/// Days since 1970-01-01. Years are counted from March, so that a leap day is the last of its year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Tape;

    fn check(timestamp: &str, expected: &str) {
        let mut tape = Tape::default();
        assert_eq!(millis(tape.read(timestamp).unwrap().root()), expected, "{timestamp}");
    }

    #[test]
    fn what_date_writes_is_read_to_the_millisecond() {
        check(r#""2026-11-30T19:15:45.620Z""#, "1796066145620");
        check(r#""1970-01-01T00:00:00.000Z""#, "0");
        check(r#""1969-12-31T23:59:59.999Z""#, "-1");
        check(r#""2024-02-29T12:00:00Z""#, "1709208000000");
        check(r#""2000-03-01T00:00:00.5+01:30""#, "951863400500");
        check("1796066145620", "1796066145620");
    }

    #[test]
    fn what_is_no_time_is_null() {
        for wrong in
            [r#""yesterday""#, r#""""#, r#""2026-13-01T00:00:00Z""#, r#""2026-01-01T00:00:00.Z""#, "{}", r#""é""#]
        {
            check(wrong, "null");
        }
        check(r#""2026-01-01T00:00:00""#, "null");
        check(r#""2026-01-01T00:00:00+é:00""#, "null");
    }
}
