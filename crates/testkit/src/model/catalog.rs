//! Schemas and their versions.

use std::collections::BTreeMap;

use async_trait::async_trait;

use pawl_kernel::id::SchemaId;
use pawl_kernel::ports::store::{
    CatalogError, CatalogStore, PublishVersion, PublishedFacts, SaveMode, SaveSchema, SaveStep,
    SchemaPulse, SchemaRecord, SourceText, StoreResult, VersionRecord, VersionText,
};
use pawl_kernel::ports::webhooks::WebhookRow;
use pawl_kernel::schema::definition::LANGUAGE;
use pawl_kernel::time::Timestamp;
use pawl_kernel::webhook::{self, NamedTrigger};

use super::ModelStore;

#[derive(Default)]
pub(super) struct Catalog {
    schemas: BTreeMap<SchemaId, Schema>,
    /// Changes with what the webhooks show.
    revision: u64,
    /// Changes with every write.
    writes: u64,
}

struct Schema {
    record: SchemaRecord,
    /// Version n is at n - 1.
    versions: Vec<VersionRecord>,
    deleted: bool,
}

impl Catalog {
    pub(super) fn name(&self, id: SchemaId) -> String {
        let schema = self.schemas.get(&id);
        schema.map_or_else(String::new, |schema| schema.record.name.clone())
    }

    /// Of all schemas, also deleted ones, in order of id.
    pub(super) fn published_versions(&self) -> impl Iterator<Item = (SchemaId, u32)> {
        let all = self.schemas.iter();
        all.map(|(id, schema)| (*id, schema.record.published_version))
    }

    pub(super) fn has(&self, id: SchemaId) -> bool {
        self.visible().any(|schema| schema.record.id == id)
    }

    pub(super) fn pulse(&self) -> SchemaPulse {
        SchemaPulse {
            revision: self.writes,
        }
    }

    fn visible(&self) -> impl Iterator<Item = &Schema> {
        self.schemas.values().filter(|schema| !schema.deleted)
    }

    fn visible_mut(&mut self, id: SchemaId) -> Option<&mut Schema> {
        self.schemas.get_mut(&id).filter(|schema| !schema.deleted)
    }

    fn save(&mut self, save: SaveSchema) -> Result<SchemaRecord, CatalogError> {
        match save.mode.clone() {
            SaveMode::Create => self.create(save),
            SaveMode::Update { id, if_version, .. } => self.update(id, if_version, save),
        }
    }

    fn check_name(&self, name: &str, own: Option<SchemaId>) -> Result<(), CatalogError> {
        let taken = self
            .visible()
            .any(|schema| schema.record.name == name && Some(schema.record.id) != own);
        if taken {
            return Err(CatalogError::NameTaken(name.to_owned()));
        }
        Ok(())
    }

    /// No two schemas have the same number.
    fn check_number(&self, own: SchemaId, facts: &PublishedFacts) -> Result<(), CatalogError> {
        let Some(external_id) = facts.external_id else {
            return Ok(());
        };
        let mut others = self.visible().filter(|schema| schema.record.id != own);
        match others.find(|schema| schema.record.external_id == Some(external_id)) {
            None => Ok(()),
            Some(other) => Err(CatalogError::ExternalIdTaken {
                external_id,
                schema: other.record.name.clone(),
            }),
        }
    }

    /// Of the published versions, in order of schema and name.
    pub(super) fn webhooks(&self) -> Vec<WebhookRow> {
        let mut rows: Vec<WebhookRow> = self.visible().flat_map(Schema::webhooks).collect();
        rows.sort_by(|a, b| (a.schema_id, &a.name).cmp(&(b.schema_id, &b.name)));
        rows
    }

    pub(super) fn webhook_revision(&self) -> u64 {
        self.revision
    }

    /// No two schemas take the same requests.
    fn check_paths(&self, own: SchemaId, facts: &PublishedFacts) -> Result<(), CatalogError> {
        let others = self.visible().filter(|schema| schema.record.id != own);
        let others: Vec<(&str, NamedTrigger)> = others
            .flat_map(|schema| {
                let named = schema.named().into_iter();
                named.map(|one| (schema.record.name.as_str(), one))
            })
            .collect();
        for wanted in &facts.webhooks {
            let (method, path) = (wanted.trigger.method, &wanted.trigger.path);
            let taken = others.iter().find(|(_, other)| {
                let same_shape = other.trigger.path.shape() == path.shape();
                same_shape && other.trigger.method.overlaps(method)
            });
            if let Some((schema, _)) = taken {
                return Err(CatalogError::PathTaken {
                    method: method.name(),
                    path: path.to_string(),
                    schema: (*schema).to_owned(),
                });
            }
        }
        Ok(())
    }

