//! `[ui]`: how browsers reach this server.

use serde::Deserialize;
use url::Url;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UiSection {
    /// What the world calls this server, if a proxy stands before it: `https://pawl.example.com`.
    pub public_url: Option<PublicUrl>,
    /// Sessions may go over plain http on other names than those of this machine.
    pub allow_http: bool,
}

/// Scheme, host and port, as browsers write an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(String);

impl PublicUrl {
    fn read(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "ui.public_url: `{text}` must be http:// or https://, a host, and a port if there is one, without a path"
            )
        };
        let url = Url::parse(text).map_err(|_| wrong())?;
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        match is_web && is_bare && is_anonymous {
            true => Ok(Self(url.origin().ascii_serialization())),
            false => Err(wrong()),
        }
    }

    pub(crate) fn origin(&self) -> &str {
        &self.0
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.0.starts_with("https://")
    }
}

impl<'de> Deserialize<'de> for PublicUrl {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::read(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_address_is_an_origin() {
        for (text, origin) in [
            ("https://pawl.example.com", "https://pawl.example.com"),
            ("https://Pawl.Example.com:443/", "https://pawl.example.com"),
            ("http://10.0.0.7:8080", "http://10.0.0.7:8080"),
        ] {
            assert_eq!(PublicUrl::read(text).unwrap().origin(), origin);
        }
        for wrong in [
            "",
            "pawl.example.com",
            "ftp://pawl.example.com",
            "https://pawl.example.com/pawl",
            "https://pawl.example.com?x",
            "https://me@pawl.example.com",
        ] {
            let reason = PublicUrl::read(wrong).unwrap_err();
            assert!(reason.contains("ui.public_url"), "{reason}");
        }
    }
}
