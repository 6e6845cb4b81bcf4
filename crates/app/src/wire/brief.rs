//! The beginning of an error, for lists.

use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::json;

use super::Payload;

/// Characters of its message.
const MESSAGE_MAX: usize = 200;

/// Code and message of an error, whose text may end anywhere.
pub(super) fn brief_error<'a>(text: &str) -> Payload<'a> {
    let found = BriefError::read(text);
    let message = found.message;
    let mut brief = beginning(&message).to_owned();
    if brief.len() < message.len() {
        brief.push('…');
    }
    Payload::Value(json!({"code": found.code, "message": brief}))
}

/// The beginning of the message of such an error.
pub(super) fn brief_message(text: &str) -> String {
    let message = BriefError::read(text).message;
    beginning(&message).to_owned()
}

fn beginning(message: &str) -> &str {
    let end = message.char_indices().nth(MESSAGE_MAX);
    &message[..end.map_or(message.len(), |(end, _)| end)]
}

#[derive(Default)]
struct BriefError {
    code: String,
    message: String,
}

impl BriefError {
    fn read(text: &str) -> Self {
        let mut found = Self::default();
        let mut reader = serde_json::Deserializer::from_str(text);
        // The text may be cut off: what was read until then is what there is.
        let _ = found.deserialize(&mut reader);
        found
    }
}

impl<'de> DeserializeSeed<'de> for &mut BriefError {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut BriefError {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an error")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            match &*name {
                "code" => self.code = map.next_value()?,
                "message" => self.message = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, code: &str, message: &str) {
        let expected = json!({"code": code, "message": message});
        assert_eq!(*brief_error(text).value(), expected, "{text}");
    }

    #[test]
    fn an_error_is_told_in_brief_wherever_its_text_ends() {
        let whole = r#"{"code":"HTTP_STATUS","message":"it said 500","details":{"body":"long"}}"#;
        check(whole, "HTTP_STATUS", "it said 500");
        check(&whole[..60], "HTTP_STATUS", "it said 500");
        check(&whole[..26], "HTTP_STATUS", "");
        check(&whole[..20], "", "");
        check("not JSON", "", "");
        let long = json!({"code": "X", "message": "ж".repeat(300)}).to_string();
        check(&long, "X", &format!("{}…", "ж".repeat(200)));
    }
}
