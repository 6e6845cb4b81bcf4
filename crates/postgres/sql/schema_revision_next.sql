UPDATE schema_revision SET revision = revision + 1
