//! A process of a cluster: PostgreSQL for the state, RabbitMQ for the messages.

use std::sync::Arc;
use std::time::Duration;

use pawl_engine::control::{Control, TriggerKeeper};
use pawl_engine::worker::{Handle, Roles, Worker};
use pawl_engine::{Options, Runtime, ServiceRunner};
use pawl_postgres::PostgresStore;
use pawl_rabbitmq::{BrokerUrl, DeadLetterDrain, HintBus, Ports, Publisher, RabbitQueue, Start};
use tokio_util::sync::CancellationToken;

use super::{WiringError, registry_beside, worker_id};
use crate::api::Limits;
use crate::config::Config;
use crate::services::letters::LetterKeeper;
use crate::services::starts::{Answers, start_for_others};
use crate::services::{ServiceFailure, Services};
use crate::system::SystemEntropy;

/// A machine under load is silent for seconds now and then.
const SHORT_LEASE: Duration = Duration::from_secs(10);

/// Where database and broker are, and what this process does.
#[derive(Clone, Debug)]
pub struct Membership {
    pub database_url: String,
    pub broker_url: String,
    pub roles: Roles,
    pub slots: Option<usize>,
}

/// One running process of the cluster.
pub struct Cluster {
    pub control: Control,
    pub store: Arc<PostgresStore>,
    pub queue: Arc<RabbitQueue>,
    hints: Arc<HintBus>,
    stop: CancellationToken,
    worker: Services,
    /// `None`: this process takes no starts by message.
    answers: Option<Answers>,
    /// They end with the process; none of them holds anything that could be lost.
    helpers: Services,
}

impl Cluster {
    pub async fn join(member: &Membership, config: &Config) -> Result<Self, WiringError> {
        super::check_secrets(config)?;
        let own_broker = Some(member.broker_url.as_str());
        let mut own = super::own::places_of(member).await?;
        own.addresses.extend(&config.http.own);
        let registry = Arc::new(registry_beside(own_broker, own, config, false)?);
        let mut options = Options {
            exclusive: false,
            worker_id: worker_id(),
            ..config.engine_options()
        };
        options.slots = member.slots.unwrap_or(options.slots);
        if options.lease < SHORT_LEASE {
            tracing::warn!(
                lease = ?options.lease,
                "engine.lease is short: a busy machine may be taken for a dead one, and effects be repeated"
            );
        }
        Self::join_with(member, config, registry, options).await
    }

    pub async fn join_with(
        member: &Membership,
        config: &Config,
        registry: Arc<pawl_kernel::node::Registry>,
        options: Options,
    ) -> Result<Self, WiringError> {
        // First, so that a typo is reported before anything is touched.
        let broker = broker_options(member, config, &options)?;
        let database = config.database.options(&member.database_url, &options);
        let store = Arc::new(PostgresStore::open(database).await?);
        let ports = Ports {
            clock: store.clock(),
            entropy: Arc::new(SystemEntropy),
        };
        let queue = Arc::new(RabbitQueue::connect(broker.clone(), ports.clone()).await?);
        let hints = Arc::new(HintBus::connect(&broker, &ports).await?);
        let runtime = Runtime::new(
            store.clone(),
            queue.clone(),
            store.clock(),
            Arc::new(SystemEntropy),
            registry,
            options,
        );
        runtime.hints.connect(hints.clone());
        super::observe::cluster(&runtime, &store, &queue);
        let worker = Worker::with_roles(runtime.clone(), member.roles);
        let handle = worker.handle();
        let control = Control::new(runtime, Some(handle.clone()));
        let stop = CancellationToken::new();
        let (mut running, mut helpers) = (Services::default(), Services::default());
        helpers.add("the listener for hints", listen(hints.clone(), handle));
        let mut answers = None;
        if let Some(starts) = queue.externals().filter(|_| broker.consume) {
            let publisher = Publisher::new(&member.broker_url, "pawl answers", None)?;
            let answers = answers.insert(Answers::new(publisher, queue.topology().clone()));
            let starting = start_for_others(control.clone(), starts, answers.clone());
            helpers.add("the starter for other programs", starting);
        }
        if member.roles.reaper {
            let drain = DeadLetterDrain::connect(&broker, &ports).await?;
            helpers.add(
                "the keeper of dead letters",
                letter_keeper(&control).run(drain),
            );
        }
        let runner = ServiceRunner::new(control.runtime(), stop.clone());
        if member.roles.timers {
            let keeper = TriggerKeeper::new(control.runtime().clone());
            let keeping = runner.clone().run(keeper);
            helpers.add("the keeper of cron triggers", keeping);
        }
        if member.roles.reaper
            && let Some(keeper) = super::programs::keeper(control.runtime(), config)?
        {
            helpers.add("the keeper of applied rows", runner.run(keeper));
        }
        super::look_for_exposure(control.runtime(), config)?;
        running.add("the worker", worker.run(stop.clone()));
        Ok(Self {
            control,
            store,
            queue,
            hints,
            worker: running,
            stop,
            answers,
            helpers,
        })
    }

    /// Returns when something has ended that must run until the shutdown. Cancelling loses nothing.
    pub async fn broken(&mut self) -> ServiceFailure {
        tokio::select! {
            broken = self.worker.broken() => broken,
            broken = self.helpers.broken() => broken,
        }
    }

    /// Takes no more messages, finishes or gives back what is in flight, and leaves.
    pub async fn shutdown(self) {
        self.queue.stop_receiving();
        self.stop.cancel();
        self.worker.finish().await;
        self.helpers.abort();
        if let Some(answers) = &self.answers {
            // Before the queue is closed: a message is acknowledged after its answer.
            answers.finish().await;
        }
        self.queue.close().await;
        self.hints.close().await;
        self.store.close();
    }
}

fn broker_options(
    member: &Membership,
    config: &Config,
    options: &Options,
) -> Result<pawl_rabbitmq::Options, WiringError> {
    let url = BrokerUrl::parse(&member.broker_url)?;
    let section = &config.broker;
    let mut broker = pawl_rabbitmq::Options::new(url);
    broker.prefix = section.prefix.clone();
    broker.queue_type = section.queue_type()?;
    broker.delivery_limit = section.delivery_limit.unwrap_or(broker.delivery_limit);
    broker.accept_external = section.accept_external;
    broker.max_message_bytes = Limits::from(config).body_bytes;
    broker.consume = member.roles.engine;
    broker.slots = u16::try_from(options.slots).unwrap_or(u16::MAX).max(1);
    broker.name = format!("pawl {}", options.worker_id);
    // Starts are accepted and everything that needs no message goes on, broker or not.
    broker.start = Start::Anyway;
    Ok(broker)
}

fn letter_keeper(control: &Control) -> LetterKeeper {
    let runtime = control.runtime();
    LetterKeeper {
        store: runtime.store.clone(),
        redactor: runtime.redactor.clone(),
        clock: runtime.clock.clone(),
    }
}

/// Hands on the hints of other processes. No service with ticks: it is driven by what comes.
async fn listen(bus: Arc<HintBus>, handle: Handle) {
    let mut hints = bus.subscribe();
    while let Some(hint) = hints.next().await {
        handle.hear(&hint);
    }
}
