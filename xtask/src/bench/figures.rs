//! Figures: samples as medians with their spread, and tables of them, which are
//! Markdown so that they can be put in a README as they are.

/// How samples lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub least: f64,
    pub lower: f64,
    pub median: f64,
    pub upper: f64,
}

impl Spread {
    /// The spread of some samples; none of none.
    pub fn of(samples: &[f64]) -> Option<Spread> {
        let [least, lower, median, upper] = quantiles(samples, [0.0, 0.25, 0.5, 0.75])?;
        Some(Spread { least, lower, median, upper })
    }

    /// The spread of one side over another, sample by sample: what slows the
    /// machine for a while slows both sides of a round.
    pub fn of_ratios(over: &[f64], under: &[f64]) -> Option<Spread> {
        Spread::of(&over.iter().zip(under).map(|(over, under)| over / under).collect::<Vec<_>>())
    }

    /// `median (least; lower–upper)`
    pub fn times(&self) -> String {
        let Spread { least, lower, median, upper } = self;
        format!("{} ({}; {}–{})", short(*median), short(*least), short(*lower), short(*upper))
    }

    /// `median (lower–upper)`
    pub fn ratio(&self) -> String {
        format!("{} ({}–{})", short(self.median), short(self.lower), short(self.upper))
    }
}

/// The samples below which these parts of all lie, between two where none stands at the place; none of none.
pub fn quantiles<const N: usize>(samples: &[f64], parts: [f64; N]) -> Option<[f64; N]> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some(parts.map(|part| {
        let place = part * last as f64;
        let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        below + (above - below) * place.fract()
    }))
}

/// A figure with three digits, as far as that makes sense.
pub fn short(value: f64) -> String {
    if value >= 9999.5 {
        return whole(value.round() as u64);
    }
    let decimals = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.decimals$}")
}

/// A whole number with commas.
pub fn whole(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A Markdown table whose first column is text and the others figures.
pub fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let length = |text: &str| text.chars().count();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].as_str()).chain([head[column]]);
        cells.map(length).max().unwrap_or(0)
    };
    let line = |cells: &[String; N]| {
        let cells = cells.iter().enumerate().map(|(column, cell)| {
            let pad = " ".repeat(width(column) - length(cell));
            if column == 0 { format!("{cell}{pad}") } else { format!("{pad}{cell}") }
        });
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let rule = (0..N).map(|column| match column {
        0 => "-".repeat(width(column) + 2),
        _ => format!("{}:", "-".repeat(width(column) + 1)),
    });
    let rule = format!("|{}|\n", rule.collect::<Vec<_>>().join("|"));
    let body = rows.iter().map(line).collect::<String>();
    format!("{}{rule}{body}", line(&head.map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_samples() {
        let spread = Spread::of(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(spread, Spread { least: 1.0, lower: 1.75, median: 2.5, upper: 3.25 });
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let spread = Spread::of_ratios(&[10.0, 20.0], &[5.0, 10.0]).unwrap();
        assert_eq!((spread.least, spread.median, spread.upper), (2.0, 2.0, 2.0));
    }

    #[test]
    fn figures_have_three_digits() {
        assert_eq!([1.2345, 9.996, 12.34, 99.96, 1234.5].map(short), ["1.23", "10.0", "12.3", "100", "1234"]);
        assert_eq!([9_999.4, 9_999.5, 3_055_802.4].map(short), ["9999", "10,000", "3,055,802"]);
        assert_eq!([7, 1234, 1_234_567].map(whole), ["7", "1,234", "1,234,567"]);
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a".into(), "1".into()], ["long".into(), "×22".into()]];
        assert_eq!(
            table(["", "×"], &rows),
            "\
|      |   × |
|------|----:|
| a    |   1 |
| long | ×22 |
"
        );
    }
}
