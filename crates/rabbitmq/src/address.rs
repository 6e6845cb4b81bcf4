//! Where a broker is. Shows itself everywhere without the password.

use std::fmt;

use lapin::uri::{AMQPScheme, AMQPUri};

use crate::error::BrokerError;

/// Seconds. Two of them missed and the connection counts as dead; less than 5 gives false alarms.
const HEARTBEAT: u16 = 10;
/// lapin keeps two rings of 32 frames per connection. Ours are small, so small frames save megabytes.
const FRAME_BYTES: u32 = 32 * 1024;

/// One machine under several names.
const LOOPBACK: [&str; 4] = ["localhost", "127.0.0.1", "::1", "[::1]"];

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
        // By the letter `host:5672/` names a vhost without a name; users who write it mean the default one.
        if uri.vhost.is_empty() {
            uri.vhost = "/".into();
        }
        check_length("vhost", &uri.vhost)?;
        check_length("user name", &uri.authority.userinfo.username)?;
        uri.query.heartbeat.get_or_insert(HEARTBEAT);
        uri.query.frame_max.get_or_insert(FRAME_BYTES);
        Ok(Self { uri })
    }

    /// Do both lead to the same vhost of the same broker, as far as the addresses show it? Users and passwords do not
    /// matter, nor which of the two usual ports is used.
    pub fn same_place(&self, other: &Self) -> bool {
        self.place() == other.place()
    }

    fn place(&self) -> (String, Option<u16>, &str) {
        let authority = &self.uri.authority;
        let usual = self.uri.scheme.default_port();
        let host = match authority.host.to_ascii_lowercase() {
            host if LOOPBACK.contains(&host.as_str()) => "localhost".to_owned(),
            host => host,
        };
        let port = Some(authority.port).filter(|port| *port != usual);
        (host, port, &self.uri.vhost)
    }

    /// Name and port of the broker.
    pub fn host_and_port(&self) -> (String, u16) {
        let authority = &self.uri.authority;
        (authority.host.clone(), authority.port)
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
    fn the_same_place_has_many_addresses() {
        let same = |one: &str, other: &str| {
            let (one, other) = (BrokerUrl::parse(one), BrokerUrl::parse(other));
            one.unwrap().same_place(&other.unwrap())
        };
        for (one, other) in [
            ("amqp://a:b@mq/v", "amqp://c:d@MQ:5672/v?heartbeat=30"),
            ("amqp://mq", "amqps://mq:5671/%2f"),
            ("amqp://localhost:7000/v", "amqp://127.0.0.1:7000/v"),
        ] {
            assert!(same(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("amqp://mq/v", "amqp://mq/w"),
            ("amqp://mq/v", "amqp://mq2/v"),
            ("amqp://mq/v", "amqp://mq:5673/v"),
        ] {
            assert!(!same(one, other), "{one} {other}");
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
