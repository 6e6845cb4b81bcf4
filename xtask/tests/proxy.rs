//! The faulty network, between us and an echo.
#![allow(clippy::unwrap_used)]

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use xtask::services::{Postgres, PostgresOptions, Proxy, psql};

const LIMIT: Duration = Duration::from_secs(10);
/// How long we wait for what must not come.
const SILENCE: Duration = Duration::from_millis(200);

/// Sends back what it gets, and tells the test about it.
fn echo() -> (u16, mpsc::Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (seen, heard) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, seen) = (stream.unwrap(), seen.clone());
            std::thread::spawn(move || {
                let mut buffer = [0; 100];
                while let Ok(length @ 1..) = stream.read(&mut buffer) {
                    let _ = seen.send(buffer[..length].to_vec());
                    let _ = stream.write_all(&buffer[..length]);
                }
            });
        }
    });
    (port, heard)
}

fn connect(proxy: &Proxy) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

fn ask(stream: &mut TcpStream, words: &str) -> std::io::Result<String> {
    stream.write_all(words.as_bytes())?;
    answer(stream, words.len())
}

fn answer(stream: &mut TcpStream, length: usize) -> std::io::Result<String> {
    let mut buffer = vec![0; length];
    stream.read_exact(&mut buffer)?;
    Ok(String::from_utf8(buffer).unwrap())
}

#[test]
fn forwards_and_cuts() {
    let proxy = Proxy::start(echo().0).unwrap();
    let (mut one, mut two) = (connect(&proxy), connect(&proxy));
    assert_eq!(ask(&mut one, "hello").unwrap(), "hello");
    assert_eq!(ask(&mut two, "hi").unwrap(), "hi");
    assert_eq!((proxy.count(), proxy.open()), (2, 2));
    proxy.cut();
    assert!(ask(&mut one, "hello").is_err());
    assert!(ask(&mut two, "hi").is_err());
    assert_eq!(ask(&mut connect(&proxy), "again").unwrap(), "again");
    assert_eq!(proxy.count(), 3);
}

#[test]
fn refuses_and_takes_again() {
    let proxy = Proxy::start(echo().0).unwrap();
    let mut old = connect(&proxy);
    assert_eq!(ask(&mut old, "before").unwrap(), "before");
    for _ in 0..20 {
        proxy.refuse(true);
        let refused = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        assert_eq!(ask(&mut old, "during").unwrap(), "during");
        proxy.refuse(false);
        assert_eq!(ask(&mut connect(&proxy), "after").unwrap(), "after");
    }
    assert_eq!(proxy.count(), 21);
}

#[test]
fn a_stall_holds_everything_back_until_it_ends() {
    let (port, heard) = echo();
    let proxy = Proxy::start(port).unwrap();
    let mut stream = connect(&proxy);
    assert_eq!(ask(&mut stream, "before").unwrap(), "before");
    assert_eq!(heard.recv_timeout(LIMIT).unwrap(), b"before");
    proxy.stall(true);
    stream.write_all(b"during").unwrap();
    let mut late = connect(&proxy);
    late.write_all(b"late").unwrap();
    assert!(heard.recv_timeout(SILENCE).is_err(), "a byte passed");
    proxy.stall(false);
    assert_eq!(answer(&mut stream, 6).unwrap(), "during");
    assert_eq!(answer(&mut late, 4).unwrap(), "late");
    proxy.stall(true);
    stream.write_all(b"lost").unwrap();
    proxy.cut();
    assert!(answer(&mut stream, 4).is_err());
    proxy.stall(false);
    drop(proxy);
    assert!(heard.iter().take(2).all(|words| words != b"lost"));
}

#[test]
fn a_pattern_reaches_the_server_and_its_answer_is_lost() {
    let (port, heard) = echo();
    let proxy = Proxy::start(port).unwrap();
    let (mut one, mut other) = (connect(&proxy), connect(&proxy));
    proxy.cut_on_next(b"COMMIT");
    assert_eq!(ask(&mut other, "COMIT").unwrap(), "COMIT");
    // In two pieces, which must still be recognised.
    assert_eq!(ask(&mut one, "x COM").unwrap(), "x COM");
    assert!(ask(&mut one, "MIT y").is_err());
    assert!(proxy.wait_for_cut(LIMIT));
    let words: Vec<u8> = heard.iter().take(3).flatten().collect();
    assert_eq!(words, b"COMITx COMMIT y");
    assert_eq!(ask(&mut other, "COMMIT").unwrap(), "COMMIT", "only once");
}

#[test]
fn a_commit_without_an_answer_has_happened() {
    let server = Postgres::start(PostgresOptions::default()).unwrap();
    let proxy = Proxy::start(server.port()).unwrap();
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", proxy.port());
    server.psql("CREATE TABLE t (n int)").unwrap();
    proxy.cut_on_next(b"COMMIT");
    let sql = "BEGIN;\nINSERT INTO t VALUES (1);\nCOMMIT;\n";
    assert!(psql(&url, sql).is_err());
    assert!(proxy.wait_for_cut(LIMIT));
    assert_eq!(server.psql("SELECT count(*) FROM t").unwrap(), "1");
}
