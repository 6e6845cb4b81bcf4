//! `pawl dev`: everything in one process on one data folder, for this machine only.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use pawl_engine::ServiceRunner;
use pawl_engine::control::{TriggerKeeper, keep_all_triggers_in_step};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::failure::{Done, Failure};
use super::local::Local;
use super::signals::Signals;
use super::terminal::{self, Style};
use super::{Common, browser, examples, lifetime, local, text};
use crate::api::{self, ApiState, Limits};
use crate::config::Config;
use crate::echo;
use crate::services::Services;
use crate::wiring;

const USUAL_ADDRESS: &str = "127.0.0.1:8080";
pub(super) const LISTEN: &str = "--listen";
const USUAL_FOLDER: &str = "pawl-data";

#[derive(clap::Args)]
pub(super) struct DevArgs {
    /// The folder with all data; made if it is not there [default: ./pawl-data]
    #[arg(long, value_name = "DIR", env = "PAWL_DATA")]
    data: Option<PathBuf>,
    /// Address and port of the API, on this machine only [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", env = "PAWL_LISTEN")]
    listen: Option<String>,
    /// Open the UI in a browser.
    #[arg(long)]
    open: bool,
}

pub(super) async fn dev(args: DevArgs, common: &Common) -> Done {
    let mut config = local::config(common)?;
    let address = address(args.listen.as_deref(), &config)?;
    let data = args
        .data
        .or_else(|| config.data.clone())
        .unwrap_or_else(|| USUAL_FOLDER.into());
    let mut signals = Signals::listen()?;
    let listener = bind(LISTEN, address).await?;
    config.http.own.extend(listener.local_addr());
    let local = Box::pin(Local::start(&data, &config, echo::USUAL_PORT)).await?;
    wiring::configure_quotas(local.control(), &config).await?;
    wiring::look_for_exposure(local.control().runtime(), &config)?;
    let loaded = examples::load_once(local.control()).await?;
    // Before the first request: those of the examples, and of what was saved right before the last stop.
    keep_all_triggers_in_step(local.control().runtime()).await?;
    banner(&local, &listener, &data, loaded, common.json).await?;
    if args.open {
        browser::open(&url_of(&listener)?);
    }
    Box::pin(serve(local, listener, &config, &mut signals)).await
}

fn address(flag: Option<&str>, config: &Config) -> Result<SocketAddr, Failure> {
    let address = match (flag, config.listen) {
        (Some(text), _) => parse_address(LISTEN, text)?,
        (None, Some(address)) => address,
        (None, None) => parse_address(LISTEN, USUAL_ADDRESS)?,
    };
    if address.ip().is_loopback() {
        return Ok(address);
    }
    Err(Failure::bad_input(format!(
        "`pawl dev` needs no login and so listens on this machine only: use 127.0.0.1:{0} or [::1]:{0}, not {address}",
        address.port()
    )))
}

/// `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, or just a port.
pub(super) fn parse_address(flag: &str, text: &str) -> Result<SocketAddr, Failure> {
    let spelled = match (text.parse::<u16>(), text.strip_prefix("localhost:")) {
        (Ok(port), _) => format!("127.0.0.1:{port}"),
        (_, Some(port)) => format!("127.0.0.1:{port}"),
        _ => text.to_owned(),
    };
    spelled.parse().map_err(|_| {
        Failure::bad_input(format!(
            "{flag}: `{text}` is no address; write 127.0.0.1:8080"
        ))
    })
}

pub(super) async fn bind(flag: &str, address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::AddrInUse => {
                "another program (perhaps another Pawl) uses this port; choose one"
            }
            ErrorKind::PermissionDenied => "this user may not use that port; choose one above 1023",
            _ => "choose another address",
        };
        Failure::failed(format!(
            "cannot listen on {address}: {error}; {advice} with {flag} 127.0.0.1:PORT"
        ))
    })
}

