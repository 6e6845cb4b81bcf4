use std::collections::VecDeque;
use std::sync::Mutex;

use pawl_kernel::ports::store::StoreError;
use pawl_testkit::clock::{EPOCH, SeededEntropy, SimClock};
use pawl_testkit::exposition::Exposition;
use pawl_testkit::warnings::warnings;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::*;
use crate::sync::lock;

const MINUTE: Duration = Duration::from_secs(60);

fn down() -> StoreError {
    StoreError::Unavailable("down".into())
}

fn at(seconds: u64) -> Timestamp {
    EPOCH.plus(Duration::from_secs(seconds))
}

/// Answers as planned, the last answer again and again, and notes when it was asked.
struct Script {
    first: NextTick,
    answers: VecDeque<StoreResult<NextTick>>,
    ticks: Arc<Mutex<Vec<Timestamp>>>,
    /// Reasons to tick sooner.
    signals: mpsc::UnboundedReceiver<NextTick>,
}

impl Service for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn first_tick(&self) -> NextTick {
        self.first
    }

    async fn tick(&mut self, now: Timestamp) -> StoreResult<NextTick> {
        lock(&self.ticks).push(now);
        match self.answers.len() {
            0 => std::future::pending().await,
            1 => self.answers[0].clone(),
            _ => self.answers.pop_front().unwrap(),
        }
    }

    async fn signal(&mut self) -> NextTick {
        match self.signals.recv().await {
            Some(next) => next,
            None => std::future::pending().await,
        }
    }
}

struct Stage {
    clock: Arc<SimClock>,
    metrics: Arc<Metrics>,
    stop: CancellationToken,
    ticks: Arc<Mutex<Vec<Timestamp>>>,
    signals: mpsc::UnboundedSender<NextTick>,
    task: JoinHandle<()>,
}

impl Stage {
    fn play(first: NextTick, answers: impl IntoIterator<Item = StoreResult<NextTick>>) -> Self {
        let (clock, ticks) = (Arc::new(SimClock::new()), Arc::default());
        let (metrics, stop) = (
            Arc::new(Metrics::new([].into_iter())),
            CancellationToken::new(),
        );
        let (signals, received) = mpsc::unbounded_channel();
        let runner = ServiceRunner {
            clock: clock.clone(),
            entropy: Arc::new(SeededEntropy::new(7)),
            metrics: metrics.clone(),
            stop: stop.clone(),
        };
        let service = Script {
            first,
            answers: answers.into_iter().collect(),
            ticks: Arc::clone(&ticks),
            signals: received,
        };
        Self {
            clock,
            metrics,
            stop,
            ticks,
            signals,
            task: tokio::spawn(runner.run(service)),
        }
    }

    /// Lets the service work until then.
    async fn until(&self, at: Timestamp) {
        self.clock.sleep_until(at).await;
        tokio::task::yield_now().await;
    }

    fn ticks(&self) -> Vec<Timestamp> {
        lock(&self.ticks).clone()
    }

    fn last_tick(&self) -> f64 {
        let page = Exposition::parse(&self.metrics.series().text()).unwrap();
        page.value("pawl_service_last_tick_seconds", &[("service", "script")])
    }
}

fn known(at: Timestamp) -> f64 {
    seconds(at) as f64
}

#[tokio::test(start_paused = true)]
async fn pauses_are_a_little_shorter_by_chance_and_never_longer() {
    let stage = Stage::play(NextTick::After(MINUTE), [Ok(NextTick::After(MINUTE))]);
    stage.until(at(24 * 3_600)).await;
    let mut before = EPOCH;
    let mut pauses = Vec::new();
    for tick in stage.ticks() {
        pauses.push(tick.since(before));
        before = tick;
    }
    assert!((1_440..=1_600).contains(&pauses.len()), "{}", pauses.len());
    // A tokio timer is precise to a millisecond.
    let (least, most) = (MINUTE * 9 / 10, MINUTE + Duration::from_millis(1));
    assert!(
        pauses.iter().all(|pause| (least..=most).contains(pause)),
        "{pauses:?}"
    );
    let spread = *pauses.iter().max().unwrap() - *pauses.iter().min().unwrap();
    assert!(spread > MINUTE / 20, "{spread:?}");
}

