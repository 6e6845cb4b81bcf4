//! Hints reach everybody else.

use std::time::Duration;

use pawl_kernel::execution::Status;
use pawl_rabbitmq::{Hint, HintBus, Hints, Options};
use tokio::time::{Instant, timeout};
use xtask::services::Proxy;

use crate::publishing::port;
use crate::support::{NOW, Place, eventually, execution_id, options, ports, within};

async fn bus(options: &Options) -> HintBus {
    HintBus::connect(options, &ports()).await.unwrap()
}

/// The next hint that is not the greeting of somebody who connects.
async fn heard(hints: &mut Hints) -> Option<Hint> {
    loop {
        match within(hints.next()).await {
            Some(Hint::Hello) => {}
            hint => return hint,
        }
    }
}

#[tokio::test]
async fn whoever_listens_says_hello() {
    let place = Place::fresh().await;
    let proxy = Proxy::start(port(&place.url)).unwrap();
    let one = bus(&place.options()).await;
    let mut ones = one.subscribe();
    let other = bus(&options(&place.through(proxy.port()))).await;
    let mut others = other.subscribe();
    assert_eq!(within(ones.next()).await, Some(Hint::Hello));
    proxy.cut();
    // To itself too: what it has said meanwhile nobody has heard.
    assert_eq!(within(others.next()).await, Some(Hint::Hello));
    assert_eq!(within(ones.next()).await, Some(Hint::Hello));
}

#[tokio::test]
async fn hints_arrive_at_the_others_and_not_at_oneself() {
    let place = Place::fresh().await;
    let (one, other) = (bus(&place.options()).await, bus(&place.options()).await);
    let (mut own, mut others) = (one.subscribe(), other.subscribe());
    let sent = [
        Hint::Timer { at: NOW },
        Hint::Stop {
            execution_id: execution_id(1),
        },
        Hint::Changed {
            execution_id: execution_id(2),
            version: 9,
            ended: Some(Status::Completed),
            responded: true,
        },
        Hint::Admission,
    ];
    let begun = Instant::now();
    for hint in &sent {
        one.send(hint.clone());
    }
    for hint in sent {
        assert_eq!(heard(&mut others).await, Some(hint));
    }
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    // The answer of the other comes, and nothing of our own before it.
    other.send(Hint::Admission);
    assert_eq!(heard(&mut own).await, Some(Hint::Admission));
    assert!(
        timeout(Duration::from_millis(100), own.next())
            .await
            .is_err()
    );
}

#[tokio::test]
async fn many_hints_arrive_in_order() {
    let place = Place::fresh().await;
    let (one, other) = (bus(&place.options()).await, bus(&place.options()).await);
    let mut others = other.subscribe();
    for number in 0..2_000 {
        one.send(Hint::Changed {
            execution_id: execution_id(number),
            version: number,
            ended: None,
            responded: false,
        });
    }
    for number in 0..2_000 {
        let Some(Hint::Changed { version, .. }) = heard(&mut others).await else {
            panic!("another hint");
        };
        assert_eq!(version, number);
    }
}

#[tokio::test]
async fn installations_with_other_prefixes_hear_nothing() {
    let place = Place::fresh().await;
    let prefixed = Options {
        prefix: "blue.".into(),
        ..place.options()
    };
    let (one, other, blue) = (
        bus(&place.options()).await,
        bus(&place.options()).await,
        bus(&prefixed).await,
    );
    let (mut others, mut blues) = (other.subscribe(), blue.subscribe());
    one.send(Hint::Admission);
    assert_eq!(heard(&mut others).await, Some(Hint::Admission));
    assert!(
        timeout(Duration::from_millis(200), heard(&mut blues))
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_bus_without_a_broker_swallows_and_comes_back() {
    let place = Place::fresh().await;
    let proxy = Proxy::start(port(&place.url)).unwrap();
    let one = bus(&options(&place.through(proxy.port()))).await;
    let other = bus(&place.options()).await;
    let mut others = other.subscribe();
    proxy.cut();
    for _ in 0..10_000 {
        one.send(Hint::Admission);
    }
    eventually("hints arrive again", async || {
        one.send(Hint::Timer { at: NOW });
        let heard = timeout(Duration::from_millis(100), others.next()).await;
        (heard == Ok(Some(Hint::Timer { at: NOW }))).then_some(())
    })
    .await;
    assert!(one.stats().reconnects >= 1);
    within(one.close()).await;
}
