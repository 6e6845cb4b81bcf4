//! One thread that starts all children. The system ends a child with the *thread* that started it, and threads of
//! a runtime come and go; this one lives as long as the pool.

use std::ffi::OsString;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, Sender, channel};

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

pub(crate) struct ChildSpawner {
    orders: Sender<Order>,
}

struct Order {
    runtime: Handle,
    reply: oneshot::Sender<io::Result<Child>>,
}

impl ChildSpawner {
    pub(crate) fn open(program: PathBuf, args: Vec<OsString>) -> io::Result<Self> {
        let (orders, receiver) = channel();
        std::thread::Builder::new()
            .name("script-spawner".into())
            .spawn(move || serve(&receiver, &program, &args))?;
        Ok(Self { orders })
    }

    /// Starts a child that belongs to the runtime of the caller.
    pub(crate) async fn start(&self) -> io::Result<Child> {
        let (reply, child) = oneshot::channel();
        let order = Order {
            runtime: Handle::current(),
            reply,
        };
        self.orders.send(order).map_err(|_| closed())?;
        child.await.unwrap_or_else(|_| Err(closed()))
    }
}

fn serve(orders: &Receiver<Order>, program: &PathBuf, args: &[OsString]) {
    for order in orders {
        let entered = order.runtime.enter();
        // A runtime that is shutting down answers with a panic; the next order may be from another.
        let child = catch_unwind(AssertUnwindSafe(|| spawn(program, args)));
        drop(entered);
        // If the caller waits no longer, the child is dropped, and with that killed.
        let _ = order.reply.send(child.unwrap_or_else(|_| Err(closed())));
    }
}

fn spawn(program: &PathBuf, args: &[OsString]) -> io::Result<Child> {
    Command::new(program)
        .args(args)
        .env_clear()
        // Local time in scripts is UTC everywhere; in this form no file is read for it.
        .env("TZ", "UTC0")
        // What the allocator takes in advance counts as used, and its usual gigabyte would be a gigabyte more that code
        // which broke out of the engine could have.
        .env("MIMALLOC_ARENA_RESERVE", "16MiB")
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the script pool is closed")
}
