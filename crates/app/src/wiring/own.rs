//! Where database and broker listen: no request of a workflow may go there, whatever else is allowed.

use std::net::SocketAddr;

use pawl_rabbitmq::BrokerUrl;

use super::{Membership, WiringError};

#[derive(Debug, Default)]
pub(super) struct OwnPlaces {
    pub(super) addresses: Vec<SocketAddr>,
    /// Without an address yet. The process may start without its broker, so they may get one later.
    pub(super) names: Vec<(String, u16)>,
}

pub(super) async fn places_of(member: &Membership) -> Result<OwnPlaces, WiringError> {
    let mut names = pawl_postgres::places_of(&member.database_url);
    names.push(BrokerUrl::parse(&member.broker_url)?.host_and_port());
    let mut places = OwnPlaces::default();
    for (name, port) in names {
        let found = tokio::net::lookup_host((name.as_str(), port)).await;
        match found.map(Vec::from_iter) {
            Ok(found) => places.addresses.extend(found),
            Err(error) => {
                tracing::warn!(%error, name, "the name of the own database or broker has no address yet");
                places.names.push((name, port));
            }
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use pawl_engine::worker::Roles;

    use super::*;

    #[tokio::test]
    async fn names_become_addresses() {
        let member = Membership {
            database_url: "postgres://u:p@127.0.0.1:5433,[::1]:5434/d".into(),
            broker_url: "amqp://u:p@localhost/v".into(),
            roles: Roles::NONE,
            slots: None,
        };
        let all = places_of(&member).await.unwrap().addresses;
        for address in ["127.0.0.1:5433", "[::1]:5434", "127.0.0.1:5672"] {
            assert!(
                all.contains(&address.parse().unwrap()),
                "{address}: {all:?}"
            );
        }
        let socket = Membership {
            database_url: "postgres://u@%2Frun%2Fpostgresql/d".into(),
            broker_url: "amqp://127.0.0.1:5673".into(),
            ..member
        };
        let all = places_of(&socket).await.unwrap().addresses;
        assert_eq!(all, ["127.0.0.1:5673".parse().unwrap()]);
        let other = Membership {
            database_url: "postgres://u@db.invalid/d?hostaddr=127.0.0.9".into(),
            broker_url: "amqp://mq.invalid".into(),
            ..socket
        };
        let places = places_of(&other).await.unwrap();
        assert!(
            places
                .addresses
                .contains(&"127.0.0.9:5432".parse().unwrap()),
            "{places:?}"
        );
        assert_eq!(places.names, [("mq.invalid".to_owned(), 5672)]);
    }
}
