UPDATE webhook_revision SET revision = revision + 1