async fn banner(
    local: &Local,
    listener: &TcpListener,
    data: &Path,
    loaded: usize,
    as_json: bool,
) -> Done {
    let url = url_of(listener)?;
    if as_json {
        let line = json!({
            "url": url,
            "docs": format!("{url}/api/docs"),
            "data": data.display().to_string(),
            "echo_url": local.echo_url(),
            "examples_loaded": loaded,
        });
        return terminal::say(&text::json_line(&line));
    }
    let style = Style::stdout();
    let first = local
        .control()
        .runtime()
        .store
        .schema(examples::ALL[0].0)
        .await?;
    let mut lines = vec![
        format!(
            "{} {} is running. Ctrl-C stops it; started again, everything goes on.",
            style.bold("Pawl"),
            env!("CARGO_PKG_VERSION")
        ),
        String::new(),
        format!("  UI        {}", style.bold(&url)),
        format!("  API       {url}/api   docs {url}/api/docs"),
        format!("  Data      {}", data.display()),
        format!(
            "  Examples  {}their services are at {}",
            loaded_text(loaded),
            local.echo_url()
        ),
    ];
    if let Some(schema) = first.filter(|schema| schema.active) {
        lines.extend([
            String::new(),
            "Start one and see its result:".into(),
            String::new(),
        ]);
        lines.push(format!("  {}", style.bold(&suggestion(&url, &schema.name))));
    }
    lines.push(String::new());
    terminal::print(&format!("\n{}\n", lines.join("\n")))
}

pub(super) fn url_of(listener: &TcpListener) -> Result<String, Failure> {
    let address = listener
        .local_addr()
        .map_err(|error| Failure::failed(format!("no address: {error}")))?;
    Ok(format!("http://{address}"))
}

fn loaded_text(loaded: usize) -> String {
    match loaded {
        0 => String::new(),
        many => format!("{many} loaded; "),
    }
}

fn suggestion(url: &str, schema: &str) -> String {
    let body = json!({"schema": schema, "input": {"order_id": 1001}});
    format!(
        "curl -s '{url}/api/executions?wait=10s' -H 'content-type: application/json' -d '{body}'"
    )
}

/// Until a signal comes, or the worker or the API ends by itself.
async fn serve(
    mut local: Local,
    listener: TcpListener,
    config: &Config,
    signals: &mut Signals,
) -> Done {
    let stop = CancellationToken::new();
    let state = ApiState::new(local.control().clone(), Limits::from(config)).presenting(&config.ui);
    let mut api = Services::default();
    api.add(
        "the API",
        lifetime::serving(api::serve(listener, state, stop.clone())),
    );
    let mut helpers = Services::default();
    let runtime = local.control().runtime();
    let runner = ServiceRunner::new(runtime, stop.clone());
    let keeping = runner.run(TriggerKeeper::new(runtime.clone()));
    helpers.add("the keeper of cron triggers", keeping);
    let broken = async {
        tokio::select! {
            broken = local.broken() => broken,
            broken = api.broken() => broken,
            broken = helpers.broken() => broken,
        }
    };
    let end = lifetime::until_asked(signals.next(), broken).await;
    stop.cancel();
    let put_away = async {
        helpers.abort();
        api.finish().await;
        local.shutdown().await;
    };
    lifetime::leave(end, put_away, signals).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_every_spelling() {
        for (text, address) in [
            ("127.0.0.1:9000", "127.0.0.1:9000"),
            ("localhost:9000", "127.0.0.1:9000"),
            ("9000", "127.0.0.1:9000"),
            ("[::1]:9000", "[::1]:9000"),
        ] {
            assert_eq!(parse_address(LISTEN, text).unwrap().to_string(), address);
        }
        for bad in ["", "host", "127.0.0.1", "127.0.0.1:99999", "::1:80:"] {
            assert!(parse_address(LISTEN, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_this_machine() {
        assert!(address(Some("0.0.0.0:8080"), &Config::default()).is_err());
        assert!(address(Some("[::]:8080"), &Config::default()).is_err());
        assert!(address(None, &Config::default()).is_ok());
    }
}
