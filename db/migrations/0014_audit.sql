-- Who changed what in an account: written in the transaction of the change, only ever inserted and read. The id is a
-- UUIDv7 and carries the instant, so the newest entries and any stretch of time are a range of the primary key.
CREATE TABLE audit_entry (
  account_id bigint NOT NULL,
  id         uuid NOT NULL,
  -- 'operator': a command of whoever runs the gateway; username is then the name on that machine.
  actor_kind text NOT NULL CHECK (actor_kind IN ('key', 'user', 'operator')),
  key_id     bigint,
  user_id    bigint,
  username   text,
  -- What was done, 'api-key.create'; to what, 'api-key:12'.
  action     text NOT NULL,
  subject    text NOT NULL,
  detail     jsonb NOT NULL,
  PRIMARY KEY (account_id, id)
);
CREATE INDEX audit_entry_action ON audit_entry (account_id, action, id);
CREATE INDEX audit_entry_subject ON audit_entry (account_id, subject, id);
COMMENT ON TABLE audit_entry IS 'distributed';
