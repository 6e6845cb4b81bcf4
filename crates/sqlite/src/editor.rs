//! What editors keep beside the versions of a schema.

use async_trait::async_trait;
use pawl_kernel::id::SchemaId;
use pawl_kernel::operations::{EditorRows, Pin, PinHead, StoredLayout};
use pawl_kernel::ports::store::StoreResult;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::fault::JobResult;
use crate::rows;
use crate::sql;
use crate::transaction::ConnectionTransaction;

#[async_trait]
impl EditorRows for ConnectionTransaction<'_> {
    async fn lock_schema(&mut self, id: SchemaId) -> StoreResult<bool> {
        let found = is_known(self.connection, id);
        self.keep(found)
    }

    async fn layout(&mut self, id: SchemaId) -> StoreResult<Option<StoredLayout>> {
        let found = layout(self.connection, id);
        self.keep(found)
    }

    async fn put_layout(&mut self, id: SchemaId, layout: &StoredLayout) -> StoreResult<()> {
        let done = put_layout(self.connection, id, layout);
        self.keep(done)
    }

    async fn pins(&mut self, id: SchemaId) -> StoreResult<Vec<Pin>> {
        let found = pins(self.connection, id);
        self.keep(found)
    }

    async fn pin_heads(&mut self, id: SchemaId) -> StoreResult<Vec<PinHead>> {
        let found = pin_heads(self.connection, id);
        self.keep(found)
    }

    async fn pin(&mut self, id: SchemaId, node: &str) -> StoreResult<Option<Pin>> {
        let found = pin(self.connection, id, node);
        self.keep(found)
    }

    async fn put_pin(&mut self, id: SchemaId, pin: &Pin) -> StoreResult<()> {
        let done = put_pin(self.connection, id, pin);
        self.keep(done)
    }

    async fn remove_pin(&mut self, id: SchemaId, node: &str) -> StoreResult<bool> {
        let done = remove_pin(self.connection, id, node);
        self.keep(done)
    }
}

/// The writer is alone with the database: to know it is to have it locked.
fn is_known(connection: &Connection, id: SchemaId) -> JobResult<bool> {
    let mut statement = connection.prepare_cached(sql::SCHEMA_KNOWN)?;
    Ok(statement.exists([id.0.as_bytes()])?)
}

fn layout(connection: &Connection, id: SchemaId) -> JobResult<Option<StoredLayout>> {
    let found = connection
        .prepare_cached(sql::LAYOUT_LOAD)?
        .query_row([id.0.as_bytes()], |row| {
            Ok(StoredLayout {
                revision: row.get::<_, i64>(0)? as u64,
                layout: row.get(1)?,
                updated_by: row.get(2)?,
                updated_at: rows::time(row, 3)?,
            })
        })
        .optional()?;
    Ok(found)
}

fn put_layout(connection: &Connection, id: SchemaId, layout: &StoredLayout) -> JobResult<()> {
    connection
        .prepare_cached(sql::LAYOUT_PUT)?
        .execute(params![
            id.0.as_bytes(),
            layout.revision as i64,
            layout.layout,
            layout.updated_by,
            layout.updated_at.as_micros()
        ])?;
    Ok(())
}

fn pins(connection: &Connection, id: SchemaId) -> JobResult<Vec<Pin>> {
    let mut statement = connection.prepare_cached(sql::PINS_LOAD)?;
    let found = statement.query_map([id.0.as_bytes()], pin_of)?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn pin_heads(connection: &Connection, id: SchemaId) -> JobResult<Vec<PinHead>> {
    let mut statement = connection.prepare_cached(sql::PIN_HEADS)?;
    let found = statement.query_map([id.0.as_bytes()], |row| {
        Ok(PinHead {
            node_id: row.get(0)?,
            handle: row.get(1)?,
            bytes: row.get::<_, i64>(2)? as u64,
            updated_by: row.get(3)?,
            updated_at: rows::time(row, 4)?,
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn pin(connection: &Connection, id: SchemaId, node: &str) -> JobResult<Option<Pin>> {
    let found = connection
        .prepare_cached(sql::PIN_LOAD)?
        .query_row(params![id.0.as_bytes(), node], pin_of)
        .optional()?;
    Ok(found)
}

fn pin_of(row: &Row<'_>) -> rusqlite::Result<Pin> {
    Ok(Pin {
        node_id: row.get(0)?,
        handle: row.get(1)?,
        output: row.get(2)?,
        updated_by: row.get(3)?,
        updated_at: rows::time(row, 4)?,
    })
}

fn put_pin(connection: &Connection, id: SchemaId, pin: &Pin) -> JobResult<()> {
    connection.prepare_cached(sql::PIN_PUT)?.execute(params![
        id.0.as_bytes(),
        pin.node_id,
        pin.handle,
        pin.output,
        pin.output.len() as i64,
        pin.updated_by,
        pin.updated_at.as_micros()
    ])?;
    Ok(())
}

fn remove_pin(connection: &Connection, id: SchemaId, node: &str) -> JobResult<bool> {
    let removed = connection
        .prepare_cached(sql::PIN_REMOVE)?
        .execute(params![id.0.as_bytes(), node])?;
    Ok(removed > 0)
}

/// All of a schema that is deleted.
pub(crate) fn remove(connection: &Connection, id: SchemaId) -> JobResult<()> {
    for statement in [sql::LAYOUT_REMOVE, sql::PINS_REMOVE] {
        connection
            .prepare_cached(statement)?
            .execute([id.0.as_bytes()])?;
    }
    Ok(())
}
