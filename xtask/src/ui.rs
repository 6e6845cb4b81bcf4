//! The web UI: built into `ui/dist`, which is committed, and tested. The commands of its package (`ui/package.json`) do the
//! work: types, build, lint, unit, e2e, shots.

mod node;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::services::{Need, TestServices, chromium, install_missing};

use super::{Done, cargo_path, run, run_with};
use node::Node;

const FOLDER: &str = "ui";
const DIST: &str = "ui/dist";

/// `cargo xtask ui [--shots DIR]`: brings `ui/dist` up to date, and takes pictures of it.
pub(super) fn command(words: &[String]) -> Done {
    let shots = match words {
        [] => None,
        [flag, folder] if flag == "--shots" => Some(absolute(folder)?),
        _ => return Err("write: cargo xtask ui, or cargo xtask ui --shots DIR".into()),
    };
    build_program()?;
    let ui = Workbench::prepare()?;
    ui.types(&[])?;
    ui.build(&absolute(DIST)?)?;
    let Some(folder) = shots else { return Ok(()) };
    // With the pages that were just built.
    build_program()?;
    let mut variables = ui.browser()?;
    variables.push(("SHOTS_DIR", folder.display().to_string()));
    ui.npm("shots", &[], variables)
}

/// That what is committed is what the sources give, and that it works in a browser. The program is the one that the tests
/// before have built: a build of its own would have other features, and take minutes.
pub(super) fn test(services: &TestServices) -> Done {
    let ui = Workbench::prepare()?;
    ui.types(&["--check"])?;
    let built = absolute("target/ui/dist")?;
    ui.build(&built)?;
    compare(Path::new(DIST), &built)?;
    for script in ["lint", "unit"] {
        ui.npm(script, &[], Vec::new())?;
    }
    let mut variables = ui.browser()?;
    variables.extend(services.variables());
    ui.npm("e2e", &[], variables)
}

fn build_program() -> Done {
    run(Command::new(cargo_path()).args(["build", "--locked", "-p", "pawl"]))
}

/// Node, the packages that the lock file names, and the program.
struct Workbench {
    node: Node,
    program: PathBuf,
}

impl Workbench {
    fn prepare() -> Result<Self, String> {
        let lock = Path::new(FOLDER).join("package-lock.json");
        let wanted = fs::read(&lock).map_err(|error| format!("{}: {error}", lock.display()))?;
        let node = Node::find(&absolute(".")?)?;
        let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".into());
        let program = absolute(&format!("{target}/debug/pawl"))?;
        let ui = Self { node, program };
        // What was installed for this very lock file is as it should be.
        let stamp = Path::new(FOLDER).join("node_modules/.installed");
        if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(ui);
        }
        let mut install = ui.node.npm();
        install
            .args(["ci", "--no-audit", "--no-fund"])
            .current_dir(FOLDER);
        run(&mut install)?;
        fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
        Ok(ui)
    }

    fn npm(&self, script: &str, more: &[&str], variables: Vec<(&str, String)>) -> Done {
        let mut npm = self.node.npm();
        npm.args(["run", "--silent", script]).current_dir(FOLDER);
        if !more.is_empty() {
            npm.arg("--").args(more);
        }
        run_with(&mut npm, variables)
    }

    /// The types of the API, from the description that the program gives of itself.
    fn types(&self, more: &[&str]) -> Done {
        let output = Command::new(&self.program)
            .arg("openapi")
            .output()
            .map_err(|error| format!("{}: {error}", self.program.display()))?;
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr);
            return Err(format!("pawl openapi: {told}"));
        }
        let folder = absolute("target/ui")?;
        let place = folder.join("openapi.json");
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(&place, output.stdout))
            .map_err(|error| format!("{}: {error}", place.display()))?;
        let variables = vec![("PAWL_OPENAPI", place.display().to_string())];
        self.npm("types", more, variables)
    }

    fn build(&self, into: &Path) -> Done {
        let into = into.display().to_string();
        self.npm("build", &["--outDir", &into, "--emptyOutDir"], Vec::new())
    }

    /// What the scripts that need a browser are told.
    fn browser(&self) -> Result<Vec<(&'static str, String)>, String> {
        install_missing(&[Need::Chromium, Need::Sqlite])?;
        let browser = match std::env::var("CHROMIUM") {
            Ok(given) if !given.is_empty() => given,
            _ => chromium()?.display().to_string(),
        };
        Ok(vec![
            ("PAWL_BIN", self.program.display().to_string()),
            ("CHROMIUM", browser),
        ])
    }
}

fn absolute(path: &str) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("{path}: {error}"))
}

/// Byte by byte: what runs must be what can be read.
fn compare(committed: &Path, built: &Path) -> Done {
    let (old, new) = (files(committed)?, files(built)?);
    let names: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let differ = names
        .into_iter()
        .filter(|name| old.get(*name) != new.get(*name));
    let differ: Vec<&str> = differ.map(String::as_str).collect();
    match differ.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "ui/dist is not what the sources of ui/ give: {}; run `cargo xtask ui` and commit it",
            differ.join(", ")
        )),
    }
}

/// By their paths in the folder.
fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        let failed = |error: std::io::Error| format!("{}: {error}", next.display());
        for entry in fs::read_dir(&next).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path
                .strip_prefix(folder)
                .unwrap_or(&path)
                .display()
                .to_string();
            found.insert(name, fs::read(&path).map_err(failed)?);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_named_and_likeness_is_not() {
        let root = std::env::temp_dir().join(format!("pawl-xtask-ui-{}", std::process::id()));
        let (one, other) = (root.join("one"), root.join("other"));
        for folder in [&one, &other] {
            fs::create_dir_all(folder.join("assets")).unwrap();
            fs::write(folder.join("assets/main.js"), "1").unwrap();
        }
        assert_eq!(compare(&one, &other), Ok(()));
        fs::write(other.join("assets/main.js"), "2").unwrap();
        fs::write(other.join("more.txt"), "").unwrap();
        let reason = compare(&one, &other).unwrap_err();
        assert!(reason.contains("assets/main.js, more.txt;"), "{reason}");
        fs::remove_dir_all(root).unwrap();
    }
}
