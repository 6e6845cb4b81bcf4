//! What editors keep beside the versions of a schema.

use async_trait::async_trait;
use pawl_kernel::id::SchemaId;
use pawl_kernel::operations::{EditorRows, Pin, PinHead, StoredLayout};
use pawl_kernel::ports::store::StoreResult;
use tokio_postgres::Row;

use crate::error::Outcome;
use crate::rows::Reader;
use crate::session::{Params, Session};
use crate::sql::{self, Sql};
use crate::transaction::SessionTransaction;
use crate::value::{Text, Time};

#[async_trait]
impl EditorRows for SessionTransaction<'_> {
    async fn lock_schema(&mut self, id: SchemaId) -> StoreResult<bool> {
        let session = self.session;
        self.ask(is_known(session, id)).await
    }

    async fn layout(&mut self, id: SchemaId) -> StoreResult<Option<StoredLayout>> {
        let session = self.session;
        self.ask(layout(session, id)).await
    }

    async fn put_layout(&mut self, id: SchemaId, layout: &StoredLayout) -> StoreResult<()> {
        let session = self.session;
        self.ask(put_layout(session, id, layout)).await
    }

    async fn pins(&mut self, id: SchemaId) -> StoreResult<Vec<Pin>> {
        let session = self.session;
        self.ask(pins(session, id)).await
    }

    async fn pin_heads(&mut self, id: SchemaId) -> StoreResult<Vec<PinHead>> {
        let session = self.session;
        self.ask(pin_heads(session, id)).await
    }

    async fn pin(&mut self, id: SchemaId, node: &str) -> StoreResult<Option<Pin>> {
        let session = self.session;
        self.ask(pin(session, id, node)).await
    }

    async fn put_pin(&mut self, id: SchemaId, pin: &Pin) -> StoreResult<()> {
        let session = self.session;
        self.ask(put_pin(session, id, pin)).await
    }

    async fn remove_pin(&mut self, id: SchemaId, node: &str) -> StoreResult<bool> {
        let session = self.session;
        self.ask(remove_pin(session, id, node)).await
    }
}

/// Inside a transaction.
async fn rows_of(session: &Session, sql: &'static Sql, params: Params<'_>) -> Outcome<Vec<Row>> {
    session.ready(&[sql]).await?;
    session.rows(sql, params).await
}

async fn is_known(session: &Session, id: SchemaId) -> Outcome<bool> {
    let rows = rows_of(session, &sql::SCHEMA_KNOWN, &[&id.0]).await?;
    Ok(!rows.is_empty())
}

async fn layout(session: &Session, id: SchemaId) -> Outcome<Option<StoredLayout>> {
    let rows = rows_of(session, &sql::LAYOUT_LOAD, &[&id.0]).await?;
    let layout = |row: &Row| {
        let mut reader = Reader::new(row);
        Ok(StoredLayout {
            revision: reader.get::<i64>()? as u64,
            layout: reader.text()?,
            updated_by: reader.text()?,
            updated_at: reader.time()?,
        })
    };
    rows.first().map(layout).transpose()
}

async fn put_layout(session: &Session, id: SchemaId, layout: &StoredLayout) -> Outcome<()> {
    let revision = layout.revision as i64;
    let (text, by) = (Text::new(&layout.layout), Text::new(&layout.updated_by));
    let at = Time(layout.updated_at);
    rows_of(
        session,
        &sql::LAYOUT_PUT,
        &[&id.0, &revision, &text, &by, &at],
    )
    .await?;
    Ok(())
}

async fn pins(session: &Session, id: SchemaId) -> Outcome<Vec<Pin>> {
    let rows = rows_of(session, &sql::PINS_LOAD, &[&id.0]).await?;
    rows.iter().map(pin_of).collect()
}

async fn pin_heads(session: &Session, id: SchemaId) -> Outcome<Vec<PinHead>> {
    let rows = rows_of(session, &sql::PIN_HEADS, &[&id.0]).await?;
    let head = |row: &Row| {
        let mut reader = Reader::new(row);
        Ok(PinHead {
            node_id: reader.text()?,
            handle: reader.optional_text()?,
            bytes: reader.get::<i64>()? as u64,
            updated_by: reader.text()?,
            updated_at: reader.time()?,
        })
    };
    rows.iter().map(head).collect()
}

async fn pin(session: &Session, id: SchemaId, node: &str) -> Outcome<Option<Pin>> {
    let rows = rows_of(session, &sql::PIN_LOAD, &[&id.0, &Text::new(node)]).await?;
    rows.first().map(pin_of).transpose()
}

fn pin_of(row: &Row) -> Outcome<Pin> {
    let mut reader = Reader::new(row);
    Ok(Pin {
        node_id: reader.text()?,
        handle: reader.optional_text()?,
        output: reader.text()?,
        updated_by: reader.text()?,
        updated_at: reader.time()?,
    })
}

async fn put_pin(session: &Session, id: SchemaId, pin: &Pin) -> Outcome<()> {
    let (node, handle) = (
        Text::new(&pin.node_id),
        pin.handle.as_deref().map(Text::new),
    );
    let (output, by) = (Text::new(&pin.output), Text::new(&pin.updated_by));
    let (bytes, at) = (pin.output.len() as i64, Time(pin.updated_at));
    let params: Params<'_> = &[&id.0, &node, &handle, &output, &bytes, &by, &at];
    rows_of(session, &sql::PIN_PUT, params).await?;
    Ok(())
}

async fn remove_pin(session: &Session, id: SchemaId, node: &str) -> Outcome<bool> {
    let rows = rows_of(session, &sql::PIN_REMOVE, &[&id.0, &Text::new(node)]).await?;
    Ok(!rows.is_empty())
}

/// All of a schema that is deleted.
pub(crate) async fn remove(session: &Session, id: SchemaId) -> Outcome<()> {
    rows_of(session, &sql::LAYOUT_REMOVE, &[&id.0]).await?;
    rows_of(session, &sql::PINS_REMOVE, &[&id.0]).await?;
    Ok(())
}
