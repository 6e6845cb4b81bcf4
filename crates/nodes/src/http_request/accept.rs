//! The statuses a caller takes for an answer: `404`, `"4xx"`, `"400-499"`.

use std::ops::RangeInclusive;

use serde_json::Value;

pub(super) type Accepted = Vec<RangeInclusive<u16>>;

pub(super) fn read(entries: &[Value]) -> Result<Accepted, String> {
    entries
        .iter()
        .map(|entry| {
            let text = entry
                .as_str()
                .map_or_else(|| entry.to_string(), |text| text.trim().to_owned());
            range(&text).ok_or_else(|| format!("`{text}` is no status; write 404, 4xx or 400-499"))
        })
        .collect()
}

fn range(text: &str) -> Option<RangeInclusive<u16>> {
    if let Some(class) = text.strip_suffix("xx").or_else(|| text.strip_suffix("XX")) {
        let class: u16 = class.parse().ok().filter(|class| (1..=5).contains(class))?;
        return Some(class * 100..=class * 100 + 99);
    }
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let (from, to) = (status(from)?, status(to)?);
    (from <= to).then_some(from..=to)
}

fn status(text: &str) -> Option<u16> {
    text.trim()
        .parse()
        .ok()
        .filter(|status| (100..=599).contains(status))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::read;

    #[test]
    fn statuses_in_every_spelling() {
        let accepted = read(&[json!(404), json!("5xx"), json!("410 - 412"), json!("409")]).unwrap();
        assert_eq!(accepted, [404..=404, 500..=599, 410..=412, 409..=409]);
    }

    #[test]
    fn nonsense_is_refused() {
        for entry in [
            json!(99),
            json!(600),
            json!(404.5),
            json!("xx"),
            json!("9xx"),
            json!("499-400"),
            json!(""),
            json!("4x"),
            Value::Null,
            json!([]),
            json!("-1"),
        ] {
            assert!(read(std::slice::from_ref(&entry)).is_err(), "{entry}");
        }
    }
}
