//! `[server]`: what one client may cost.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde::Deserialize;

use super::DurationText;
use crate::api::Limits;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSection {
    /// Connections at once; eight more are kept for `/health/*` and `/metrics`.
    pub connections: Option<usize>,
    /// Of these, from one address; 0 is no limit, for a server behind a proxy.
    pub connections_per_peer: Option<usize>,
    /// The head of a request must have arrived by then; an idle connection is closed after this time too.
    pub header_timeout: Option<DurationText>,
    /// A client that takes nothing of its answer for so long is hung up on.
    pub write_timeout: Option<DurationText>,
}

impl ServerSection {
    /// What would shut all clients out, or let everything in.
    pub(super) fn rules(&self) -> [(&'static str, bool); 4] {
        let within = |count: Option<usize>, range: RangeInclusive<usize>| {
            count.is_none_or(|count| range.contains(&count))
        };
        let lasts = |text: Option<DurationText>| {
            text.is_none_or(|text| {
                (Duration::from_secs(1)..=Duration::from_secs(600)).contains(&text.0)
            })
        };
        [
            (
                "server.connections must be between 1 and 1000000",
                within(self.connections, 1..=1_000_000),
            ),
            (
                "server.connections_per_peer must be between 0 (no limit) and 1000000",
                within(self.connections_per_peer, 0..=1_000_000),
            ),
            (
                "server.header_timeout must be between 1s and 10m",
                lasts(self.header_timeout),
            ),
            (
                "server.write_timeout must be between 1s and 10m",
                lasts(self.write_timeout),
            ),
        ]
    }

    pub(crate) fn apply(&self, limits: Limits) -> Limits {
        let time = |text: Option<DurationText>, usual| text.map_or(usual, |text| text.0);
        Limits {
            connections: self.connections.unwrap_or(limits.connections),
            connections_per_peer: self
                .connections_per_peer
                .unwrap_or(limits.connections_per_peer),
            header_time: time(self.header_timeout, limits.header_time),
            write_time: time(self.write_timeout, limits.write_time),
            ..limits
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::Config;

    fn read(text: &str) -> Config {
        toml::from_str(&format!("[server]\n{text}")).unwrap()
    }

    #[test]
    fn what_one_client_may_cost_can_be_set() {
        let usual = Limits::from(&Config::default());
        assert_eq!(
            (usual.connections, usual.connections_per_peer),
            (1_000, 200)
        );
        let seconds = |count| Duration::from_secs(count);
        assert_eq!(
            (usual.header_time, usual.write_time),
            (seconds(10), seconds(30))
        );
        let set = read(
            "connections = 50\nconnections_per_peer = 0\nheader_timeout = \"3s\"\nwrite_timeout = \"1m\"",
        );
        set.check().unwrap();
        let set = Limits::from(&set);
        assert_eq!((set.connections, set.connections_per_peer), (50, 0));
        assert_eq!((set.header_time, set.write_time), (seconds(3), seconds(60)));
    }

    #[test]
    fn settings_that_shut_all_clients_out_are_refused() {
        for wrong in [
            "connections = 0",
            "connections = 9999999",
            "connections_per_peer = 9999999",
            "header_timeout = \"0s\"",
            "header_timeout = \"1h\"",
            "write_timeout = \"10ms\"",
            "write_timeout = \"1d\"",
        ] {
            let name = format!("server.{} ", wrong.split(' ').next().unwrap());
            let reason = read(wrong).check().unwrap_err();
            assert!(reason.starts_with(&name), "{wrong}: {reason}");
        }
        assert!(toml::from_str::<Config>("[server]\nconnectionz = 3").is_err());
    }
}
