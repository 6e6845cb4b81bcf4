//! Starting the binary, and asking it over HTTP without any help from it.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }

    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "stdout: {}\nstderr: {}",
            self.stdout, self.stderr
        );
        self
    }
}

/// The binary without any setting of the machine it runs on.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pawl"));
    for name in [
        "PAWL_URL",
        "PAWL_KEY",
        "PAWL_ADMIN_KEY",
        "PAWL_LOG",
        "PAWL_CONFIG",
        "PAWL_LISTEN",
        "PAWL_DATA",
        "ECHO_URL",
    ] {
        command.env_remove(name);
    }
    command
        .current_dir(folder)
        .env("TMPDIR", folder)
        .env("NO_COLOR", "1");
    command
}

pub(crate) fn pawl<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> Ended {
    pawl_with(folder, arguments, b"")
}

pub(crate) fn pawl_with<S: AsRef<OsStr>>(folder: &Path, arguments: &[S], stdin: &[u8]) -> Ended {
    let mut child = piped(command(folder).args(arguments));
    // A program that ends without reading its input closes the pipe; that is its right.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    ended(child)
}

pub(crate) fn piped(command: &mut Command) -> Child {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

pub(crate) fn ended(child: Child) -> Ended {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(
        !stderr.contains("panicked") && !stdout.contains("panicked"),
        "{stdout}{stderr}"
    );
    Ended {
        code: output.status.code().unwrap_or(-1),
        stdout,
        stderr,
    }
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

pub(crate) fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/{name}.yaml"))
}

pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

/// A running `pawl dev`, killed when it goes out of scope.
pub(crate) struct Dev {
    pub(crate) child: Child,
    pub(crate) url: String,
    pub(crate) ready: Value,
}

impl Dev {
    pub(crate) fn start(folder: &Path) -> Self {
        let mut child = piped(command(folder).args([
            "dev",
            "--json",
            "--data",
            "data",
            "--listen",
            "127.0.0.1:0",
        ]));
        let line = first_line(&mut child);
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|_| {
            let mut why = String::new();
            child
                .stderr
                .take()
                .unwrap()
                .read_to_string(&mut why)
                .unwrap();
            panic!("`pawl dev` did not start: {line}{why}")
        });
        Self {
            child,
            url: ready["url"].as_str().unwrap().to_owned(),
            ready,
        }
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// A client command against it.
    pub(crate) fn ask(&self, folder: &Path, arguments: &[&str]) -> Ended {
        let mut all = arguments.to_vec();
        all.extend(["--url", &self.url]);
        pawl(folder, &all)
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        http("GET", &format!("{}{path}", self.url), "")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> (u16, Value) {
        http("POST", &format!("{}{path}", self.url), body)
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    line
}

/// One request, as plain as can be.
pub(crate) fn http(method: &str, url: &str, body: &str) -> (u16, Value) {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(host).unwrap();
    let length = body.len();
    let head = format!(
        "{method} /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream
        .write_all(format!("{head}{body}").as_bytes())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let text = answer.split_once("\r\n\r\n").unwrap().1;
    (
        status,
        serde_json::from_str(text).unwrap_or(Value::String(text.to_owned())),
    )
}
