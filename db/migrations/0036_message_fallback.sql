-- Single sends that another channel follows when they fail or take too long (contract 7). A row lives from the message's
-- acceptance until it has been delivered, or the next message is made in the transaction that deletes it.
CREATE TABLE message_fallback (
  account_id bigint NOT NULL,
  -- The newest message of the chain.
  message_id uuid NOT NULL,
  -- What follows, next first (src/messages/fallback/hop.ts).
  hops       json NOT NULL,
  -- When to look at it; null: at its end and not before.
  due_at     timestamptz,
  PRIMARY KEY (account_id, message_id)
);
CREATE INDEX message_fallback_due ON message_fallback (due_at);
COMMENT ON TABLE message_fallback IS 'local';

GRANT SELECT, INSERT, UPDATE, DELETE ON message_fallback TO heliograph_tenant;
ALTER TABLE message_fallback ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON message_fallback
  USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- The message that has followed the one of this client id, on another channel: its status is the one that counts.
ALTER TABLE client_message_id ADD COLUMN newest_id uuid;