#[tokio::test(start_paused = true)]
async fn a_time_that_is_named_is_kept() {
    let times = [at(5), at(7), at(1_000)];
    let answers = times.map(|at| Ok(NextTick::At(at)));
    let stage = Stage::play(
        NextTick::Now,
        answers.into_iter().chain([Ok(NextTick::OnSignal)]),
    );
    stage.until(at(2_000)).await;
    let expected = [vec![EPOCH], times.to_vec()].concat();
    assert_eq!(stage.ticks(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_signal_brings_a_tick_forward_and_never_puts_it_off() {
    let stage = Stage::play(NextTick::OnSignal, [Ok(NextTick::At(at(100)))]);
    stage.until(at(10)).await;
    assert_eq!(stage.ticks(), [], "nothing asked for it");
    stage.signals.send(NextTick::At(at(20))).unwrap();
    stage.signals.send(NextTick::At(at(50))).unwrap();
    stage.signals.send(NextTick::OnSignal).unwrap();
    stage.until(at(30)).await;
    assert_eq!(stage.ticks(), [at(20)]);
    stage.signals.send(NextTick::Now).unwrap();
    stage.until(at(40)).await;
    assert_eq!(stage.ticks(), [at(20), at(30)]);
}

#[test]
fn a_tick_that_fails_is_logged_and_tried_again() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let act = async {
        let answers = [Err(down()), Err(down()), Ok(NextTick::OnSignal)];
        let stage = Stage::play(NextTick::Now, answers);
        stage.until(at(60)).await;
        let ticks = stage.ticks();
        assert_eq!(ticks.len(), 3);
        for (one, next) in ticks.iter().zip(&ticks[1..]) {
            let pause = next.since(*one);
            assert!(pause >= RETRY_AFTER * 9 / 10, "{pause:?}");
            assert!(pause <= RETRY_AFTER + Duration::from_millis(1), "{pause:?}");
        }
    };
    let lines = warnings(|| runtime.block_on(act));
    assert_eq!(lines.len(), 2, "{lines:?}");
    for line in lines {
        assert!(line.contains("service=\"script\""), "{line}");
        assert!(line.contains("cannot be reached: down"), "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_it_in_a_pause_and_in_the_middle_of_a_tick() {
    for answers in [vec![Ok(NextTick::After(MINUTE))], vec![]] {
        let stage = Stage::play(NextTick::Now, answers);
        stage.until(at(10)).await;
        assert_eq!(stage.ticks().len(), 1);
        stage.stop.cancel();
        stage.task.await.unwrap();
        assert_eq!(stage.clock.now(), at(10), "at once");
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_may_end_by_itself() {
    let stage = Stage::play(NextTick::Now, [Ok(NextTick::Never)]);
    stage.task.await.unwrap();
    assert_eq!(lock(&stage.ticks).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_metric_moves_with_every_tick_that_succeeds() {
    let answers = [
        Ok(NextTick::At(at(20))),
        Err(down()),
        Ok(NextTick::At(at(40))),
        Ok(NextTick::OnSignal),
    ];
    let stage = Stage::play(NextTick::At(at(10)), answers);
    stage.until(at(5)).await;
    assert_eq!(stage.last_tick(), known(EPOCH), "it has started");
    stage.until(at(15)).await;
    assert_eq!(stage.last_tick(), known(at(10)));
    stage.until(at(20)).await;
    assert_eq!(stage.last_tick(), known(at(10)), "that one failed");
    stage.until(at(25)).await;
    assert!(stage.last_tick() > known(at(15)));
    stage.until(at(41)).await;
    assert_eq!(stage.last_tick(), known(at(40)));
}