    fn create(&mut self, save: SaveSchema) -> Result<SchemaRecord, CatalogError> {
        self.check_name(&save.name, None)?;
        self.check_facts(save.id, &save.facts(1))?;
        self.revision += 1;
        self.writes += 1;
        let record = SchemaRecord {
            id: save.id,
            name: save.name.clone(),
            description: save.description.clone(),
            external_id: save.external_id(),
            active: true,
            latest_version: 1,
            published_version: 1,
            created_at: save.now,
            updated_at: save.now,
        };
        let schema = Schema {
            record: record.clone(),
            versions: vec![version(save.id, 1, save)],
            deleted: false,
        };
        self.schemas.insert(record.id, schema);
        Ok(record)
    }

    fn update(
        &mut self,
        id: SchemaId,
        if_version: Option<u32>,
        save: SaveSchema,
    ) -> Result<SchemaRecord, CatalogError> {
        let record = &self.visible_mut(id).ok_or(CatalogError::NotFound)?.record;
        let latest = record.latest_version;
        if let Some(expected) = if_version.filter(|expected| *expected != latest) {
            return Err(CatalogError::VersionConflict { latest, expected });
        }
        self.check_name(&save.name, Some(id))?;
        let schema = self.visible_mut(id).ok_or(CatalogError::NotFound)?;
        let (version, publish) = match save.step(&schema.record, &schema.latest_text()) {
            SaveStep::Keep => return Ok(schema.record.clone()),
            SaveStep::Publish => (latest, true),
            SaveStep::Add { publish } => (latest + 1, publish),
        };
        let facts = publish.then(|| save.facts(version));
        if let Some(facts) = &facts {
            self.check_facts(id, facts)?;
            self.revision += 1;
        }
        self.writes += 1;
        let schema = self.visible_mut(id).ok_or(CatalogError::NotFound)?;
        let now = save.now;
        if version > latest {
            schema.add(save);
        }
        if let Some(facts) = facts {
            schema.publish(facts, now);
        }
        Ok(schema.record.clone())
    }

    fn publish(&mut self, wanted: &PublishVersion) -> Result<SchemaRecord, CatalogError> {
        let id = wanted.id;
        let schema = self.visible_mut(id).ok_or(CatalogError::NotFound)?;
        let version = schema.version(wanted.version);
        let version = version.ok_or(CatalogError::NoVersion(wanted.version))?;
        if schema.record.published_version == wanted.version {
            return Ok(schema.record.clone());
        }
        let facts = version.facts(&schema.record.name);
        self.check_facts(id, &facts)?;
        self.revision += 1;
        self.writes += 1;
        let schema = self.visible_mut(id).ok_or(CatalogError::NotFound)?;
        schema.publish(facts, wanted.now);
        Ok(schema.record.clone())
    }

    fn check_facts(&self, own: SchemaId, facts: &PublishedFacts) -> Result<(), CatalogError> {
        self.check_number(own, facts)?;
        self.check_paths(own, facts)
    }
}

impl Schema {
    fn version(&self, number: u32) -> Option<&VersionRecord> {
        self.versions.iter().find(|row| row.version == number)
    }

    fn latest_text(&self) -> VersionText {
        let latest = self.versions.last();
        let source = latest.and_then(|latest| {
            let (text, format) = (latest.source.clone()?, latest.source_format?);
            Some(SourceText { text, format })
        });
        VersionText {
            hash: latest.map_or_else(String::new, |latest| latest.hash.clone()),
            source,
        }
    }

    /// A draft until it is published.
    fn add(&mut self, save: SaveSchema) {
        self.record.latest_version += 1;
        self.record.updated_at = save.now;
        let number = self.record.latest_version;
        self.versions.push(version(self.record.id, number, save));
    }

    fn publish(&mut self, facts: PublishedFacts, now: Timestamp) {
        self.record.published_version = facts.version;
        self.record.name = facts.name;
        self.record.description = facts.description;
        self.record.external_id = facts.external_id;
        self.record.updated_at = now;
    }

    fn named(&self) -> Vec<NamedTrigger> {
        let published = self.version(self.record.published_version);
        published.map_or_else(Vec::new, |version| webhook::of_text(&version.definition))
    }

