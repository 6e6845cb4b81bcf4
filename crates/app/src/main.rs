use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before anything else is there that code could get hold of.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == pawl::wiring::SCRIPT_CHILD)
    {
        return pawl_script::child::main();
    }
    pawl::cli::main()
}
