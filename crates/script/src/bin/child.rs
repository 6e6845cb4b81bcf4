//! The child process on its own, for tests and benches of this crate; the product runs
//! [`pawl_script::child::main`] as a hidden subcommand of its one binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    pawl_script::child::main()
}
