//! `pawl gc`: removes what is past its retention now, instead of within the hour.

use serde_json::{Value, json};

use super::client::{self, Client, Content, Server};
use super::failure::{Done, Failure};
use super::schemas::pair;
use super::table::Table;
use super::{Common, terminal, validate};
use crate::wire::{GcReport, GcRequest, GcSchema, Text};

#[derive(clap::Args)]
pub(super) struct GcArgs {
    /// Only count what would go.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    server: Server,
}

pub(super) async fn gc(args: GcArgs, common: &Common) -> Done {
    let client = Client::new(&args.server)?;
    let mut total = Total::default();
    let mut after = None;
    loop {
        let body = Content::of(&GcRequest {
            dry_run: Some(Some(args.dry_run)),
            after,
        })?;
        let answer: GcReport = client::read(&client.post(&["gc"], body).await?)?;
        let more = answer.more;
        after = answer.next.clone().map(Text);
        let got_on = total.add(answer);
        // Space that cannot be given back now is tried again within the hour.
        if after.is_none() && !(got_on && more) {
            break;
        }
    }
    match common.json {
        true => terminal::print_json(&total.json(args.dry_run)),
        false => total.show(args.dry_run),
    }
}

/// What all calls came to.
#[derive(Default)]
struct Total {
    executions: u64,
    history_rows: u64,
    signals: u64,
    dead_letters: u64,
    dropped_tables: Vec<String>,
    bytes: u64,
    schemas: Vec<GcSchema>,
}

impl Total {
    /// Did the call do anything?
    fn add(&mut self, answer: GcReport) -> bool {
        self.executions += answer.executions;
        self.history_rows += answer.history_rows;
        self.signals += answer.signals;
        self.dead_letters += answer.dead_letters;
        self.bytes += answer.bytes;
        let tables = answer.dropped_tables;
        let got_on = answer.executions + answer.bytes + tables.len() as u64 > 0;
        self.dropped_tables.extend(tables);
        for schema in answer.schemas {
            self.add_schema(schema);
        }
        got_on
    }

    /// A schema may take several calls.
    fn add_schema(&mut self, schema: GcSchema) {
        let known = self
            .schemas
            .iter_mut()
            .find(|known| known.schema_id == schema.schema_id);
        match known {
            Some(known) => known.executions += schema.executions,
            None => self.schemas.push(schema),
        }
    }

    fn json(&self, dry_run: bool) -> Value {
        json!({
            "dry_run": dry_run,
            "executions": self.executions,
            "history_rows": self.history_rows,
            "signals": self.signals,
            "dead_letters": self.dead_letters,
            "dropped_tables": self.dropped_tables,
            "bytes": self.bytes,
            "schemas": self.schemas,
        })
    }

    fn show(&self, dry_run: bool) -> Result<(), Failure> {
        let executions = usize::try_from(self.executions).unwrap_or(usize::MAX);
        let some = validate::some(executions, "execution");
        terminal::say(&match dry_run {
            true => format!("{some} would be removed"),
            false => format!("{some} removed"),
        })?;
        if !self.schemas.is_empty() {
            let mut table = Table::new(["SCHEMA", "KEPT FOR", "EXECUTIONS"]);
            for schema in &self.schemas {
                let name = match &schema.schema {
                    None => format!("{} (deleted)", schema.schema_id),
                    Some(name) => name.clone(),
                };
                table.row([
                    name.into(),
                    schema.retention.as_str().into(),
                    schema.executions.to_string().into(),
                ]);
            }
            table.print()?;
        }
        if dry_run {
            return Ok(());
        }
        self.show_rest()
    }

    fn show_rest(&self) -> Done {
        for (name, count) in [
            ("history rows", self.history_rows),
            ("signals", self.signals),
            ("dead letters", self.dead_letters),
            ("bytes given back", self.bytes),
        ] {
            if count > 0 {
                pair(name, &count.to_string())?;
            }
        }
        for table in &self.dropped_tables {
            pair("dropped", table)?;
        }
        Ok(())
    }
}
