//! Where a broker is. Shows itself everywhere without the password.

use std::fmt;

use lapin::uri::{AMQPScheme, AMQPUri};

use crate::error::BrokerError;

/// Seconds. Two of them missed and the connection counts as dead; less than 5 gives false alarms.
const HEARTBEAT: u16 = 10;
/// lapin keeps two rings of 32 frames per connection. Ours are small, so small frames save megabytes.
const FRAME_BYTES: u32 = 32 * 1024;

/// An `amqp://` or `amqps://` URL that was understood.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokerUrl {
    uri: AMQPUri,
}

impl BrokerUrl {
    /// Reads `amqp://user:password@host:5672/vhost`; `?heartbeat=` and `?frame_max=` are obeyed.
    pub fn parse(url: &str) -> Result<Self, BrokerError> {
        let mut uri: AMQPUri = url
            .trim()
            .parse()
            .map_err(|reason: String| BrokerError::BadUrl(without_url(&reason, url)))?;
        // By the letter `host:5672/` names a vhost without a name; everybody who writes it means the default one.
        if uri.vhost.is_empty() {
            uri.vhost = "/".into();
        }
        check_length("vhost", &uri.vhost)?;
        check_length("user name", &uri.authority.userinfo.username)?;
        uri.query.heartbeat.get_or_insert(HEARTBEAT);
        uri.query.frame_max.get_or_insert(FRAME_BYTES);
        Ok(Self { uri })
    }

    pub(crate) fn uri(&self) -> &AMQPUri {
        &self.uri
    }

    pub(crate) fn user(&self) -> &str {
        &self.uri.authority.userinfo.username
    }

    pub(crate) fn vhost(&self) -> &str {
        &self.uri.vhost
    }
}

/// The protocol has one byte for the length of these, and its library panics over longer ones.
fn check_length(what: &str, text: &str) -> Result<(), BrokerError> {
    match text.len() {
        0..=255 => Ok(()),
        length => Err(BrokerError::BadUrl(format!(
            "its {what} has {length} bytes, and the protocol allows 255"
        ))),
    }
}

/// The parser quotes what it could not read, and that contains the password.
fn without_url(reason: &str, url: &str) -> String {
    if reason.contains(url.trim()) {
        return "it has no host".into();
    }
    reason.to_owned()
}

impl fmt::Display for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.uri.scheme {
            AMQPScheme::AMQP => "amqp",
            AMQPScheme::AMQPS => "amqps",
        };
        let authority = &self.uri.authority;
        write!(
            f,
            "{scheme}://{}:***@{}:{}/{}",
            authority.userinfo.username,
            authority.host,
            authority.port,
            self.uri.vhost.replace('/', "%2f")
        )
    }
}

impl fmt::Debug for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_never_shown() {
        let url = BrokerUrl::parse("amqp://pawl:s3cr3t@broker.example:5673/pro%2fd").unwrap();
        assert_eq!(
            format!("{url} {url:?}"),
            "amqp://pawl:***@broker.example:5673/pro%2fd amqp://pawl:***@broker.example:5673/pro%2fd"
        );
        for bad in [
            "amqp:pawl:s3cr3t",
            "http://pawl:s3cr3t@host",
            "pawl:s3cr3t@host:5672",
            "amqp://pawl:s3cr3t@host:notaport/",
            "amqp://pawl:s3cr3t@host?heartbeat=x",
        ] {
            let error = BrokerUrl::parse(bad).unwrap_err().to_string();
            assert!(!error.contains("s3cr3t"), "{error}");
            assert!(error.contains("amqp://user:password@host"), "{error}");
        }
    }

    #[test]
    fn what_the_protocol_has_no_room_for_is_refused() {
        let long = "v".repeat(256);
        for url in [
            format!("amqp://host/{long}"),
            format!("amqp://{long}:secret@host/"),
        ] {
            let error = BrokerUrl::parse(&url).unwrap_err().to_string();
            assert!(error.contains("256 bytes"), "{error}");
        }
    }

    #[test]
    fn a_bare_slash_is_the_default_vhost() {
        for url in ["amqp://host", "amqp://host/", "amqp://host/%2f"] {
            assert_eq!(BrokerUrl::parse(url).unwrap().vhost(), "/", "{url}");
        }
    }

    #[test]
    fn what_the_url_says_about_heartbeats_is_obeyed() {
        let heartbeat = |url: &str| BrokerUrl::parse(url).unwrap().uri().query.heartbeat;
        assert_eq!(heartbeat("amqp://host"), Some(HEARTBEAT));
        assert_eq!(heartbeat("amqp://host?heartbeat=30"), Some(30));
    }
}
