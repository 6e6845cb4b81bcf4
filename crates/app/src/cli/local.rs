//! An engine in this process, with the echo service that the examples talk to.

use std::path::Path;
use std::sync::Arc;

use pawl_engine::Options;
use pawl_engine::control::Control;
use pawl_kernel::id::{SchemaId, time_ordered};
use pawl_kernel::ports::store::{CatalogError, SaveMode, SaveSchema, SchemaRecord, SourceText};
use pawl_kernel::schema;
use pawl_kernel::schema::definition::Definition;
use pawl_kernel::user::{self, Writer};

use super::Common;
use super::failure::Failure;
use crate::config::Config;
use crate::echo::{self, Echo};
use crate::wiring::{self, EmbeddedEngine, ServiceFailure, WiringError};

/// Who starts executions where there are no users.
pub(super) const DEVELOPER: &str = "dev";

pub(super) struct Local {
    embedded: EmbeddedEngine,
    echo: Echo,
}

impl Local {
    pub(super) async fn start(
        data: &Path,
        config: &Config,
        echo_port: u16,
    ) -> Result<Self, Failure> {
        wiring::check_secrets(config)?;
        let echo = Echo::start(echo_port)
            .await
            .map_err(|error| Failure::failed(format!("cannot start the echo service: {error}")))?;
        let registry = Arc::new(wiring::registry(config, true)?);
        let mut options = Options {
            exclusive: true,
            worker_id: wiring::worker_id(),
            ..config.engine_options()
        };
        options
            .env
            .entry(echo::VARIABLE)
            .or_insert_with(|| echo.url().into());
        let embedded = EmbeddedEngine::start_with(data, registry, options).await?;
        Ok(Self { embedded, echo })
    }

    pub(super) fn control(&self) -> &Control {
        &self.embedded.control
    }

    pub(super) fn echo_url(&self) -> &str {
        self.echo.url()
    }

    /// Returns when the engine has ended by itself.
    pub(super) async fn broken(&mut self) -> ServiceFailure {
        self.embedded.broken().await
    }

    pub(super) async fn shutdown(self) {
        self.embedded.shutdown().await;
    }
}

impl From<WiringError> for Failure {
    fn from(error: WiringError) -> Self {
        match error {
            WiringError::Config(message) => Self::BadInput(message),
            other => Self::Failed(other.to_string()),
        }
    }
}

pub(super) fn config(common: &Common) -> Result<Config, Failure> {
    Config::load(common.config.as_deref()).map_err(|error| Failure::bad_input(error.to_string()))
}

/// Saves a checked schema; one of that name gets a new version. `source` is what it was read from.
pub(super) async fn save(
    control: &Control,
    definition: &Definition,
    source: Option<SourceText>,
) -> Result<SchemaRecord, Failure> {
    let runtime = control.runtime();
    let known = runtime.store.schema(&definition.name).await?;
    let now = runtime.clock.now();
    let save = SaveSchema {
        id: SchemaId(time_ordered(now, &*runtime.entropy)),
        name: definition.name.clone(),
        description: definition.description.clone(),
        definition: schema::to_stored_json(definition),
        hash: schema::content_hash(definition),
        source,
        note: None,
        created_by: Writer::with_user(DEVELOPER, user::developer()),
        now,
        mode: known.map_or(SaveMode::Create, |known| SaveMode::Update {
            id: known.id,
            if_version: None,
            publish: true,
        }),
    };
    runtime
        .store
        .save_schema(save)
        .await
        .map_err(|error: CatalogError| Failure::failed(error.to_string()))
}
