//! Where the programs are, and getting them when they are not there.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::process::{is_root, tail};

/// Debian's PostgreSQL programs, in a folder per major version.
const POSTGRES_FOLDER: &str = "/usr/lib/postgresql";
/// The broker itself; the wrapper in /usr/sbin insists on root or its own user.
const RABBIT_FOLDER: &str = "/usr/lib/rabbitmq/lib";
/// Asked by Debian's packages whether they may start what they installed.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Something that a test needs on this machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// initdb, postgres, psql and pgbench.
    Postgres,
    /// The RabbitMQ broker with its Erlang.
    RabbitMq,
    /// The connection pooler.
    PgBouncer,
    /// The program `openssl`, for certificates.
    OpenSsl,
    /// A browser, for the UI.
    Chromium,
    /// The program `sqlite3`, for scenarios of the UI that break a store.
    Sqlite,
}

impl Need {
    fn package(self) -> &'static str {
        match self {
            Need::Postgres => "postgresql",
            Need::RabbitMq => "rabbitmq-server",
            Need::PgBouncer => "pgbouncer",
            Need::OpenSsl => "openssl",
            Need::Chromium => "chromium",
            Need::Sqlite => "sqlite3",
        }
    }

    fn check(self) -> Result<(), String> {
        match self {
            Need::Postgres => ["initdb", "postgres", "psql", "pgbench"]
                .iter()
                .try_for_each(|name| postgres_tool(name).map(drop)),
            Need::RabbitMq => rabbit_tool("rabbitmq-server").map(drop),
            Need::PgBouncer => plain_tool("pgbouncer").map(drop),
            Need::OpenSsl => plain_tool("openssl").map(drop),
            Need::Chromium => chromium().map(drop),
            Need::Sqlite => plain_tool("sqlite3").map(drop),
        }
    }
}

/// Installs the Debian packages of what is missing; cheap when nothing is.
pub fn install_missing(needs: &[Need]) -> Result<(), String> {
    let packages = packages_missing(needs);
    if packages.is_empty() {
        return Ok(());
    }
    if !is_root() {
        return Err(advice(&packages, "this is not root"));
    }
    // Another process may be installing the same, so what is missing is only known under the lock.
    let _lock = lock()?;
    let packages = packages_missing(needs);
    if packages.is_empty() {
        return Ok(());
    }
    apt(&packages).map_err(|reason| advice(&packages, &reason))?;
    needs
        .iter()
        .try_for_each(|need| need.check())
        .map_err(|reason| advice(&packages, &format!("after installing them, {reason}")))
}

fn packages_missing(needs: &[Need]) -> Vec<&'static str> {
    needs
        .iter()
        .filter(|need| need.check().is_err())
        .map(|need| need.package())
        .collect()
}

fn advice(packages: &[&str], reason: &str) -> String {
    let list = packages.join(" ");
    format!(
        "the tests need the Debian packages {list}, which cannot be installed here: {reason}\n\
         Install them as root, without starting their system services: apt-get install --no-install-recommends {list}"
    )
}

/// Held until dropped, and by no process once its holder is dead.
fn lock() -> Result<File, String> {
    let path = std::env::temp_dir().join("pawl-services-install.lock");
    File::options()
        .append(true)
        .create(true)
        .open(&path)
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|error| format!("locking {}: {error}", path.display()))
}

fn apt(packages: &[&str]) -> Result<(), String> {
    let _policy = Policy::forbid_starting()?;
    eprintln!("installing {}", packages.join(" "));
    // Old lists can still do; if not, the installation fails and says so.
    let updated = apt_get(&["update"]);
    let mut arguments = vec!["install", "-y", "--no-install-recommends"];
    arguments.extend(packages);
    apt_get(&arguments).map_err(|reason| match updated {
        Ok(()) => reason,
        Err(earlier) => format!("{earlier}\n{reason}"),
    })
}

fn apt_get(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("apt-get")
        .args(["-o", "DPkg::Lock::Timeout=300"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .output()
        .map_err(|error| format!("apt-get: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "apt-get {}: {}: {}",
        arguments.join(" "),
        output.status,
        tail(&String::from_utf8_lossy(&output.stderr), 5)
    ))
}

/// Keeps packages from starting system services while it lives; an existing policy is left alone.
struct Policy {
    ours: bool,
}

impl Policy {
    fn forbid_starting() -> Result<Policy, String> {
        if Path::new(POLICY).exists() {
            return Ok(Policy { ours: false });
        }
        fs::write(POLICY, "#!/bin/sh\nexit 101\n")
            .and_then(|()| fs::set_permissions(POLICY, Permissions::from_mode(0o755)))
            .map_err(|error| format!("writing {POLICY}: {error}"))?;
        Ok(Policy { ours: true })
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        if self.ours {
            let _ = fs::remove_file(POLICY);
        }
    }
}

/// A program of PostgreSQL: of the newest installed version, else from the PATH.
///
/// In this order because Debian's PATH has wrappers that are slow and look for system clusters.
pub(super) fn postgres_tool(name: &str) -> Result<PathBuf, String> {
    newest(Path::new(POSTGRES_FOLDER), "")
        .map(|version| version.join("bin").join(name))
        .filter(|path| path.exists())
        .or_else(|| on_path(name))
        .ok_or_else(|| format!("{name} is neither in {POSTGRES_FOLDER}/*/bin nor on the PATH"))
}

/// A script of RabbitMQ, of the newest installed version.
pub(super) fn rabbit_tool(name: &str) -> Result<PathBuf, String> {
    newest(Path::new(RABBIT_FOLDER), "rabbitmq_server-")
        .map(|version| version.join("sbin").join(name))
        .filter(|path| path.exists())
        .ok_or_else(|| format!("{name} is not in {RABBIT_FOLDER}/rabbitmq_server-*/sbin"))
}

/// A program on the PATH or in /usr/sbin, which is not on every user's PATH.
pub(super) fn plain_tool(name: &str) -> Result<PathBuf, String> {
    on_path(name)
        .or_else(|| Some(Path::new("/usr/sbin").join(name)).filter(|path| path.exists()))
        .ok_or_else(|| format!("{name} is neither on the PATH nor in /usr/sbin"))
}

/// Where the browser is.
pub fn chromium() -> Result<PathBuf, String> {
    plain_tool("chromium")
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// The entry with the highest version number behind a prefix: 15 comes after 9.
fn newest(folder: &Path, prefix: &str) -> Option<PathBuf> {
    let version = |path: &PathBuf| -> Option<Vec<u32>> {
        let name = path.file_name()?.to_str()?.strip_prefix(prefix)?;
        name.split('.').map(|part| part.parse().ok()).collect()
    };
    fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| version(path).is_some())
        .max_by_key(version)
}
