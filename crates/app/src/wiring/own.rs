//! Where database and broker listen: no request of a workflow may go there, whatever else is allowed.

use std::net::SocketAddr;

use pawl_rabbitmq::BrokerUrl;

use super::{Membership, WiringError};

/// The addresses behind the names, as they are now.
pub(super) async fn places_of(member: &Membership) -> Result<Vec<SocketAddr>, WiringError> {
    let mut names = pawl_postgres::places_of(&member.database_url);
    names.push(BrokerUrl::parse(&member.broker_url)?.host_and_port());
    let mut all = Vec::new();
    for (name, port) in names {
        match tokio::net::lookup_host((name.as_str(), port)).await {
            Ok(found) => all.extend(found),
            // What has no address cannot be connected to; opening it says so louder.
            Err(error) => {
                tracing::warn!(%error, name, "a name of the own database or broker leads nowhere")
            }
        }
    }
    Ok(all)
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
        let all = places_of(&member).await.unwrap();
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
        let all = places_of(&socket).await.unwrap();
        assert_eq!(all, ["127.0.0.1:5673".parse().unwrap()]);
    }
}
