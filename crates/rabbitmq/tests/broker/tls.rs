//! `amqps://`: encrypted and checked against the certificates that the settings name.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pawl_kernel::ports::queue::Queue;
use pawl_rabbitmq::{BrokerError, Options, RabbitQueue, Start};
use xtask::services::{Need, RabbitMq, RabbitOptions, install_missing};

use crate::support::{blocking, connect, message, number, one, options, ports, within};

/// Makes an authority and a certificate of localhost in a folder that the broker's account can read.
fn certificates() -> PathBuf {
    install_missing(&[Need::OpenSsl]).unwrap();
    let folder = std::env::temp_dir().join(format!("pawl-amqps-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("names"), "subjectAltName = DNS:localhost\n").unwrap();
    let new_key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(
        &folder,
        &format!("req -x509 {new_key} -subj /CN=authority -days 3 -keyout ca.key -out ca.pem"),
    );
    openssl(
        &folder,
        &format!("req {new_key} -subj /CN=localhost -keyout server.key -out server.csr"),
    );
    openssl(
        &folder,
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -days 3 -out server.pem",
    );
    let readable = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(folder.join("server.key"), readable).unwrap();
    folder
}

fn openssl(folder: &Path, arguments: &str) {
    let ran = Command::new("openssl")
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

fn encrypted_broker(folder: &Path) -> (RabbitMq, u16) {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let file = |name: &str| folder.join(name).display().to_string();
    let config = vec![
        format!("listeners.ssl.1 = 127.0.0.1:{port}"),
        format!("ssl_options.cacertfile = {}", file("ca.pem")),
        format!("ssl_options.certfile = {}", file("server.pem")),
        format!("ssl_options.keyfile = {}", file("server.key")),
        "ssl_options.verify = verify_none".into(),
    ];
    (RabbitMq::start(RabbitOptions { config }).unwrap(), port)
}

#[tokio::test]
async fn an_encrypted_connection_is_checked_and_works() {
    let (folder, broker, port) = blocking(|| {
        let folder = certificates();
        let (broker, port) = encrypted_broker(&folder);
        (folder, broker, port)
    })
    .await;
    let url = format!("amqps://guest:guest@localhost:{port}");
    let authority = std::fs::read_to_string(folder.join("ca.pem")).unwrap();
    let queue = connect(Options {
        ca_certificates: Some(authority.clone()),
        ..options(&url)
    })
    .await;
    queue.publish(message(1)).await.unwrap();
    assert_eq!(number(&one(&queue).await), 1);
    within(queue.close()).await;

    // The right authority, but a name that the certificate does not have.
    let misnamed = Options {
        ca_certificates: Some(authority),
        start: Start::Anyway,
        ..options(&format!("amqps://guest:guest@127.0.0.1:{port}"))
    };
    let queue = RabbitQueue::connect(misnamed, ports()).await.unwrap();
    let error = queue.stats().await.publishing.error.unwrap();
    assert!(error.contains("certificate"), "{error}");

    let untrusting = Options {
        start: Start::Anyway,
        ..options(&url)
    };
    // Without the authority nothing is believed, and it is no reason to give up at the start.
    let queue = RabbitQueue::connect(untrusting, ports()).await.unwrap();
    let error = queue.stats().await.publishing.error.unwrap();
    assert!(error.contains("certificate"), "{error}");
    // TLS where none is spoken.
    let plain = Options {
        start: Start::WhenConnected {
            within: Duration::from_secs(2),
        },
        ..options(&format!("amqps://guest:guest@localhost:{}", broker.port()))
    };
    let refused = within(RabbitQueue::connect(plain, ports())).await.err();
    assert!(
        matches!(refused, Some(BrokerError::Unreachable { .. })),
        "{refused:?}"
    );
    std::fs::remove_dir_all(folder).unwrap();
}
