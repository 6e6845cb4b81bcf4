//! What a quota is called.

use std::fmt;
use std::str::FromStr;

/// What a quota counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QuotaKind {
    /// Executions of one schema.
    Schema,
    /// Executions with one tenant label.
    Tenant,
    /// Executions of one schema with one value of its concurrency key.
    Key,
}

impl QuotaKind {
    pub const ALL: &'static [Self] = &[Self::Schema, Self::Tenant, Self::Key];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Tenant => "tenant",
            Self::Key => "key",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

/// A quota's name, written `schema:order-check`, `tenant:acme` or `key:order-check/ACME`. Names are in the order of
/// that text: the order in which rows are locked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuotaName(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    #[error("a quota's name cannot be empty")]
    Empty,
    #[error("a quota's name has at most {NAME_BYTES_MAX} bytes, this one has {0}")]
    TooLong(usize),
    #[error("a quota's name cannot contain control characters")]
    ControlCharacter,
    #[error("`{0}` is no kind of quota; there are schema, tenant and key")]
    UnknownKind(String),
    #[error("the name of a key quota is the schema's name, a slash and the key's value, not `{0}`")]
    KeyWithoutSchema(String),
}

/// Longest name without its kind.
pub const NAME_BYTES_MAX: usize = 256;

impl QuotaName {
    pub fn new(kind: QuotaKind, name: &str) -> Result<Self, BadName> {
        if name.is_empty() {
            return Err(BadName::Empty);
        }
        if name.len() > NAME_BYTES_MAX {
            return Err(BadName::TooLong(name.len()));
        }
        if name.chars().any(char::is_control) {
            return Err(BadName::ControlCharacter);
        }
        let is_pair = |name: &str| matches!(name.split_once('/'), Some((schema, value)) if !schema.is_empty() && !value.is_empty());
        if kind == QuotaKind::Key && !is_pair(name) {
            return Err(BadName::KeyWithoutSchema(name.to_owned()));
        }
        Ok(Self(format!("{}:{name}", kind.name())))
    }

    /// The quota of one value of a schema's concurrency key.
    pub fn of_key(schema: &str, value: &str) -> Result<Self, BadName> {
        if value.is_empty() {
            return Err(BadName::Empty);
        }
        Self::new(QuotaKind::Key, &format!("{schema}/{value}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn kind(&self) -> QuotaKind {
        let kind = self.0.split_once(':').map_or("", |(kind, _)| kind);
        // Every way to make a name checks the kind.
        QuotaKind::from_name(kind).unwrap_or(QuotaKind::Key)
    }

    /// The name without its kind.
    pub fn name(&self) -> &str {
        self.0.split_once(':').map_or("", |(_, name)| name)
    }
}

impl fmt::Display for QuotaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for QuotaName {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let unknown = || BadName::UnknownKind(text.to_owned());
        let (kind, name) = text.split_once(':').ok_or_else(unknown)?;
        let kind = QuotaKind::from_name(kind).ok_or_else(unknown)?;
        Self::new(kind, name)
    }
}
