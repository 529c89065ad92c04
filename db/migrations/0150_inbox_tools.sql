-- What agents work with in the inbox: notes, labels, canned answers, and conversations that come back later.

-- For colleagues only: a note never leaves the gateway, so it is not in inbox_message.
CREATE TABLE inbox_note (
  account_id bigint NOT NULL,
  chat_id    uuid NOT NULL,
  -- UUIDv7.
  id         uuid NOT NULL,
  -- Null: written with an API key that no user made, or by an operator.
  author_id  bigint,
  -- The name as it was when the note was written.
  author     text NOT NULL,
  text       text NOT NULL CHECK (length(text) BETWEEN 1 AND 4096),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, chat_id, id)
);
CREATE INDEX inbox_note_age ON inbox_note USING brin (created_at);
COMMENT ON TABLE inbox_note IS 'facts';

CREATE TABLE inbox_label (
  account_id bigint NOT NULL REFERENCES account (id),
  id         bigint GENERATED ALWAYS AS IDENTITY,
  name       text NOT NULL CHECK (length(name) BETWEEN 1 AND 40),
  color      text NOT NULL CHECK (color IN ('gray', 'red', 'orange', 'yellow', 'green', 'teal', 'blue', 'purple', 'pink')),
  PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX inbox_label_name ON inbox_label (account_id, lower(name));
COMMENT ON TABLE inbox_label IS 'facts';

-- The labels of conversations. They are deleted with either.
CREATE TABLE conversation_label (
  account_id bigint NOT NULL,
  label_id   bigint NOT NULL,
  chat_id    uuid NOT NULL,
  PRIMARY KEY (account_id, label_id, chat_id)
);
CREATE INDEX conversation_label_chat ON conversation_label (account_id, chat_id);
COMMENT ON TABLE conversation_label IS 'facts';

-- Texts that agents insert by a short name.
CREATE TABLE canned_answer (
  account_id bigint NOT NULL REFERENCES account (id),
  id         bigint GENERATED ALWAYS AS IDENTITY,
  -- In lower case, without the slash that calls it.
  shortcut   text NOT NULL CHECK (shortcut ~ '^[a-z0-9][a-z0-9_-]{0,39}$'),
  text       text NOT NULL CHECK (length(text) BETWEEN 1 AND 4096),
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, shortcut)
);
COMMENT ON TABLE canned_answer IS 'facts';

-- A snoozed conversation is archived with an instant at which it comes back, so lists and counts treat it as archived.
ALTER TABLE conversation ADD COLUMN snoozed_until timestamptz;
CREATE INDEX conversation_snoozed ON conversation (snoozed_until) WHERE snoozed_until IS NOT NULL;

ALTER TABLE inbox_event DROP CONSTRAINT inbox_event_kind_check;
ALTER TABLE inbox_event ADD CONSTRAINT inbox_event_kind_check CHECK (kind IN ('message', 'status', 'conversation', 'note'));

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['inbox_note', 'inbox_label', 'conversation_label', 'canned_answer']
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO heliograph_tenant', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format(
      $policy$CREATE POLICY tenant ON %I USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint)$policy$, t);
  END LOOP;
END $$;
