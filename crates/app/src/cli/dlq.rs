//! `pawl dlq …`: what could not be processed.

use super::client::{self, Client, Content, Server};
use super::failure::Done;
use super::schemas::pair;
use super::table::Table;
use super::{Common, terminal, text};
use crate::wire::{DeadLetter, Page, Requeue, WholeDeadLetter};

#[derive(clap::Subcommand)]
pub(super) enum LetterCommand {
    /// Dead letters, oldest first.
    List {
        /// Only those that were not requeued yet.
        #[arg(long)]
        open: bool,
        /// At most so many, up to 500.
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// `next` of the page before, as `--json` shows it.
        #[arg(long)]
        cursor: Option<String>,
        #[command(flatten)]
        server: Server,
    },
    /// One dead letter, with the message if it could not be read.
    Show(OneLetter),
    /// Let it go on: a new message, or a retry of the execution that failed. May be repeated.
    Requeue(OneLetter),
}

#[derive(clap::Args)]
pub(super) struct OneLetter {
    /// Its number.
    id: u64,
    #[command(flatten)]
    server: Server,
}

pub(super) async fn letter(command: LetterCommand, common: &Common) -> Done {
    let json = common.json;
    match command {
        LetterCommand::List {
            open,
            limit,
            cursor,
            server,
        } => list(&Client::new(&server)?, open, limit, cursor, json).await,
        LetterCommand::Show(which) => show(which, json).await,
        LetterCommand::Requeue(which) => requeue(which, json).await,
    }
}

async fn list(client: &Client, open: bool, limit: u32, cursor: Option<String>, json: bool) -> Done {
    let mut url = client.at(&["dead-letters"]);
    url.query_pairs_mut()
        .append_pair("limit", &limit.to_string())
        .extend_pairs(open.then_some(("open", "true")))
        .extend_pairs(cursor.map(|cursor| ("cursor", cursor)));
    let answer = client.get_url(url).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let mut table = Table::new(["ID", "CREATED", "EXECUTION", "REQUEUED", "REASON"]);
    let page: Page<DeadLetter> = client::read(&answer)?;
    for item in &page.items {
        table.row([
            item.id.to_string().into(),
            text::time(item.created_at).into(),
            text::optional(item.execution_id).into(),
            text::time(item.requeued_at).into(),
            item.reason.as_ref().into(),
        ]);
    }
    table.print()?;
    match page.next {
        Some(next) => terminal::say(&format!("more: --cursor {}", text::clean(&next))),
        None => Ok(()),
    }
}

async fn show(which: OneLetter, json: bool) -> Done {
    let client = Client::new(&which.server)?;
    let letter = client.get(&["dead-letters", &which.id.to_string()]).await?;
    if json {
        return terminal::print_json(&letter);
    }
    let whole: WholeDeadLetter = client::read(&letter)?;
    describe(&whole.letter)?;
    match whole.message {
        Some(message) => terminal::say(&format!("\n{}", text::clean(&message))),
        None => Ok(()),
    }
}

fn describe(letter: &DeadLetter<'_>) -> Done {
    pair("id", &letter.id.to_string())?;
    pair("execution_id", &text::optional(letter.execution_id))?;
    pair("reason", &text::line(&letter.reason))?;
    pair("message_bytes", &text::optional(letter.message_bytes))?;
    pair("created", &text::time(letter.created_at))?;
    pair("requeued", &text::time(letter.requeued_at))?;
    pair("requeued_as", &text::optional(letter.requeued_as))
}

async fn requeue(which: OneLetter, json: bool) -> Done {
    let client = Client::new(&which.server)?;
    let id = which.id.to_string();
    let answer = client
        .post(&["dead-letters", &id, "requeue"], Content::None)
        .await?;
    if json {
        return terminal::print_json(&answer);
    }
    let requeue: Requeue = client::read(&answer)?;
    let (id, status) = (requeue.execution.id, text::line(&requeue.execution.status));
    terminal::say(&match requeue.action.as_str() {
        "retry" => format!("goes on as execution {id}, which is {status}"),
        "start" => format!("started as execution {id}, which is {status}"),
        "look" => format!("execution {id} was sent to a worker again; it is {status}"),
        _ => format!("nothing to do: execution {id} has {status}"),
    })
}
