-- The events of single sends (0) are sent before the waiting ones of bulk and campaigns (1).
ALTER TABLE webhook_outbox ADD COLUMN priority smallint NOT NULL DEFAULT 1;
DROP INDEX webhook_outbox_account;
CREATE INDEX webhook_outbox_account ON webhook_outbox (account_id, priority, id);
