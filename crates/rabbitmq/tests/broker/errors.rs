//! What a person must mend is said at once, in words that help, without the password.

use std::time::Duration;

use pawl_rabbitmq::{
    BrokerError, BrokerUrl, DeadLetterDrain, HintBus, Options, PublishError, PublishRequest,
    Publisher, RabbitQueue, Start,
};
use tokio::time::Instant;

use crate::publishing::port;
use crate::support::{Place, options, ports, within};

const PASSWORD: &str = "s3cr3t-canary";

async fn refused(options: Options) -> BrokerError {
    let begun = Instant::now();
    let Err(error) = within(RabbitQueue::connect(options, ports())).await else {
        panic!("it connected");
    };
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    let text = format!("{error} {error:?}");
    assert!(!text.contains(PASSWORD), "{text}");
    error
}

#[tokio::test]
async fn a_wrong_password() {
    let place = Place::fresh().await;
    for start in [
        Start::Anyway,
        Start::WhenConnected {
            within: Duration::from_secs(60),
        },
    ] {
        let url = place
            .url
            .replace("guest:guest", &format!("guest:{PASSWORD}"));
        let error = refused(Options {
            start,
            ..options(&url)
        })
        .await;
        assert!(
            matches!(error, BrokerError::LoginRefused { .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains("user `guest`"), "{error}");
    }
}

#[tokio::test]
async fn a_wrong_vhost() {
    let place = Place::fresh().await;
    let url = place.url.replace(&place.vhost, "no-such-vhost");
    let error = refused(options(&url)).await;
    assert!(matches!(error, BrokerError::NoVhost { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("rabbitmqctl add_vhost no-such-vhost"),
        "{text}"
    );
}

#[tokio::test]
async fn no_broker() {
    let url = format!("amqp://guest:{PASSWORD}@127.0.0.1:1/v");
    let error = refused(Options {
        start: Start::WhenConnected {
            within: Duration::from_secs(1),
        },
        ..options(&url)
    })
    .await;
    assert!(
        matches!(error, BrokerError::Unreachable { .. }),
        "{error:?}"
    );
    assert!(
        error.to_string().contains("amqp://guest:***@127.0.0.1:1/v"),
        "{error}"
    );
    let error = refused(Options {
        start: Start::WhenConnected {
            within: Duration::from_secs(1),
        },
        ..options(&format!("amqp://guest:{PASSWORD}@no-such-host.invalid/v"))
    })
    .await;
    assert!(
        matches!(error, BrokerError::Unreachable { .. }),
        "{error:?}"
    );
}

/// Something listens, but says nothing.
#[tokio::test]
async fn a_silent_listener() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!(
        "amqp://guest:{PASSWORD}@{}/v",
        listener.local_addr().unwrap()
    );
    let error = refused(Options {
        call_timeout: Duration::from_millis(300),
        start: Start::WhenConnected {
            within: Duration::from_secs(1),
        },
        ..options(&url)
    })
    .await;
    assert!(
        error.to_string().contains("no answer within 300ms"),
        "{error}"
    );
}

/// Something answers, but not in AMQP.
#[tokio::test]
async fn a_listener_that_speaks_something_else() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!(
        "amqp://guest:{PASSWORD}@{}/v",
        listener.local_addr().unwrap()
    );
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = tokio::io::AsyncWriteExt::write_all(
                &mut stream,
                b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
            );
            let _ = answer.await;
        }
    });
    let error = refused(Options {
        call_timeout: Duration::from_secs(1),
        start: Start::WhenConnected {
            within: Duration::from_secs(2),
        },
        ..options(&url)
    })
    .await;
    assert!(
        matches!(error, BrokerError::Unreachable { .. }),
        "{error:?}"
    );
}

/// Drain, hints and the node's publisher say the same things.
#[tokio::test]
async fn the_others_refuse_as_clearly() {
    let place = Place::fresh().await;
    let url = place
        .url
        .replace("guest:guest", &format!("guest:{PASSWORD}"));
    let drain = within(DeadLetterDrain::connect(&options(&url), &ports())).await;
    assert!(matches!(
        drain.err(),
        Some(BrokerError::LoginRefused { .. })
    ));
    let hints = within(HintBus::connect(&options(&url), &ports())).await;
    assert!(matches!(
        hints.err(),
        Some(BrokerError::LoginRefused { .. })
    ));
    let publisher = Publisher::new(&url, "test", None).unwrap();
    let refused = publisher
        .publish(PublishRequest::default(), Duration::from_secs(5))
        .await;
    let Err(PublishError::Connection(text)) = refused else {
        panic!("{refused:?}");
    };
    assert!(
        text.contains("refuses the login") && !text.contains(PASSWORD),
        "{text}"
    );
    let bad = Publisher::new(&format!("amqp:guest:{PASSWORD}"), "test", None);
    assert!(!bad.err().unwrap().to_string().contains(PASSWORD));
}

#[test]
fn a_port_is_found_in_an_address() {
    assert_eq!(port("amqp://guest:guest@127.0.0.1:5672/v"), 5672);
    assert!(BrokerUrl::parse("amqp://guest:guest@127.0.0.1:5672/v").is_ok());
}
