//! Which secrets a workflow may use, and where it may send them: `[secrets.NAME]` in the configuration.
//!
//! Only those that an expression names are given to it, so that what a node carries is known before it sends anything. A
//! list that is left out allows everything; a secret without a section is as free as it can be.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::expr::{Reference, Segment};
use crate::node::NodeError;
use crate::redact::Redactor;

const ROOT: &str = "secrets";
const CODE: &str = "SECRET_NOT_ALLOWED";

/// Names, each of which may hold `*` for any characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns(Vec<String>);

impl Patterns {
    pub fn new(patterns: impl IntoIterator<Item = String>) -> Self {
        Self(patterns.into_iter().collect())
    }

    pub fn admit(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| fits(pattern, name))
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// `*` stands for any characters, also none. In time in proportion to both texts multiplied.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// What the configuration says of one secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretScope {
    /// Names of schemas; `schedule:ID` is a scheduled action.
    pub schemas: Option<Patterns>,
    /// `host` or `host:port`, in lower case.
    pub hosts: Option<Patterns>,
    /// Names of connections.
    pub connections: Option<Patterns>,
    /// For the auth of webhooks alone.
    pub webhook: bool,
}

impl SecretScope {
    pub fn admits_schema(&self, name: &str) -> bool {
        self.schemas.as_ref().is_none_or(|all| all.admit(name))
    }

    /// May it go to some places only?
    fn is_bound(&self) -> bool {
        self.hosts.is_some() || self.connections.is_some()
    }
}

/// By the secret's name.
pub type SecretScopes = BTreeMap<String, Arc<SecretScope>>;

/// What the texts of a node or an action read of `secrets`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretReads {
    reads: bool,
    names: BTreeSet<String>,
}

impl SecretReads {
    pub(crate) fn add(&mut self, reference: &Reference) {
        let mut path = reference.path.iter();
        if !matches!(path.next(), Some(Segment::Key(root)) if root == ROOT) {
            return;
        }
        self.reads = true;
        if let Some(Segment::Key(name)) = path.next() {
            self.names.insert(name.clone());
        }
    }

    pub fn is_empty(&self) -> bool {
        !self.reads
    }
}

/// Where secrets are read.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    /// The name of a schema, or `schedule:ID`.
    pub name: &'a str,
    /// Does it ask [`CarriedSecrets`] before it sends anything?
    pub guards: bool,
}

/// What `secrets` holds for this reader: all that are free, and of the others those that it names and may have.
pub fn resolve(
    values: &BTreeMap<String, String>,
    scopes: &SecretScopes,
    reads: &SecretReads,
    reader: Reader<'_>,
) -> Result<(Map<String, Value>, CarriedSecrets), NodeError> {
    let mut carried = CarriedSecrets::default();
    for name in &reads.names {
        if let Some(scope) = scopes.get(name) {
            check_reader(name, scope, reader)?;
            carried.scopes.push((name.as_str().into(), scope.clone()));
        }
    }
    let is_given = |name: &str| !scopes.contains_key(name) || reads.names.contains(name);
    let given = values.iter().filter(|(name, _)| is_given(name));
    let given = given.map(|(name, value)| (name.clone(), value.clone().into()));
    Ok((given.collect(), carried))
}

fn check_reader(name: &str, scope: &SecretScope, reader: Reader<'_>) -> Result<(), NodeError> {
    if scope.webhook {
        return Err(NodeError::new(
            CODE,
            format!(
                "the secret `{name}` is for the auth of webhooks alone: [secrets.{name}] of pawl.toml says webhook = true"
            ),
        ));
    }
    if !scope.admits_schema(reader.name) {
        let reader = reader.name;
        return Err(refused(
            name,
            &format!("be used by `{reader}`"),
            "schemas",
            reader,
        ));
    }
    if scope.is_bound() && !reader.guards {
        return Err(NodeError::new(
            CODE,
            format!(
                "the secret `{name}` is bound to hosts or connections by [secrets.{name}] of pawl.toml, and this node goes \
                 to neither; use it in the node that sends it"
            ),
        ));
    }
    Ok(())
}

