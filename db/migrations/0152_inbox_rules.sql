-- Who gets new conversations, when the account is open, and what it answers while it is closed.

CREATE TABLE inbox_settings (
  account_id     bigint PRIMARY KEY,
  assignment     text NOT NULL DEFAULT 'MANUAL' CHECK (assignment IN ('MANUAL', 'ROUND_ROBIN')),
  -- The automatic answer while the account is closed; null: none.
  closed_answer  text CHECK (length(closed_answer) BETWEEN 1 AND 1000),
  time_zone      text NOT NULL DEFAULT 'UTC',
  -- When the account is open: {"weekday": 1 (Monday) to 7, "from": minute of the day, "to": minute of the day}.
  open_hours     jsonb NOT NULL DEFAULT '[]'
);
COMMENT ON TABLE inbox_settings IS 'facts';

-- Users who take new conversations.
CREATE TABLE inbox_agent (
  account_id  bigint NOT NULL,
  user_id     bigint NOT NULL,
  available   boolean NOT NULL,
  -- When a conversation was last assigned to them by the rule.
  assigned_at timestamptz,
  PRIMARY KEY (account_id, user_id)
);
COMMENT ON TABLE inbox_agent IS 'facts';

-- Automatic answers that have to leave, written in the transaction that stores the inbound message; each is sent once.
CREATE TABLE inbox_auto_answer (
  account_id bigint NOT NULL,
  chat_id    uuid NOT NULL,
  text       text NOT NULL,
  due_at     timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, chat_id)
);
CREATE INDEX inbox_auto_answer_due ON inbox_auto_answer (due_at);
COMMENT ON TABLE inbox_auto_answer IS 'queue';

-- The closed period, by its beginning in local time, in which the conversation got the automatic answer last.
ALTER TABLE conversation ADD COLUMN answered_period text;

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['inbox_settings', 'inbox_agent', 'inbox_auto_answer']
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO heliograph_tenant', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format(
      $policy$CREATE POLICY tenant ON %I USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint)$policy$, t);
  END LOOP;
END $$;
