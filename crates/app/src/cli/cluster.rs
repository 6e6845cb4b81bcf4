//! `pawl server` and `pawl worker`: the processes of a cluster on PostgreSQL and RabbitMQ.

use std::env::VarError;
use std::net::SocketAddr;

use pawl_engine::worker::Roles;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::failure::{Done, Failure};
use super::signals::Signals;
use super::terminal::{self, Style};
use super::{Common, dev, lifetime, local, text};
use crate::api::{self, ApiState, Limits};
use crate::config::Config;
use crate::services::Services;
use crate::wiring::{self, Cluster, Membership};

const METRICS_LISTEN: &str = "--metrics-listen";
const USUAL_ADDRESS: &str = "127.0.0.1:8080";

/// Where database and broker are.
#[derive(clap::Args)]
pub(super) struct PlacesArgs {
    /// The PostgreSQL database, as postgres://user:password@host:5432/database
    #[arg(
        long,
        value_name = "URL",
        env = "PAWL_DATABASE_URL",
        hide_env_values = true
    )]
    database_url: Option<String>,
    /// The RabbitMQ broker, as amqp://user:password@host:5672/vhost
    #[arg(
        long,
        value_name = "URL",
        env = "PAWL_BROKER_URL",
        hide_env_values = true
    )]
    broker_url: Option<String>,
}

impl PlacesArgs {
    fn membership(
        self,
        config: &Config,
        roles: Roles,
        slots: Option<usize>,
    ) -> Result<Membership, Failure> {
        let missing = |what: &str, flag: &str, variable: &str, section: &str| {
            Failure::bad_input(format!(
                "no {what} given: use --{flag} URL, {variable}, or `url` in [{section}] of pawl.toml; \
                 `pawl dev` needs neither"
            ))
        };
        let database_url = self.database_url.or_else(|| config.database.url.clone());
        let broker_url = self.broker_url.or_else(|| config.broker.url.clone());
        Ok(Membership {
            database_url: database_url.ok_or_else(|| {
                missing("database", "database-url", "PAWL_DATABASE_URL", "database")
            })?,
            broker_url: broker_url
                .ok_or_else(|| missing("broker", "broker-url", "PAWL_BROKER_URL", "broker"))?,
            roles,
            slots,
        })
    }
}

#[derive(clap::Args)]
pub(super) struct ServerArgs {
    #[command(flatten)]
    places: PlacesArgs,
    /// Address and port of the API [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", env = "PAWL_LISTEN")]
    listen: Option<String>,
    /// Roles of a worker that this process has too, like `engine,timers,scheduler,reaper` or `all`.
    #[arg(long, value_name = "ROLES", default_value = "")]
    roles: String,
    /// Executions run at once, if it has the role engine.
    #[arg(long, value_name = "N")]
    slots: Option<usize>,
}

#[derive(clap::Args)]
pub(super) struct WorkerArgs {
    #[command(flatten)]
    places: PlacesArgs,
    /// What this worker does: any of engine, timers, scheduler, reaper.
    #[arg(long, value_name = "ROLES", default_value = "all")]
    roles: String,
    /// Executions run at once.
    #[arg(long, value_name = "N")]
    slots: Option<usize>,
    /// Address and port for /metrics, /health/live and /health/ready, without keys; a port alone is on this machine
    /// only [default: not served]
    #[arg(long, value_name = "ADDRESS", env = "PAWL_METRICS_LISTEN")]
    metrics_listen: Option<String>,
}

pub(super) async fn server(args: ServerArgs, common: &Common) -> Done {
    let mut config = local::config(common)?;
    let roles = roles(&args.roles)?;
    let slots = slots(args.slots)?;
    let member = args.places.membership(&config, roles, slots)?;
    let address = address(args.listen.as_deref(), &config)?;
    let admin_key = admin_key()?;
    let mut signals = Signals::listen()?;
    let listener = dev::bind(dev::LISTEN, address).await?;
    config.http.own.extend(listener.local_addr());
    let cluster = Box::pin(Cluster::join(&member, &config)).await?;
    // Workers may have another configuration file; the servers' is the one that counts.
    wiring::configure_quotas(&cluster.control, &config).await?;
    let control = cluster.control.clone();
    let state = ApiState::with_keys(control, Limits::from(&config), admin_key.as_deref())
        .map_err(|error| Failure::bad_input(error.to_string()))?
        .taking_starts(config.broker.accept_external)
        .presenting(&config.ui);
    announce_server(&listener, roles, admin_key.is_some(), common.json)?;
    let stop = CancellationToken::new();
    let mut api = Services::default();
    let serving = api::serve(listener, state, stop.clone());
    api.add("the API", lifetime::serving(serving));
    run(cluster, api, stop, &mut signals).await
}