fn refused(name: &str, act: &str, list: &str, entry: &str) -> NodeError {
    NodeError::new(
        CODE,
        format!(
            "the secret `{name}` may not {act}; add \"{entry}\" to `{list}` in [secrets.{name}] of pawl.toml if it is meant to"
        ),
    )
}

/// The secrets in a config that may go to some places only, and what hides all of them.
#[derive(Clone, Default)]
pub struct CarriedSecrets {
    scopes: Vec<(Arc<str>, Arc<SecretScope>)>,
    redactor: Option<Arc<Redactor>>,
}

impl CarriedSecrets {
    pub fn hidden_by(mut self, redactor: &Arc<Redactor>) -> Self {
        self.redactor = (!redactor.is_empty()).then(|| redactor.clone());
        self
    }

    /// May a request with them go to this host?
    pub fn check_host(&self, host: &str, port: Option<u16>) -> Result<(), NodeError> {
        let with_port = port.map(|port| format!("{host}:{port}"));
        let admits = |hosts: &Patterns| {
            hosts.admit(host) || with_port.as_ref().is_some_and(|text| hosts.admit(text))
        };
        self.check(|scope| scope.hosts.as_ref().is_none_or(admits))
            .map_err(|name| {
                let place = with_port.as_deref().unwrap_or(host);
                refused(name, &format!("be sent to `{place}`"), "hosts", place)
            })
    }

    pub fn check_connection(&self, connection: &str) -> Result<(), NodeError> {
        let admits = |names: &Patterns| names.admit(connection);
        self.check(|scope| scope.connections.as_ref().is_none_or(admits))
            .map_err(|name| {
                let act = format!("be sent to the connection `{connection}`");
                refused(name, &act, "connections", connection)
            })
    }

    /// The name of the first that may not.
    fn check(&self, may: impl Fn(&SecretScope) -> bool) -> Result<(), &str> {
        match self.scopes.iter().find(|(_, scope)| !may(scope)) {
            Some((name, _)) => Err(name),
            None => Ok(()),
        }
    }

    /// Takes every secret out of what a node keeps somewhere itself.
    pub fn hide(&self, value: &mut Value) {
        if let Some(redactor) = &self.redactor {
            redactor.value(value);
        }
    }
}

