//! Who an execution belongs to, as `user` in expressions: `id`, `name`, and `email` where there is an address. One without
//! an address has no `email` at all: a schema that needs it fails with the name of the path, and sends no `null`.

use serde_json::{Map, Value};

/// Local part, `@` and domain: the most that mail takes.
const EMAIL_MAX: usize = 254;
const LOCAL_MAX: usize = 64;
const LABEL_MAX: usize = 63;

/// A person or program that writes what starts executions later: a version of a schema, a scheduled action.
#[derive(Clone, Debug, PartialEq)]
pub struct Writer {
    /// As in `created_by`.
    pub name: String,
    /// `user` of what is started without a caller. The engine, which writes the actions of cron triggers, has none.
    pub user: Option<Value>,
}

impl Writer {
    pub fn with_user(name: impl Into<String>, user: Value) -> Self {
        Self {
            name: name.into(),
            user: Some(user),
        }
    }

    /// The column `owner` of a version.
    pub fn user_to_stored(&self) -> Option<String> {
        self.user.as_ref().map(Value::to_string)
    }
}

pub fn from_stored(text: Option<String>) -> Result<Option<Value>, String> {
    let read = |text: String| serde_json::from_str(&text);
    let user = text.map(read).transpose();
    user.map_err(|error| format!("the user who saved a version is no JSON: {error}"))
}

impl From<&str> for Writer {
    fn from(name: &str) -> Self {
        Self::from(name.to_owned())
    }
}

impl From<String> for Writer {
    fn from(name: String) -> Self {
        Self { name, user: None }
    }
}

pub fn user(id: impl Into<Value>, name: &str, email: Option<&str>) -> Value {
    let mut fields = Map::new();
    fields.insert("id".into(), id.into());
    fields.insert("name".into(), name.into());
    if let Some(email) = email {
        fields.insert("email".into(), email.into());
    }
    Value::Object(fields)
}

/// Every caller of `pawl dev`, and of `pawl run`.
pub fn developer() -> Value {
    user(1, "dev", Some("dev@localhost"))
}

/// Of a version that was saved before its user was stored with it.
pub fn unrecorded(created_by: &str) -> Value {
    match created_by {
        "dev" => developer(),
        _ => user(0, "system", None),
    }
}

/// Whether this could be the address of a mailbox; what is wrong if it could not.
pub fn check_email(text: &str) -> Result<(), &'static str> {
    if text.len() > EMAIL_MAX {
        return Err("it has more than 254 bytes");
    }
    let Some((local, domain)) = text.rsplit_once('@') else {
        return Err("it has no `@`; write it like name@example.com");
    };
    let is_atom = |c: char| c.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c);
    let is_local = |part: &str| !part.is_empty() && part.chars().all(is_atom);
    if local.len() > LOCAL_MAX || !local.split('.').all(is_local) {
        return Err(
            "what stands before the `@` is no name of a mailbox; write it like name@example.com",
        );
    }
    let is_label = |label: &str| {
        let letters = label.chars().all(|c| c.is_alphanumeric() || c == '-');
        let edges = !label.starts_with('-') && !label.ends_with('-');
        !label.is_empty() && label.len() <= LABEL_MAX && letters && edges
    };
    match domain.split('.').all(is_label) {
        true => Ok(()),
        false => Err("what stands after the `@` is no domain; write it like name@example.com"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_user_without_an_address_has_no_field_for_one() {
        assert_eq!(user("k1", "ci", None), json!({"id": "k1", "name": "ci"}));
        assert_eq!(
            user("k1", "ci", Some("ci@example.com")),
            json!({"id": "k1", "name": "ci", "email": "ci@example.com"})
        );
    }

    #[test]
    fn versions_saved_before_users_were_stored_have_one_all_the_same() {
        assert_eq!(unrecorded("dev"), developer());
        for saved_by in ["key:ci", "", "user:1"] {
            assert_eq!(unrecorded(saved_by), json!({"id": 0, "name": "system"}));
        }
    }

    #[test]
    fn addresses_are_plausible() {
        let long = format!("{}@example.com", "a".repeat(64));
        for good in [
            "a@b",
            "dev@localhost",
            "first.last+tag@mail.example.com",
            "o'neil@example.co.uk",
            "jürgen@müller.example",
            "a@1.2.3.4",
            &long,
        ] {
            assert_eq!(check_email(good), Ok(()), "{good}");
        }
        let long = format!("{}@example.com", "a".repeat(65));
        let longer = format!("a@{}", "b.".repeat(130));
        for bad in [
            "",
            "@",
            "a",
            "a@",
            "@b",
            "a b@c",
            "a@b c",
            "a@@b",
            "a@b@c",
            ".a@b",
            "a.@b",
            "a..b@c",
            "a@.b",
            "a@b.",
            "a@b..c",
            "a@-b",
            "a@b-",
            "a\n@b",
            "a@b\0",
            "<a@b>",
            "A <a@b>",
            "a@b,c@d",
            "a@b/c",
            "a@b?c=d",
            "a@\u{202e}b",
            "\"a b\"@c",
            &long,
            &longer,
        ] {
            assert!(check_email(bad).is_err(), "{bad:?}");
        }
    }
}
