//! The temporary folder of one service, and what cleans up behind a process that could not.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Once, OnceLock};
use std::time::Duration;

use super::process::{self, Account, Process};

const PREFIX: &str = "pawl-services-";

/// `pawl-services-<pid>-<start time of that process>-<kind>-<count>`; removed when dropped.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn create(kind: &str) -> Result<Folder, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        static SWEPT: Once = Once::new();
        SWEPT.call_once(|| sweep(&std::env::temp_dir()));
        start_janitor()?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("{}{kind}-{count}", own_prefix()?));
        fs::create_dir_all(path.join("pids"))
            // The account of the service must be able to pass, whatever our umask is.
            .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o755)))
            .map_err(|error| format!("creating {}: {error}", path.display()))?;
        Ok(Folder(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Where the process number of a child is written down.
    pub(super) fn record(&self, name: &str) -> PathBuf {
        self.0.join("pids").join(name)
    }

    /// A folder inside that belongs to the service's account.
    pub(super) fn room(&self, name: &str, account: Account) -> Result<PathBuf, String> {
        let path = self.0.join(name);
        fs::create_dir(&path)
            .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o700)))
            .map_err(|error| format!("creating {}: {error}", path.display()))?;
        account.own(&path)?;
        Ok(path)
    }

    /// A file inside that only the service's account can read.
    pub(super) fn file(&self, name: &str, text: &str, account: Account) -> Result<PathBuf, String> {
        let path = self.0.join(name);
        fs::write(&path, text)
            .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o600)))
            .map_err(|error| format!("writing {}: {error}", path.display()))?;
        account.own(&path)?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn own_prefix() -> Result<String, String> {
    let own = Process::find(std::process::id()).ok_or("/proc is not mounted")?;
    Ok(format!("{PREFIX}{}-{}-", own.pid, own.started))
}

/// Waits for the end of its input, which is our end, then for the end of our children, and removes our folders.
const JANITOR: &str = r#"
read -r _
for try in $(seq 100); do
    busy=
    for record in "$0"*/pids/*; do
        # A process that is never reaped keeps its entry, but has no program any more.
        [ -f "$record" ] && read -r pid _ <"$record" && [ -e "/proc/$pid/exe" ] && busy=yes
    done
    [ -z "$busy" ] && exec rm -rf "$0"*
    sleep 0.1
done
"#;

/// One process per process of ours: services in a `static` are never dropped, and kill -9 drops nothing at all.
fn start_janitor() -> Result<(), String> {
    static STDIN: OnceLock<Result<Option<ChildStdin>, String>> = OnceLock::new();
    let started = STDIN.get_or_init(|| {
        let mut command = Command::new("sh");
        command
            .args(["-c", JANITOR])
            .arg(std::env::temp_dir().join(own_prefix()?))
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        process::spawn(command).map(|mut janitor| janitor.stdin.take())
    });
    started.as_ref().map(|_| ()).map_err(String::clone)
}

/// Stops what dead processes left running and removes their folders.
fn sweep(temporary: &Path) {
    let Ok(entries) = fs::read_dir(temporary) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if owner(&path).is_some_and(|owner| !owner.alive()) {
            recorded(&path).iter().for_each(end);
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn owner(path: &Path) -> Option<Process> {
    let mut parts = path
        .file_name()?
        .to_str()?
        .strip_prefix(PREFIX)?
        .splitn(3, '-');
    Some(Process {
        pid: parts.next()?.parse().ok()?,
        started: parts.next()?.parse().ok()?,
    })
}

fn recorded(folder: &Path) -> Vec<(Process, String)> {
    let Ok(entries) = fs::read_dir(folder.join("pids")) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let line = fs::read_to_string(entry.path()).ok()?;
            let mut words = line.split_whitespace();
            let pid = words.next()?.parse().ok()?;
            let started = words.next()?.parse().ok()?;
            Some((Process { pid, started }, words.next()?.to_string()))
        })
        .collect()
}

fn end((process, signal): &(Process, String)) {
    for name in [signal.as_str(), "KILL"] {
        if process.alive() {
            process::signal(name, &[process.pid]);
            process::until(Duration::from_secs(5), || (!process.alive()).then_some(()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper() -> (std::process::Child, Process) {
        let child = Command::new("sleep").arg("1000").spawn().unwrap();
        let process = Process::find(child.id()).unwrap();
        (child, process)
    }

    fn left_by(owner: Process, temporary: &Path, child: Process) -> PathBuf {
        let path = temporary.join(format!("{PREFIX}{}-{}-x-0", owner.pid, owner.started));
        fs::create_dir_all(path.join("pids")).unwrap();
        let line = format!("{} {} TERM\n", child.pid, child.started);
        fs::write(path.join("pids/x"), line).unwrap();
        path
    }

    #[test]
    fn a_sweep_ends_what_the_dead_left_and_spares_the_living() {
        let room = Folder::create("sweep").unwrap();
        let dead = Process {
            pid: std::process::id(),
            started: 1,
        };
        let own = Process::find(std::process::id()).unwrap();
        let (mut orphan, orphaned) = sleeper();
        let (mut kept, keeping) = sleeper();
        let reused = Process {
            started: 1,
            ..keeping
        };
        let orphans = left_by(dead, room.path(), orphaned);
        fs::write(orphans.join("pids/y"), format!("{} 1 KILL\n", reused.pid)).unwrap();
        let living = left_by(own, room.path(), keeping);
        sweep(room.path());
        assert!(!orphaned.alive(), "the orphan runs on");
        assert!(!orphans.exists());
        assert!(keeping.alive(), "a child of a living process was ended");
        assert!(living.exists());
        kept.kill().unwrap();
        kept.wait().unwrap();
        orphan.wait().unwrap();
    }

    #[test]
    fn a_folder_that_is_not_ours_is_left_alone() {
        for name in [
            "pawl-services-x",
            "pawl-services-1",
            "other-1-2-x",
            "pawl-services-1-b-c",
        ] {
            assert_eq!(owner(&Path::new("/tmp").join(name)), None, "{name}");
        }
    }
}