impl std::fmt::Debug for CarriedSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.scopes.iter().map(|(name, _)| name))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Encoding, Template};

    fn patterns(all: &[&str]) -> Option<Patterns> {
        Some(Patterns::new(all.iter().map(|one| (*one).to_owned())))
    }

    fn reads(text: &str) -> SecretReads {
        let template = Template::compile(text, Encoding::Text).unwrap();
        let mut reads = SecretReads::default();
        for reference in template.references() {
            reads.add(reference);
        }
        reads
    }

    /// What `billing` gets of three secrets, one of which has a scope.
    fn given(text: &str, scope: SecretScope) -> Result<(Vec<String>, CarriedSecrets), String> {
        let values =
            ["free", "other", "stripe"].map(|name| (name.to_owned(), format!("{name}-value")));
        let scopes = SecretScopes::from([("stripe".to_owned(), Arc::new(scope))]);
        let reader = Reader {
            name: "billing",
            guards: true,
        };
        let resolved = resolve(&values.into(), &scopes, &reads(text), reader);
        let (map, carried) =
            resolved.map_err(|error| format!("{}: {}", error.code, error.message))?;
        Ok((map.keys().cloned().collect(), carried))
    }

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, expected) in [
            ("billing", "billing", true),
            ("billing", "billing-2", false),
            ("billing*", "billing-2", true),
            ("billing*", "billing", true),
            ("*.example.com", "a.b.example.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "evil-example.com", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("*", "", true),
            ("", "", true),
            ("", "x", false),
            ("**", "x", true),
            ("*ab", "aab", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_secret_is_for_the_schemas_that_are_listed() {
        let text = "{{secrets.stripe}}";
        let only = |names: &[&str]| SecretScope {
            schemas: patterns(names),
            ..SecretScope::default()
        };
        for names in [&["billing"][..], &["x", "bill*"], &["*"]] {
            assert!(given(text, only(names)).is_ok(), "{names:?}");
        }
        for names in [&[][..], &["payroll"], &["schedule:*"]] {
            let error = given(text, only(names)).unwrap_err();
            assert!(
                error.starts_with("SECRET_NOT_ALLOWED: the secret `stripe`"),
                "{error}"
            );
            assert!(
                error.contains("`billing`") && error.contains("`schemas`"),
                "{error}"
            );
        }
        assert!(given(text, SecretScope::default()).is_ok());
        // Nothing of it is there for others.
        let (names, _) = given("{{secrets.free}}", only(&["billing"])).unwrap();
        assert_eq!(names, ["free", "other"]);
    }

    #[test]
    fn a_secret_with_a_scope_is_found_by_its_written_name_alone() {
        for text in [
            "{{secrets[input.name]}}",
            "{{keys(secrets)}}",
            "{{json(secrets)}}",
        ] {
            let (names, carried) = given(text, SecretScope::default()).unwrap();
            assert_eq!(names, ["free", "other"], "{text}");
            assert_eq!(format!("{carried:?}"), "[]");
        }
        for text in [
            "{{secrets.stripe}}",
            "{{secrets['stripe']}}",
            "{{upper(secrets?.stripe)}}",
        ] {
            let (names, carried) = given(text, SecretScope::default()).unwrap();
            assert_eq!(names, ["free", "other", "stripe"], "{text}");
            assert_eq!(format!("{carried:?}"), "[\"stripe\"]", "{text}");
        }
        assert!(reads("{{input.secrets}}").is_empty());
    }

    #[test]
    fn a_secret_goes_to_the_hosts_and_connections_that_are_listed() {
        let scope = SecretScope {
            hosts: patterns(&["api.example.com", "*.pay.example:8443"]),
            connections: patterns(&["shop*"]),
            ..SecretScope::default()
        };
        let (_, carried) = given("{{secrets.stripe}} {{secrets.free}}", scope).unwrap();
        for (host, port, expected) in [
            ("api.example.com", Some(443), true),
            ("api.example.com", Some(8080), true),
            ("eu.pay.example", Some(8443), true),
            ("eu.pay.example", Some(443), false),
            ("api.example.com.evil.net", Some(443), false),
            ("evil.net", Some(443), false),
        ] {
            let checked = carried.check_host(host, port);
            assert_eq!(checked.is_ok(), expected, "{host}:{port:?}");
        }
        let error = carried.check_host("evil.net", Some(443)).unwrap_err();
        assert_eq!(error.code, "SECRET_NOT_ALLOWED");
        assert!(
            error.message.contains("`evil.net:443`") && error.message.contains("`hosts`"),
            "{error:?}"
        );
        assert!(carried.check_connection("shop-2").is_ok());
        let error = carried.check_connection("crm").unwrap_err();
        assert!(
            error.message.contains("`crm`") && error.message.contains("`connections`"),
            "{error:?}"
        );
        // What is not listed at all is free.
        let (_, carried) = given("{{secrets.stripe}}", SecretScope::default()).unwrap();
        assert!(
            carried.check_host("any.net", None).is_ok() && carried.check_connection("any").is_ok()
        );
    }

    #[test]
    fn a_secret_of_webhooks_is_in_no_expression() {
        let scope = SecretScope {
            webhook: true,
            ..SecretScope::default()
        };
        let error = given("{{secrets.stripe}}", scope).unwrap_err();
        assert!(error.contains("webhook = true"), "{error}");
    }

    #[test]
    fn a_node_that_checks_no_place_gets_no_secret_that_is_bound_to_places() {
        let scope = |hosts: Option<Patterns>| {
            let scope = SecretScope {
                hosts,
                schemas: patterns(&["*"]),
                ..SecretScope::default()
            };
            SecretScopes::from([("stripe".to_owned(), Arc::new(scope))])
        };
        let reader = Reader {
            name: "billing",
            guards: false,
        };
        let reads = reads("{{secrets.stripe}}");
        let bound = scope(patterns(&["api.example.com"]));
        let error = resolve(&BTreeMap::new(), &bound, &reads, reader).unwrap_err();
        assert_eq!(error.code, "SECRET_NOT_ALLOWED");
        assert!(resolve(&BTreeMap::new(), &scope(None), &reads, reader).is_ok());
    }
}
