//! Puts the built UI into the program: a table with every file of `ui/dist`, which `src/ui.rs` includes. Node is not needed
//! for that: what it has built is committed.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> Result<(), String> {
    let variable = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .ok_or(format!("{name} is not set"))
    };
    let dist = variable("CARGO_MANIFEST_DIR")?.join("../../ui/dist");
    println!("cargo:rerun-if-changed={}", dist.display());
    let mut files = Vec::new();
    collect(&dist, "", &mut files).map_err(|error| format!("{}: {error}", dist.display()))?;
    files.sort();
    let mut table = String::from("const FILES: &[(&str, &[u8])] = &[\n");
    for (name, path) in files {
        // Writing to a text does not fail.
        let _ = writeln!(table, "    ({name:?}, include_bytes!({path:?})),");
    }
    table.push_str("];\n");
    let place = variable("OUT_DIR")?.join("ui.rs");
    fs::write(&place, table).map_err(|error| format!("{}: {error}", place.display()))
}

/// Names are paths below `dist`, with slashes.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, String)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let own = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{prefix}{own}");
        if path.is_dir() {
            collect(&path, &format!("{name}/"), files)?;
        } else {
            let path = fs::canonicalize(&path)?;
            files.push((name, path.to_string_lossy().into_owned()));
        }
    }
    Ok(())
}
