//! `pawl doctor`: does every open execution have something that will move it?

use http::Method;

use super::client::{self, Client, Content, Server};
use super::failure::{Done, Failure};
use super::schemas::pair;
use super::table::Table;
use super::{Common, terminal, text, validate};
use crate::wire::DoctorReport;

#[derive(clap::Args)]
pub(super) struct DoctorArgs {
    /// Repair what can be repaired.
    #[arg(long)]
    fix: bool,
    #[command(flatten)]
    server: Server,
}

/// Exit 1 if something is wrong and was not repaired: so it can watch over an installation.
pub(super) async fn doctor(args: DoctorArgs, common: &Common) -> Done {
    let client = Client::new(&args.server)?;
    let method = if args.fix { Method::POST } else { Method::GET };
    let answer = client
        .ask(method, client.at(&["doctor"]), Content::None)
        .await?;
    let report: DoctorReport = client::read(&answer)?;
    if common.json {
        terminal::print_json(&answer)?;
    } else {
        show(&report)?;
    }
    if report.findings.iter().all(|finding| finding.fixed) {
        Ok(())
    } else {
        Err(Failure::Said(1))
    }
}

fn show(report: &DoctorReport) -> Done {
    for (name, value) in &report.about {
        pair(name, &text::brief(value, usize::MAX))?;
    }
    let open = usize::try_from(report.open_executions).unwrap_or(usize::MAX);
    let count = report.findings.len();
    terminal::say(&format!(
        "{} checked, {} found",
        validate::some(open, "open execution"),
        validate::some(count, "problem")
    ))?;
    if count == 0 {
        return Ok(());
    }
    let mut table = Table::new(["EXECUTION", "SCHEMA", "PROBLEM", "FIXED", "DETAIL"]);
    for finding in &report.findings {
        let subject = match finding.execution_id.as_str() {
            "" => text::optional(finding.quota.as_ref()),
            id => id.to_owned(),
        };
        table.row([
            subject.into(),
            finding.schema.as_str().into(),
            finding.problem.as_ref().into(),
            if finding.fixed { "yes" } else { "no" }.into(),
            finding.detail.as_str().into(),
        ]);
    }
    table.print()
}
