SELECT revision FROM webhook_revision