    fn webhooks(&self) -> Vec<WebhookRow> {
        let row = |one: NamedTrigger| WebhookRow {
            schema_id: self.record.id,
            schema: self.record.name.clone(),
            version: self.record.published_version,
            active: self.record.active,
            name: one.name,
            definition: one.source.to_string(),
        };
        self.named().into_iter().map(row).collect()
    }

    fn contains(&self, text: &str) -> bool {
        let description = self.record.description.as_deref().unwrap_or_default();
        [self.record.name.as_str(), description]
            .iter()
            .any(|field| super::query::found(field, text))
    }
}

fn version(schema_id: SchemaId, version: u32, save: SaveSchema) -> VersionRecord {
    VersionRecord {
        schema_id,
        version,
        language: LANGUAGE,
        hash: save.hash,
        definition: save.definition,
        source_format: save.source.as_ref().map(|source| source.format),
        source: save.source.map(|source| source.text),
        note: save.note,
        created_by: save.created_by.name,
        owner: save.created_by.user,
        created_at: save.now,
    }
}

#[async_trait]
impl CatalogStore for ModelStore {
    async fn save_schema(&self, save: SaveSchema) -> Result<SchemaRecord, CatalogError> {
        self.lock().catalog.save(save)
    }

    async fn publish_version(&self, wanted: PublishVersion) -> Result<SchemaRecord, CatalogError> {
        self.lock().catalog.publish(&wanted)
    }

    async fn schema(&self, key: &str) -> StoreResult<Option<SchemaRecord>> {
        let tables = self.lock();
        let id: Option<SchemaId> = key.parse().ok();
        let found = tables.catalog.visible().find(|schema| match id {
            Some(id) => schema.record.id == id,
            None => schema.record.name == key,
        });
        Ok(found.map(|schema| schema.record.clone()))
    }

    async fn schema_by_external_id(&self, external_id: i64) -> StoreResult<Option<SchemaRecord>> {
        let tables = self.lock();
        let mut visible = tables.catalog.visible();
        let found = visible.find(|schema| schema.record.external_id == Some(external_id));
        Ok(found.map(|schema| schema.record.clone()))
    }

    async fn schemas(
        &self,
        text: Option<String>,
        after: Option<String>,
        limit: u32,
    ) -> StoreResult<Vec<SchemaRecord>> {
        let tables = self.lock();
        let mut found: Vec<SchemaRecord> = tables
            .catalog
            .visible()
            .filter(|schema| after.as_ref().is_none_or(|name| schema.record.name > *name))
            .filter(|schema| text.as_deref().is_none_or(|text| schema.contains(text)))
            .map(|schema| schema.record.clone())
            .collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found.truncate(limit as usize);
        Ok(found)
    }

    async fn versions(&self, id: SchemaId) -> StoreResult<Vec<VersionRecord>> {
        let tables = self.lock();
        let schema = tables.catalog.schemas.get(&id);
        let without_source = |version: &VersionRecord| VersionRecord {
            source: None,
            ..version.clone()
        };
        let newest_first = |schema: &Schema| {
            let versions = schema.versions.iter().rev();
            versions.map(without_source).collect()
        };
        Ok(schema.map_or_else(Vec::new, newest_first))
    }

    async fn version(&self, id: SchemaId, version: u32) -> StoreResult<Option<VersionRecord>> {
        let tables = self.lock();
        let schema = tables.catalog.schemas.get(&id);
        Ok(schema.and_then(|schema| schema.version(version)).cloned())
    }

    async fn set_active(&self, id: SchemaId, active: bool, now: Timestamp) -> StoreResult<bool> {
        let mut tables = self.lock();
        tables.catalog.revision += 1;
        tables.catalog.writes += 1;
        let schema = tables.catalog.visible_mut(id);
        Ok(schema
            .map(|schema| {
                schema.record.active = active;
                schema.record.updated_at = now;
            })
            .is_some())
    }

    async fn delete_schema(&self, id: SchemaId, now: Timestamp) -> StoreResult<bool> {
        let mut tables = self.lock();
        tables.catalog.revision += 1;
        tables.catalog.writes += 1;
        tables.drawings.remove(id);
        let schema = tables.catalog.visible_mut(id);
        Ok(schema
            .map(|schema| {
                schema.deleted = true;
                schema.record.updated_at = now;
            })
            .is_some())
    }
}
