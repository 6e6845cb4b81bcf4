//! `[secrets.NAME]`: who may use a secret, and where it may be sent. The values are in the environment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pawl_kernel::secrets::{Patterns, SecretScope, SecretScopes};
use serde::Deserialize;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SecretSection {
    /// Names of schemas; `schedule:ID` for scheduled actions.
    pub schemas: Option<Vec<String>>,
    /// `host`, or `host:port`.
    pub hosts: Option<Vec<String>>,
    pub connections: Option<Vec<String>>,
    /// For the auth of webhooks, never in expressions.
    pub webhook: bool,
}

impl SecretSection {
    fn check(&self, name: &str) -> Result<(), String> {
        let lists = [
            ("schemas", &self.schemas),
            ("hosts", &self.hosts),
            ("connections", &self.connections),
        ];
        for (list, entries) in lists {
            let entries = entries.iter().flatten();
            for entry in entries {
                let odd = |letter: char| letter.is_whitespace() || letter.is_control();
                if entry.is_empty() || entry.contains(odd) {
                    return Err(format!(
                        "secrets.{name}.{list}: \"{}\" is no name; `*` stands for any characters",
                        entry.escape_debug()
                    ));
                }
                if list == "hosts" && entry.contains(['/', '@']) {
                    return Err(format!(
                        "secrets.{name}.hosts: \"{entry}\" is no host; write api.example.com or api.example.com:8443"
                    ));
                }
            }
        }
        if self.webhook && (self.hosts.is_some() || self.connections.is_some()) {
            return Err(format!(
                "secrets.{name}: with webhook = true it is in no expression, so that `hosts` and `connections` mean nothing; \
                 leave them out"
            ));
        }
        Ok(())
    }

    fn scope(&self) -> SecretScope {
        let patterns = |list: &Option<Vec<String>>| list.clone().map(Patterns::new);
        let hosts = self.hosts.iter().flatten();
        SecretScope {
            schemas: patterns(&self.schemas),
            // Hosts are compared in lower case.
            hosts: self
                .hosts
                .is_some()
                .then(|| Patterns::new(hosts.map(|host| host.to_ascii_lowercase()))),
            connections: patterns(&self.connections),
            webhook: self.webhook,
        }
    }
}

/// Refuses what cannot be meant.
pub(super) fn check(sections: &BTreeMap<String, SecretSection>) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for (name, section) in sections {
        section.check(name)?;
        if !names.insert(name.to_lowercase()) {
            return Err(format!(
                "secrets.{name}: there are two sections for this secret; names are the same in upper and lower case"
            ));
        }
    }
    Ok(())
}

/// Names are in lower case, as `secrets.NAME` in expressions.
pub(super) fn scopes(sections: &BTreeMap<String, SecretSection>) -> SecretScopes {
    let all = sections.iter();
    all.map(|(name, section)| (name.to_lowercase(), Arc::new(section.scope())))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    fn read(text: &str) -> Result<Config, String> {
        let config: Config = toml::from_str(text).map_err(|error| error.to_string())?;
        config.check()?;
        Ok(config)
    }

    #[test]
    fn a_section_says_who_may_use_a_secret_and_where() {
        let text = "[secrets.STRIPE_KEY]\nschemas = [\"billing*\"]\nhosts = [\"API.example.com\"]\nconnections = []\n\
                    [secrets.hook]\nwebhook = true\n[secrets.free]";
        let scopes = read(text).unwrap().engine_options().secret_scopes;
        let stripe = &scopes["stripe_key"];
        assert!(stripe.admits_schema("billing-eu") && !stripe.admits_schema("payroll"));
        assert!(stripe.hosts.as_ref().unwrap().admit("api.example.com"));
        assert!(!stripe.connections.as_ref().unwrap().admit("shop"));
        assert!(scopes["hook"].webhook && scopes["hook"].hosts.is_none());
        assert!(scopes["free"].admits_schema("anything"));
    }

    #[test]
    fn a_section_that_cannot_be_meant_is_refused() {
        for (text, part) in [
            ("[secrets.a]\nhost = [\"x\"]", "unknown field `host`"),
            ("[secrets.a]\nhosts = \"x\"", "sequence"),
            ("[secrets.a]\nhosts = [\"https://x/y\"]", "is no host"),
            ("[secrets.a]\nschemas = [\"\"]", "secrets.a.schemas"),
            (
                "[secrets.a]\nconnections = [\"a b\"]",
                "secrets.a.connections",
            ),
            ("[secrets.a]\nwebhook = true\nhosts = []", "webhook = true"),
            ("[secrets.a]\n[secrets.A]", "two sections"),
        ] {
            let reason = read(text).unwrap_err();
            assert!(reason.contains(part), "{text}: {reason}");
        }
    }
}
