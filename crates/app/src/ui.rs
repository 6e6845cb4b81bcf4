//! The web UI, as `build.rs` put it into the program from `ui/dist`: the shell (`index.html`) and its assets.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use sha2::{Digest, Sha256};

use crate::gzip;

include!(concat!(env!("OUT_DIR"), "/ui.rs"));

/// Where the shell is, and what all other files are under.
const SHELL: &str = "index.html";
const ASSETS: &str = "assets/";

/// What the shell has in the place of the nonce of one answer, and of the hash of the whole build.
pub(crate) const NONCE: &str = "__NONCE__";
const BUILD: &str = "__BUILD__";

static BUILT: LazyLock<Built> = LazyLock::new(|| Built::of(FILES));

struct Built {
    shell: String,
    hash: String,
    assets: BTreeMap<&'static str, Asset>,
}

/// A file that the shell names, or that one of these names.
pub(crate) struct Asset {
    pub(crate) bytes: &'static [u8],
    pub(crate) kind: &'static str,
    /// Weak, because one asset is sent with and without compression.
    pub(crate) etag: String,
    packed: OnceLock<Option<Vec<u8>>>,
}

impl Built {
    fn of(files: &'static [(&'static str, &'static [u8])]) -> Self {
        let mut whole = Sha256::new();
        for (name, bytes) in files {
            whole.update(name.as_bytes());
            whole.update(Sha256::digest(bytes));
        }
        let hash = hex(&whole.finalize());
        let shell = files.iter().find(|(name, _)| *name == SHELL);
        let shell = shell.map_or_else(String::new, |(_, bytes)| {
            String::from_utf8_lossy(bytes).replace(BUILD, &hash)
        });
        let assets = files.iter().filter_map(|(name, bytes)| {
            let asset = Asset::new(name, bytes);
            Some((name.strip_prefix(ASSETS)?, asset))
        });
        Self {
            shell,
            hash,
            assets: assets.collect(),
        }
    }
}

impl Asset {
    fn new(name: &str, bytes: &'static [u8]) -> Self {
        Self {
            bytes,
            kind: kind(name),
            etag: format!("W/\"{}\"", hex(&Sha256::digest(bytes))),
            packed: OnceLock::new(),
        }
    }

    /// As gzip; made when it is first asked for.
    pub(crate) fn packed(&self) -> Option<&[u8]> {
        self.packed
            .get_or_init(|| gzip::best(self.bytes))
            .as_deref()
    }
}

/// The page, with [`NONCE`] where the nonce belongs.
pub(crate) fn shell() -> &'static str {
    &BUILT.shell
}

/// Names this build: another one has another hash.
pub(crate) fn build() -> &'static str {
    &BUILT.hash
}

/// By its name under `/assets/`.
pub(crate) fn asset(name: &str) -> Option<&'static Asset> {
    BUILT.assets.get(name)
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "json" | "map" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// The first 128 bits, which are enough to tell builds apart.
fn hex(hash: &[u8]) -> String {
    let first = hash.iter().take(16);
    first.map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands between quotes behind `start`.
    fn named<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
        let places = text.split(start).skip(1);
        places.filter_map(|rest| rest.split('"').next()).collect()
    }

    #[test]
    fn the_shell_is_whole_and_has_no_script_of_its_own() {
        let page = shell();
        assert_eq!(page.matches(NONCE).count(), 1, "{page}");
        assert!(page.contains(build()) && !page.contains(BUILD), "{page}");
        for address in named(page, "src=\"")
            .into_iter()
            .chain(named(page, "href=\""))
        {
            let name = address.strip_prefix("/assets/");
            assert!(
                name.and_then(asset).is_some(),
                "`{address}` is not in ui/dist"
            );
        }
        for kind in [".js", ".css"] {
            assert!(page.contains(kind), "the shell names no {kind} file");
        }
        for forbidden in ["http://", "https://", " style=", "onclick=", "<style"] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        let scripts = page.matches("<script").count();
        assert_eq!(
            scripts,
            page.matches("></script>").count(),
            "a script in the page itself"
        );
    }

    /// Chunks name each other as `./NAME.js` or `assets/NAME.js`.
    #[test]
    fn what_assets_name_is_there() {
        for (name, bytes) in FILES.iter().filter(|(name, _)| name.ends_with(".js")) {
            let text = String::from_utf8_lossy(bytes);
            let own = named(&text, "from\"./")
                .into_iter()
                .chain(named(&text, "import(\"./"));
            let listed = named(&text, "\"assets/").into_iter();
            for other in own.chain(listed).filter(|other| other.contains('.')) {
                assert!(asset(other).is_some(), "{name} names {other}");
            }
        }
    }

    #[test]
    fn every_file_has_a_plain_name_and_a_type() {
        for (name, bytes) in FILES {
            assert!(*name == SHELL || name.starts_with(ASSETS), "{name}");
            let own = name.strip_prefix(ASSETS).unwrap_or(name);
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
            assert!(own.chars().all(plain), "{name}");
            assert!(
                name.ends_with(".html") || kind(name) != "application/octet-stream",
                "{name}"
            );
            assert!(!bytes.is_empty(), "{name}");
        }
    }
}
