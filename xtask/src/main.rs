//! Everything a developer or CI runs, in one program without dependencies.
//!
//! `cargo xtask test` is the whole test suite; `.ci/run` calls just that.

mod chaos;
mod cluster;
mod licences;
mod measure;
mod tidy;
mod ui;

use std::process::{Command, ExitCode};
use std::time::Instant;

use xtask::services::TestServices;

const HELP: &str = "\
cargo xtask COMMAND

  test              everything: format, lints, tidy, tests, simulation, crashes
  tidy              the rules that no compiler checks
  licences          licences and sources of all dependencies, against xtask/licences.txt
  audit             known vulnerabilities of the dependencies, with cargo-deny, if that is installed and reaches its data
  measure           lines, functions, comments, names and repeated places, for each crate
  ui [--shots DIR]  build the web UI into ui/dist (gets Node and packages if they are missing); pictures of it into DIR
  docs              write the generated pages of docs/ anew
  sim --seed N      replay one schedule of the fault simulation, with its trace
  chaos [ARGS]      random faults on a real cluster: --minutes N for longer, --seed S for certain ones
  bench [ARGS]      pawl bench, built for speed
  cluster [ADDRESS] a server and two workers on PostgreSQL and RabbitMQ until Ctrl-C
  services          PostgreSQL and RabbitMQ for tests until Ctrl-C, with the variables that tests look for
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let rest = &words[1.min(words.len())..];
    let done = match words.first().map(String::as_str) {
        Some("test") => test(),
        Some("tidy") => tidy(),
        Some("licences") => licences(),
        Some("audit") => cargo(&["deny", "check", "advisories"]),
        Some("measure") => {
            measure::print(std::path::Path::new("."));
            Ok(())
        }
        Some("ui") => ui::command(rest),
        Some("docs") => docs(),
        Some("sim") => sim(rest),
        Some("chaos") => {
            chaos::command(&cargo_path(), rest).and_then(|mut command| run(&mut command))
        }
        Some("bench") => bench(rest),
        Some("cluster") => cluster(rest),
        Some("services") => services(),
        _ => {
            print!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask: {reason}");
            ExitCode::FAILURE
        }
    }
}

type Done = Result<(), String>;

fn test() -> Done {
    let start = Instant::now();
    step("tidy", tidy)?;
    step("format", || cargo(&["fmt", "--all", "--check"]))?;
    step("lints", || {
        cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ])
    })?;
    step("dependencies", || {
        no_arbitrary_precision()?;
        licences()
    })?;
    let services = start_services()?;
    step("tests", || {
        cargo_with(&services, &["test", "--workspace", "--locked"])
    })?;
    step("simulation", || {
        cargo_with(
            &services,
            &[
                "test",
                "--locked",
                "-p",
                "pawl-engine",
                "--features",
                "planted-bugs",
                "--test",
                "sim",
                "--test",
                "actions",
            ],
        )
    })?;
    step("web UI", || ui::test(&services))?;
    println!("\nall passed in {} s", start.elapsed().as_secs());
    Ok(())
}

/// They stop when dropped, or with this process however it ends.
fn start_services() -> Result<TestServices, String> {
    let start = Instant::now();
    let services = TestServices::start()?;
    let seconds = start.elapsed().as_secs_f32();
    println!("\nservices: {} ({seconds:.1} s)", services.summary()?);
    Ok(services)
}

/// For users who want to see it run on several processes.
fn cluster(words: &[String]) -> Done {
    cargo(&["build", "--release", "-p", "pawl"])?;
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".into());
    let program = std::path::Path::new(&target).join("release/pawl");
    let services = start_services()?;
    cluster::run(&program, words.first().map(String::as_str), &services)
}

/// For developers who run single tests again and again: a broker takes seconds to start.
fn services() -> Done {
    let services = start_services()?;
    for (name, value) in services.variables() {
        println!("export {name}={value}");
    }
    println!("ready; Ctrl-C ends them");
    loop {
        std::thread::park();
    }
}

fn step(name: &str, act: impl FnOnce() -> Done) -> Done {
    let start = Instant::now();
    println!("\n== {name}");
    act()?;
    println!("== {name}: {} s", start.elapsed().as_secs());
    Ok(())
}

fn tidy() -> Done {
    report(&tidy::check(std::path::Path::new(".")))
}

fn licences() -> Done {
    report(&licences::check(std::path::Path::new("."), &cargo_path())?)
}

fn report(problems: &[String]) -> Done {
    problems.iter().for_each(|problem| eprintln!("{problem}"));
    if problems.is_empty() {
        Ok(())
    } else {
        Err(format!("{} problems", problems.len()))
    }
}

/// Its feature changes how every crate in the tree reads numbers, so none may switch it on.
fn no_arbitrary_precision() -> Done {
    let output = Command::new(cargo_path())
        .args([
            "tree",
            "--workspace",
            "--locked",
            "-e",
            "features",
            "-i",
            "serde_json",
        ])
        .output()
        .map_err(|error| error.to_string())?;
    if String::from_utf8_lossy(&output.stdout).contains("arbitrary_precision") {
        return Err("a dependency switched on serde_json/arbitrary_precision".into());
    }
    Ok(())
}

fn docs() -> Done {
    run(Command::new(cargo_path())
        .args(["test", "-p", "pawl", "--test", "docs"])
        .env("UPDATE_DOCS", "1"))
}

fn sim(rest: &[String]) -> Done {
    let seed = match rest {
        [flag, seed] if flag == "--seed" => seed,
        _ => return Err("write: cargo xtask sim --seed N".into()),
    };
    run(Command::new(cargo_path())
        .args([
            "test",
            "-p",
            "pawl-engine",
            "--features",
            "planted-bugs",
            "--test",
            "sim",
            "--",
        ])
        .args(["replay", "--exact", "--nocapture"])
        .env("PAWL_SIM_SEED", seed))
}

fn bench(rest: &[String]) -> Done {
    run(Command::new(cargo_path())
        .args(["run", "--release", "-p", "pawl", "--", "bench"])
        .args(rest))
}

fn cargo(arguments: &[&str]) -> Done {
    run(Command::new(cargo_path()).args(arguments))
}

fn cargo_with(services: &TestServices, arguments: &[&str]) -> Done {
    run_with(
        Command::new(cargo_path()).args(arguments),
        services.variables(),
    )
}

fn cargo_path() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

fn run(command: &mut Command) -> Done {
    run_with(command, Vec::new())
}

/// The variables are not shown: their servers are gone when the user wants to repeat the command.
fn run_with(command: &mut Command, variables: Vec<(&str, String)>) -> Done {
    let shown = format!("{command:?}");
    println!("$ {shown}");
    let status = command
        .envs(variables)
        .status()
        .map_err(|error| format!("{shown}: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{shown} failed: {status}"))
    }
}
