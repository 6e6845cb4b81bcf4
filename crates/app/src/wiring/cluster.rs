//! A process of a cluster: PostgreSQL for the state, RabbitMQ for the messages.

use std::sync::Arc;
use std::time::Duration;

use pawl_engine::control::{Control, ControlError, StartRequest};
use pawl_engine::worker::{Handle, Roles, Worker};
use pawl_engine::{Options, Parts};
use pawl_kernel::ports::letters::NewLetter;
use pawl_postgres::PostgresStore;
use pawl_rabbitmq::{
    BrokerUrl, DeadLetterDrain, ExternalStart, HintBus, Ports, RabbitQueue, Start,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{WiringError, registry, worker_id};
use crate::config::Config;
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
    worker: JoinHandle<()>,
    /// They end with the process; none of them holds anything that could be lost.
    helpers: Vec<JoinHandle<()>>,
}

impl Cluster {
    pub async fn join(member: &Membership, config: &Config) -> Result<Self, WiringError> {
        super::check_secrets()?;
        let registry = Arc::new(registry(config, false)?);
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
        let database = config.database.options(&member.database_url, &options);
        let store = Arc::new(PostgresStore::open(database).await?);
        let ports = Ports {
            clock: store.clock(),
            entropy: Arc::new(SystemEntropy),
        };
        let broker = broker_options(member, config, &options)?;
        let queue = Arc::new(RabbitQueue::connect(broker.clone(), ports.clone()).await?);
        let hints = Arc::new(HintBus::connect(&broker, &ports).await?);
        let parts = Parts::new(
            store.clone(),
            queue.clone(),
            store.clock(),
            Arc::new(SystemEntropy),
            registry,
            options,
        );
        parts.hints.connect(hints.clone());
        super::observe::cluster(&parts, &store, &queue);
        let worker = Worker::with_roles(parts.clone(), member.roles);
        let handle = worker.handle();
        let control = Control::new(parts, Some(handle.clone()));
        let stop = CancellationToken::new();
        let mut helpers = vec![tokio::spawn(listen(hints.clone(), handle))];
        if let Some(starts) = queue.externals().filter(|_| broker.consume) {
            helpers.push(tokio::spawn(start_for_others(control.clone(), starts)));
        }
        if member.roles.reaper {
            let drain = DeadLetterDrain::connect(&broker, &ports).await?;
            helpers.push(tokio::spawn(keep_letters(control.clone(), drain)));
        }
        Ok(Self {
            control,
            store,
            queue,
            hints,
            worker: tokio::spawn(worker.run(stop.clone())),
            stop,
            helpers,
        })
    }

    /// Takes no more messages, finishes or gives back what is in flight, and leaves.
    pub async fn shutdown(self) {
        self.queue.stop_receiving();
        self.stop.cancel();
        if let Err(error) = self.worker.await {
            tracing::error!(%error, "the worker did not end well");
        }
        for helper in self.helpers {
            helper.abort();
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
    broker.consume = member.roles.engine;
    broker.slots = u16::try_from(options.slots).unwrap_or(u16::MAX).max(1);
    broker.name = format!("pawl {}", options.worker_id);
    // Starts are accepted and everything that needs no message goes on, broker or not.
    broker.start = Start::Anyway;
    Ok(broker)
}

/// Hints of other processes.
async fn listen(bus: Arc<HintBus>, handle: Handle) {
    let mut hints = bus.subscribe();
    while let Some(hint) = hints.next().await {
        handle.hear(&hint);
    }
}

/// Executions that other programs ask for by message; their id is the idempotency key.
async fn start_for_others(control: Control, mut starts: mpsc::Receiver<ExternalStart>) {
    while let Some(wish) = starts.recv().await {
        let request = StartRequest {
            schema: wish.schema.clone(),
            variables: wish.context.clone(),
            priority: Some(wish.priority),
            idempotency_key: Some(format!("amqp:{}", wish.key)),
            created_by: "amqp".into(),
            ..StartRequest::default()
        };
        match control.start(request).await {
            Ok(started) => {
                tracing::info!(execution_id = %started.id, created = started.created, "started by message");
                wish.done();
            }
            Err(ControlError::Store(error)) => {
                tracing::warn!(%error, "a start by message has to wait");
                wish.give_back();
            }
            Err(error) => wish.refuse(&error.to_string()),
        }
    }
}

/// Dead letters of the broker go into the table that people look at.
async fn keep_letters(control: Control, mut drain: DeadLetterDrain) {
    while let Some(letter) = drain.next().await {
        let parts = control.parts();
        let new = NewLetter {
            execution_id: letter.execution_id,
            reason: letter.reason.clone(),
            message: Some(letter.body.clone()),
            now: parts.clock.now(),
        };
        match parts.store.add_letter(new).await {
            Ok(_) => letter.stored(),
            Err(error) => {
                tracing::warn!(%error, "a dead letter has to wait");
                letter.not_stored();
            }
        }
    }
}
