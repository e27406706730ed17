//! What something costs, as people write it.

/// Reads a price and its currency, which is empty where none is written: `300USD`, `300 EUR`,
/// `$300`, `300`.
///
/// # Errors
/// A sentence with an example, when `text` is no number with a currency.
pub fn parse_price(text: &str) -> Result<(f64, &str), String> {
    let bare = text.trim();
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let currency = bare.trim_start_matches(is_digit).trim_end_matches(is_digit).trim();
    let digits = bare.strip_suffix(currency).or(bare.strip_prefix(currency)).unwrap_or(bare).trim();
    let plain = digits.chars().all(is_digit);
    let number = digits.parse::<f64>().ok().filter(|number| plain && number.is_finite());
    let fits = currency.chars().count() <= 8 && !currency.contains(is_digit);
    let sane = !currency.contains(['-', '+', ',']) && fits && !currency.contains(char::is_control);
    number.filter(|_| sane).map(|number| (number, currency)).ok_or_else(|| {
        // A decimal comma, which is a point here.
        let written = text.replacen(',', ".", 1);
        match text.matches(',').count() == 1 && parse_price(&written).is_ok() {
            true => format!("`{text}` is no price; write {}, with a point", written.trim()),
            false => format!("`{text}` is no number with a currency, such as 300USD"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `disk = "300USD"` was refused in a plan, and `--disk-price 300USD` taken.
    #[test]
    fn prices_have_their_currency_on_either_side_or_none() {
        assert_eq!(parse_price("300USD"), Ok((300.0, "USD")));
        assert_eq!(parse_price(" 300.5 EUR "), Ok((300.5, "EUR")));
        assert_eq!(parse_price("$300"), Ok((300.0, "$")));
        assert_eq!(parse_price("310.0"), Ok((310.0, "")));
        for wrong in
            ["cheap", "-3USD", "3U4", "", "inf", "1e3", "3 dollars and cents", "3\u{1b}[2J"]
        {
            assert!(parse_price(wrong).unwrap_err().contains("300USD"), "{wrong}");
        }
        assert!(parse_price("1,5USD").unwrap_err().contains("write 1.5USD, with a point"));
        assert!(parse_price("1,500,000").unwrap_err().contains("300USD"));
    }
}
