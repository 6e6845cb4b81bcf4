//! Who else can read the file with the passwords.

use std::path::Path;

use pawl_sqlite::is_open_to_others;

use super::Config;

/// A file without passwords may be read by all.
pub(super) fn warn_if_open(path: &Path, config: &Config) {
    if holds_password(config) && is_open_to_others(path) {
        let path = path.display();
        tracing::warn!(%path, "it holds passwords, and other users of this machine may read it; take the right away with chmod go-rwx, or put the addresses into PAWL_DATABASE_URL and PAWL_BROKER_URL");
    }
}

/// An address with a user's name has a password more often than not.
fn holds_password(config: &Config) -> bool {
    let connections = config.connections.values().map(|one| &one.url);
    let own = config.database.url.iter().chain(&config.broker.url);
    own.chain(connections)
        .any(|url| url.contains('@') || url.contains("password="))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;

    use pawl_testkit::warnings::warnings;

    use super::*;

    const WITH: &[&str] = &[
        "[database]\nurl = \"postgres://pawl:sesame@db/pawl\"",
        "[database]\nurl = \"postgres://db/pawl?user=pawl&password=sesame\"",
        "[database]\nurl = \"postgresql:///pawl?password=sesame&host=/run/postgresql\"",
        "[broker]\nurl = \"amqp://pawl:sesame@mq/pawl\"",
        "[connections.shop]\nurl = \"postgres://shop:sesame@db/shop\"",
        "[connections.shop]\nurl = \"postgres://db/shop?password=sesame\"",
        "[connections.a]\nurl = \"amqp://mq\"\n[connections.b]\nurl = \"amqps://b:sesame@mq\"",
    ];
    const WITHOUT: &[&str] = &[
        "",
        "listen = \"127.0.0.1:8080\"",
        "[database]\nurl = \"postgres://db/pawl\"",
        "[broker]\nurl = \"amqp://mq\"",
        "[connections.shop]\nurl = \"postgres://db/shop?user=shop\"",
    ];

    #[test]
    fn passwords_are_found_in_every_address_and_in_both_places() {
        for (texts, expected) in [(WITH, true), (WITHOUT, false)] {
            for text in texts {
                let config: Config = toml::from_str(text).unwrap();
                assert_eq!(holds_password(&config), expected, "{text}");
            }
        }
    }

    #[test]
    fn a_file_with_passwords_that_others_may_read_is_warned_of() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pawl.toml");
        let told = |text: &str, rights: u32| {
            write(&path, text).unwrap();
            set_permissions(&path, Permissions::from_mode(rights)).unwrap();
            warnings(|| {
                Config::load(Some(&path)).unwrap();
            })
        };
        for text in WITH {
            assert_eq!(told(text, 0o600), [""; 0], "{text}");
            for rights in [0o640, 0o604, 0o644] {
                let lines = told(text, rights);
                assert_eq!(lines.len(), 1, "{text}: {lines:?}");
                let line = &lines[0];
                assert!(
                    line.contains("pawl.toml") && line.contains("passwords"),
                    "{line}"
                );
                assert!(!line.contains("sesame"), "{line}");
            }
        }
        for text in WITHOUT {
            assert_eq!(told(text, 0o644), [""; 0], "{text}");
        }
    }
}
