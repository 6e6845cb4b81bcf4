//! `pawl gc`: removes what is past its retention now, instead of within the hour.

use serde_json::{Value, json};

use super::client::{Client, Content, Server};
use super::failure::{Done, Failure};
use super::schemas::{field, pair};
use super::table::Table;
use super::{Common, terminal, validate};

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
    let mut after = Value::Null;
    loop {
        let body = json!({"dry_run": args.dry_run, "after": after});
        let answer = client.post(&["gc"], Content::Json(body)).await?;
        let got_on = total.add(&answer);
        after = answer["next"].clone();
        // Space that cannot be given back now is tried again within the hour.
        if after.is_null() && !(got_on && answer["more"] == true) {
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
    dropped_tables: Vec<Value>,
    bytes: u64,
    schemas: Vec<Value>,
}

impl Total {
    /// Did the call do anything?
    fn add(&mut self, answer: &Value) -> bool {
        let count = |name: &str| answer[name].as_u64().unwrap_or(0);
        let list = |name: &str| answer[name].as_array().cloned().unwrap_or_default();
        self.executions += count("executions");
        self.history_rows += count("history_rows");
        self.signals += count("signals");
        self.dead_letters += count("dead_letters");
        self.bytes += count("bytes");
        let tables = list("dropped_tables");
        let got_on = count("executions") + count("bytes") + tables.len() as u64 > 0;
        self.dropped_tables.extend(tables);
        for schema in list("schemas") {
            self.add_schema(schema);
        }
        got_on
    }

    /// A schema may take several calls.
    fn add_schema(&mut self, schema: Value) {
        let known = self
            .schemas
            .iter_mut()
            .find(|known| known["schema_id"] == schema["schema_id"]);
        let executions = |schema: &Value| schema["executions"].as_u64().unwrap_or(0);
        match known {
            Some(known) => known["executions"] = (executions(known) + executions(&schema)).into(),
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
                let name = match field(schema, "schema") {
                    name if name.is_empty() => format!("{} (deleted)", field(schema, "schema_id")),
                    name => name,
                };
                table.row([
                    name.into(),
                    field(schema, "retention").into(),
                    field(schema, "executions").into(),
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
            pair("dropped", table.as_str().unwrap_or_default())?;
        }
        Ok(())
    }
}
