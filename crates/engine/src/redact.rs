//! Secret values never reach memory that is kept, disk or a reader: they are replaced by `***` before a
//! result enters the context, in plain form and in the encodings a service may echo them in.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::Value;

const MASK: &str = "***";

/// Shorter values would also hide innocent text.
const SHORTEST: usize = 4;

#[derive(Default)]
pub struct Redactor {
    /// Longest first, so that a secret that contains another is replaced whole.
    needles: Vec<String>,
}

impl Redactor {
    pub fn new<'a>(secrets: impl Iterator<Item = &'a String>) -> Self {
        let mut needles: Vec<String> = secrets
            .filter(|secret| secret.len() >= SHORTEST)
            .flat_map(|secret| spellings(secret))
            .collect();
        needles.sort_by_key(|needle| std::cmp::Reverse(needle.len()));
        needles.dedup();
        Self { needles }
    }

    pub fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// Would anything of it be replaced?
    pub fn hides(&self, text: &str) -> bool {
        self.needles
            .iter()
            .any(|needle| text.contains(needle.as_str()))
    }

    pub fn text(&self, text: &mut String) {
        for needle in &self.needles {
            if text.contains(needle.as_str()) {
                *text = text.replace(needle.as_str(), MASK);
            }
        }
    }

    pub fn value(&self, value: &mut Value) {
        if self.is_empty() {
            return;
        }
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => self.object(fields),
            Value::Number(number) => {
                let text = number.to_string();
                if self.needles.contains(&text) {
                    *value = Value::String(MASK.to_owned());
                }
            }
            _ => {}
        }
    }

    /// Also the names: they are as good a hiding place as any.
    pub fn object(&self, fields: &mut serde_json::Map<String, Value>) {
        let hidden = |key: &String| {
            self.needles
                .iter()
                .any(|needle| key.contains(needle.as_str()))
        };
        if fields.keys().any(hidden) {
            let old = std::mem::take(fields);
            for (mut key, value) in old {
                self.text(&mut key);
                fields.insert(key, value);
            }
        }
        fields.values_mut().for_each(|value| self.value(value));
    }
}

fn spellings(secret: &str) -> Vec<String> {
    let bytes = secret.as_bytes();
    let json = Value::String(secret.to_owned()).to_string();
    let percent = percent_encode(bytes);
    let mut all = vec![
        secret.to_owned(),
        bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        bytes.iter().map(|byte| format!("{byte:02X}")).collect(),
        percent.replace("%20", "+"),
        percent,
        json[1..json.len() - 1].to_owned(),
    ];
    all.extend((0..3).flat_map(|offset| base64_cores(bytes, offset)));
    all.retain(|spelling| spelling.len() >= SHORTEST);
    all.sort();
    all.dedup();
    all
}

/// The characters of base64 that depend on the secret alone when `offset` bytes (mod 3) stand before it, as in
/// `user:secret`: those at the edges mix with their neighbours and are left out.
fn base64_cores(bytes: &[u8], offset: usize) -> Vec<String> {
    let mut padded = vec![0; offset];
    padded.extend_from_slice(bytes);
    let start = [0, 2, 3][offset];
    let ragged = usize::from(!padded.len().is_multiple_of(3));
    [
        STANDARD_NO_PAD.encode(&padded),
        URL_SAFE_NO_PAD.encode(&padded),
    ]
    .into_iter()
    .filter_map(|text| text.get(start..text.len() - ragged).map(str::to_owned))
    .collect()
}

fn percent_encode(bytes: &[u8]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    bytes
        .iter()
        .map(|&b| {
            if plain(b) {
                (b as char).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_vanish_in_every_spelling() {
        let secret = "s3cr\"t key/42".to_owned();
        let redactor = Redactor::new([&secret].into_iter());
        let mut value = json!({
            "plain": format!("Bearer {secret}"),
            "base64": STANDARD_NO_PAD.encode(&secret),
            "url": "q=s3cr%22t%20key%2F42",
            (secret.as_str()): [secret, 1, null],
        });
        redactor.value(&mut value);
        let text = value.to_string();
        assert!(!text.contains("s3cr"), "{text}");
        assert!(!text.contains(&STANDARD_NO_PAD.encode(&secret)));
    }

    #[test]
    fn secrets_vanish_behind_other_text_in_base64_and_as_numbers() {
        let secrets = ["correct horse battery".to_owned(), "8675309".to_owned()];
        let redactor = Redactor::new(secrets.iter());
        for before in ["", "u:", "us:", "user:"] {
            let basic = STANDARD_NO_PAD.encode(format!("{before}{}@x", secrets[0]));
            let mut value = json!({"authorization": format!("Basic {basic}"), "pin": 8_675_309});
            redactor.value(&mut value);
            let text = value.to_string();
            assert!(
                text.contains(MASK) && !text.contains(&basic[8..20]),
                "{before}: {text}"
            );
            assert_eq!(value["pin"], MASK);
        }
    }
}