pub(super) async fn worker(args: WorkerArgs, common: &Common) -> Done {
    let mut config = local::config(common)?;
    let roles = roles(&args.roles)?;
    if roles == Roles::NONE {
        return Err(Failure::bad_input(
            "--roles: a worker needs at least one of engine, timers, scheduler, reaper",
        ));
    }
    let slots = slots(args.slots)?;
    let member = args.places.membership(&config, roles, slots)?;
    let metrics = metrics_address(args.metrics_listen.as_deref(), &config)?;
    let mut signals = Signals::listen()?;
    let listener = match metrics {
        Some(address) => Some(dev::bind(METRICS_LISTEN, address).await?),
        None => None,
    };
    let own = listener.as_ref().map(TcpListener::local_addr);
    config.http.own.extend(own.into_iter().flatten());
    let cluster = Box::pin(Cluster::join(&member, &config)).await?;
    announce_worker(&cluster, roles, listener.as_ref(), common.json)?;
    let stop = CancellationToken::new();
    let mut pages = Services::default();
    if let Some(listener) = listener {
        let runtime = cluster.control.runtime().clone();
        let serving = api::metrics::serve(listener, runtime, stop.clone());
        pages.add("the server for metrics", lifetime::serving(serving));
    }
    run(cluster, pages, stop, &mut signals).await
}

/// Until a signal comes or something ends by itself. `stop` ends what is served.
async fn run(
    mut cluster: Cluster,
    mut served: Services,
    stop: CancellationToken,
    signals: &mut Signals,
) -> Done {
    let broken = async {
        tokio::select! {
            broken = cluster.broken() => broken,
            broken = served.broken() => broken,
        }
    };
    let end = lifetime::until_asked(signals.next(), broken).await;
    stop.cancel();
    let put_away = async {
        served.finish().await;
        cluster.shutdown().await;
    };
    lifetime::leave(end, put_away, signals).await
}

/// Looked at before anything is connected to: a server that no client can use must not join.
fn admin_key() -> Result<Option<String>, Failure> {
    let key = match std::env::var("PAWL_ADMIN_KEY") {
        Ok(key) => Some(key),
        Err(VarError::NotPresent) => None,
        Err(VarError::NotUnicode(_)) => {
            return Err(Failure::bad_input("PAWL_ADMIN_KEY is no text"));
        }
    };
    api::check_admin_key(key.as_deref()).map_err(|error| Failure::bad_input(error.to_string()))?;
    Ok(key)
}

fn roles(text: &str) -> Result<Roles, Failure> {
    Roles::parse(text).map_err(|name| {
        Failure::bad_input(format!(
            "--roles: `{name}` is no role; there are engine, timers, scheduler, reaper and all"
        ))
    })
}

fn slots(slots: Option<usize>) -> Result<Option<usize>, Failure> {
    match slots {
        Some(count) if !(1..=10_000).contains(&count) => {
            Err(Failure::bad_input("--slots must be between 1 and 10000"))
        }
        other => Ok(other),
    }
}

fn address(flag: Option<&str>, config: &Config) -> Result<SocketAddr, Failure> {
    match (flag, config.listen) {
        (Some(text), _) => dev::parse_address(dev::LISTEN, text),
        (None, Some(address)) => Ok(address),
        (None, None) => dev::parse_address(dev::LISTEN, USUAL_ADDRESS),
    }
}

fn metrics_address(flag: Option<&str>, config: &Config) -> Result<Option<SocketAddr>, Failure> {
    let given = flag.map(|text| dev::parse_address(METRICS_LISTEN, text));
    Ok(given.transpose()?.or(config.metrics_listen))
}

fn announce_server(listener: &TcpListener, roles: Roles, has_admin: bool, as_json: bool) -> Done {
    let url = dev::url_of(listener)?;
    if as_json {
        let line = json!({"url": url, "docs": format!("{url}/api/docs"), "roles": roles.names()});
        return terminal::say(&text::json_line(&line));
    }
    let style = Style::stdout();
    let mut text = format!(
        "\n{} {} serves {url}   docs {url}/api/docs\n",
        style.bold("Pawl"),
        env!("CARGO_PKG_VERSION")
    );
    if roles != Roles::NONE {
        text += &format!("  Roles     {}\n", roles.names().join(", "));
    }
    if !has_admin {
        text += "  PAWL_ADMIN_KEY is not set: only keys that exist already are let in.\n";
    }
    terminal::print(&text)
}

fn announce_worker(
    cluster: &Cluster,
    roles: Roles,
    metrics: Option<&TcpListener>,
    as_json: bool,
) -> Done {
    let options = &cluster.control.runtime().options;
    let metrics = metrics.map(dev::url_of).transpose()?;
    if as_json {
        let line = json!({"worker": options.worker_id, "roles": roles.names(), "slots": options.slots, "metrics": metrics});
        return terminal::say(&text::json_line(&line));
    }
    let mut text = format!(
        "\n{} {} worker {} is running: {}, {} slots. Ctrl-C finishes what is in hand and stops.\n",
        Style::stdout().bold("Pawl"),
        env!("CARGO_PKG_VERSION"),
        options.worker_id,
        roles.names().join(", "),
        options.slots
    );
    if let Some(url) = metrics {
        text += &format!("  Metrics   {url}/metrics\n");
    }
    terminal::print(&text)
}
