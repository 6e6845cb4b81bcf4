-- The tables of docgraph on SQLite. Every UPDATE of the pack sets `rev = rev + 1`; nothing is done by triggers.
-- Times are texts of one length, so that comparing them as texts compares them as times; the CHECKs see to that.

-- Pieces of content. Their text never changes: another text is another atom.
CREATE TABLE IF NOT EXISTS atoms (
    id text PRIMARY KEY,
    content text NOT NULL,
    status text NOT NULL CHECK (status IN ('active', 'proposal', 'archived', 'rejected')),
    author text,
    created_at text NOT NULL CHECK (created_at IS strftime('%Y-%m-%dT%H:%M:%fZ', created_at)),
    activated_at text CHECK (activated_at IS strftime('%Y-%m-%dT%H:%M:%fZ', activated_at)),
    archived_at text CHECK (archived_at IS strftime('%Y-%m-%dT%H:%M:%fZ', archived_at)),
    archive_reason text,
    rejected_at text CHECK (rejected_at IS strftime('%Y-%m-%dT%H:%M:%fZ', rejected_at)),
    locked_by text,
    locked_until text CHECK (locked_until IS strftime('%Y-%m-%dT%H:%M:%fZ', locked_until)),
    rev bigint NOT NULL DEFAULT 1
);

CREATE TABLE IF NOT EXISTS docs (
    id text PRIMARY KEY,
    title text NOT NULL,
    created_at text NOT NULL CHECK (created_at IS strftime('%Y-%m-%dT%H:%M:%fZ', created_at)),
    rev bigint NOT NULL DEFAULT 1
);

CREATE TABLE IF NOT EXISTS sections (
    id text PRIMARY KEY,
    title text NOT NULL,
    created_at text NOT NULL CHECK (created_at IS strftime('%Y-%m-%dT%H:%M:%fZ', created_at)),
    rev bigint NOT NULL DEFAULT 1
);

CREATE TABLE IF NOT EXISTS prompts (
    id text PRIMARY KEY,
    role_key text NOT NULL,
    template text NOT NULL,
    version bigint NOT NULL,
    active boolean NOT NULL,
    model_config json NOT NULL,
    created_at text NOT NULL CHECK (created_at IS strftime('%Y-%m-%dT%H:%M:%fZ', created_at)),
    rev bigint NOT NULL DEFAULT 1
);

-- What models found (`issue`), and how they failed (`ai_error`).
CREATE TABLE IF NOT EXISTS artifacts (
    id text PRIMARY KEY,
    type text NOT NULL,
    content text,
    severity text,
    status text NOT NULL,
    source_model text,
    error_code text,
    error_message text,
    error_details json,
    created_at text NOT NULL CHECK (created_at IS strftime('%Y-%m-%dT%H:%M:%fZ', created_at)),
    rev bigint NOT NULL DEFAULT 1
);

CREATE TABLE IF NOT EXISTS baselines (
    id text PRIMARY KEY,
    doc_id text NOT NULL REFERENCES docs (id),
    tag text NOT NULL,
    title text,
    frozen_at text NOT NULL CHECK (frozen_at IS strftime('%Y-%m-%dT%H:%M:%fZ', frozen_at)),
    rev bigint NOT NULL DEFAULT 1
);

-- docs to sections, sections to sections and atoms.
CREATE TABLE IF NOT EXISTS structure_links (
    id text PRIMARY KEY,
    parent_type text NOT NULL CHECK (parent_type IN ('docs', 'sections')),
    parent_id text NOT NULL,
    child_type text NOT NULL CHECK (child_type IN ('sections', 'atoms')),
    child_id text NOT NULL,
    position bigint NOT NULL,
    created_at text NOT NULL CHECK (created_at IS strftime('%Y-%m-%dT%H:%M:%fZ', created_at)),
    rev bigint NOT NULL DEFAULT 1
);

CREATE TABLE IF NOT EXISTS proposal_links (
    id text PRIMARY KEY,
    proposal_id text NOT NULL REFERENCES atoms (id),
    target_id text NOT NULL REFERENCES atoms (id),
    type text NOT NULL,
    comment text,
    outdated boolean NOT NULL,
    rebased_from text,
    rebased_at text CHECK (rebased_at IS strftime('%Y-%m-%dT%H:%M:%fZ', rebased_at)),
    rev bigint NOT NULL DEFAULT 1
);

CREATE TABLE IF NOT EXISTS revision_links (
    id text PRIMARY KEY,
    newer_id text NOT NULL REFERENCES atoms (id),
    older_id text NOT NULL REFERENCES atoms (id),
    type text NOT NULL,
    created_at text NOT NULL CHECK (created_at IS strftime('%Y-%m-%dT%H:%M:%fZ', created_at)),
    rev bigint NOT NULL DEFAULT 1
);

CREATE TABLE IF NOT EXISTS semantic_links (
    id text PRIMARY KEY,
    artifact_id text NOT NULL REFERENCES artifacts (id),
    atom_id text NOT NULL REFERENCES atoms (id),
    type text NOT NULL,
    rev bigint NOT NULL DEFAULT 1
);

CREATE TABLE IF NOT EXISTS created_with (
    id text PRIMARY KEY,
    artifact_id text NOT NULL REFERENCES artifacts (id),
    prompt_id text NOT NULL REFERENCES prompts (id),
    type text NOT NULL,
    created_at text NOT NULL CHECK (created_at IS strftime('%Y-%m-%dT%H:%M:%fZ', created_at)),
    rev bigint NOT NULL DEFAULT 1
);

CREATE TABLE IF NOT EXISTS baseline_items (
    id text PRIMARY KEY,
    baseline_id text NOT NULL REFERENCES baselines (id),
    atom_id text NOT NULL REFERENCES atoms (id),
    section_id text,
    position bigint NOT NULL,
    place bigint NOT NULL,
    type text NOT NULL,
    snapshotted_at text NOT NULL CHECK (snapshotted_at IS strftime('%Y-%m-%dT%H:%M:%fZ', snapshotted_at)),
    rev bigint NOT NULL DEFAULT 1
);

-- One active prompt for a role and a version.
CREATE UNIQUE INDEX IF NOT EXISTS prompts_active ON prompts (role_key, version) WHERE active;

CREATE UNIQUE INDEX IF NOT EXISTS baselines_tag ON baselines (doc_id, tag);

-- Whatever hangs somewhere hangs in one place.
CREATE UNIQUE INDEX IF NOT EXISTS structure_links_child ON structure_links (child_type, child_id);

CREATE INDEX IF NOT EXISTS structure_links_parent ON structure_links (parent_type, parent_id);

CREATE UNIQUE INDEX IF NOT EXISTS proposal_links_proposal ON proposal_links (proposal_id);

CREATE INDEX IF NOT EXISTS proposal_links_target ON proposal_links (target_id);

CREATE INDEX IF NOT EXISTS revision_links_newer ON revision_links (newer_id);

CREATE INDEX IF NOT EXISTS semantic_links_atom ON semantic_links (atom_id);

CREATE INDEX IF NOT EXISTS semantic_links_artifact ON semantic_links (artifact_id);

CREATE INDEX IF NOT EXISTS baseline_items_baseline ON baseline_items (baseline_id, place);

CREATE INDEX IF NOT EXISTS baseline_items_atom ON baseline_items (atom_id);

CREATE INDEX IF NOT EXISTS artifacts_errors ON artifacts (created_at) WHERE type = 'ai_error';

CREATE INDEX IF NOT EXISTS atoms_locks ON atoms (locked_until) WHERE locked_until IS NOT NULL;
