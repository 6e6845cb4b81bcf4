//! What kind of thing each connection leads to, for editors: the address itself is never shown.

use std::collections::BTreeMap;

use super::ConnectionSection;

const KINDS: &[(&str, &str)] = &[
    ("postgres:", "postgres"),
    ("postgresql:", "postgres"),
    ("sqlite:", "sqlite"),
    ("amqp:", "rabbitmq"),
    ("amqps:", "rabbitmq"),
];

pub(super) fn of(
    connections: &BTreeMap<String, ConnectionSection>,
) -> BTreeMap<String, &'static str> {
    let all = connections.iter();
    all.map(|(name, connection)| (name.clone(), kind(&connection.url)))
        .collect()
}

fn kind(url: &str) -> &'static str {
    let known = KINDS.iter().find(|(scheme, _)| url.starts_with(scheme));
    known.map_or("unknown", |(_, kind)| kind)
}
