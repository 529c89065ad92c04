-- The inbox: one thread for each person and channel, of what they wrote to us and what was answered.
--
-- Whoever changes an inbox holds its row (`inbox`) first. So the counts below are exact, events are committed in the
-- order of their ids, and nobody waits in a circle.

CREATE TABLE inbox (
  account_id bigint PRIMARY KEY,
  -- Id of its newest event.
  last_event bigint NOT NULL DEFAULT 0
);
COMMENT ON TABLE inbox IS 'distributed';

CREATE TABLE conversation (
  account_id        bigint NOT NULL,
  -- UUIDv7.
  chat_id           uuid NOT NULL,
  channel           text NOT NULL CHECK (channel IN ('SMS', 'RCS', 'WHATSAPP')),
  -- Who writes: E.164 with the plus where it is a number, otherwise as the network names them (a short code, a
  -- business-scoped user id). The contact is the one with this number.
  peer              text NOT NULL,
  -- Our number, agent or phone number id: that of the newest message.
  identity          text NOT NULL,
  -- The name that the person goes by on the network; '' when it tells none.
  profile_name      text NOT NULL DEFAULT '',
  unread            integer NOT NULL DEFAULT 0 CHECK (unread >= 0),
  archived          boolean NOT NULL DEFAULT false,
  assignee_id       bigint,
  -- WhatsApp: until when a free-form answer reaches the person.
  window_expires_at timestamptz,
  -- Of the newest message.
  last_direction    text NOT NULL,
  last_type         text NOT NULL,
  last_text         text NOT NULL,
  last_at           timestamptz NOT NULL,
  created_at        timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, chat_id)
);
CREATE UNIQUE INDEX conversation_peer ON conversation (account_id, peer, channel);
CREATE INDEX conversation_recent ON conversation (account_id, archived, last_at, chat_id);
CREATE INDEX conversation_channel ON conversation (account_id, archived, channel, last_at, chat_id);
CREATE INDEX conversation_unread ON conversation (account_id, archived, last_at, chat_id) WHERE unread > 0;
CREATE INDEX conversation_most_unread ON conversation (account_id, archived, unread, chat_id);
CREATE INDEX conversation_search ON conversation USING gin (lower(peer || E'\n' || profile_name) gin_trgm_ops);
COMMENT ON TABLE conversation IS 'distributed';

-- How many conversations there are of each kind, so that the total of a list costs a handful of rows: counting 100,000
-- took 20 times as long as the page.
CREATE TABLE inbox_count (
  account_id    bigint NOT NULL,
  archived      boolean NOT NULL,
  channel       text NOT NULL,
  unread        boolean NOT NULL,
  conversations bigint NOT NULL,
  PRIMARY KEY (account_id, archived, channel, unread)
);
COMMENT ON TABLE inbox_count IS 'distributed';

-- The messages of the threads. What became of an answer stands in message_state, and only there.
CREATE TABLE inbox_message (
  account_id   bigint NOT NULL,
  chat_id      uuid NOT NULL,
  -- That of inbound_message or message.
  id           uuid NOT NULL,
  direction    text NOT NULL CHECK (direction IN ('INBOUND', 'OUTBOUND')),
  message_type text NOT NULL,
  text         text NOT NULL,
  -- The file of it: { state, mediaId, mimeType, fileName }.
  media        jsonb,
  -- What the message did to the consent of its sender.
  consent      text CHECK (consent IN ('OPTED_OUT', 'OPTED_IN')),
  -- When it was written, as far as the network tells; otherwise when it came.
  at           timestamptz NOT NULL,
  PRIMARY KEY (account_id, chat_id, id)
);
COMMENT ON TABLE inbox_message IS 'distributed';

-- What changed, for those who look on (GET /stream). Kept for a day.
CREATE TABLE inbox_event (
  account_id bigint NOT NULL,
  -- 1, 2, 3 … of each account.
  id         bigint NOT NULL,
  kind       text NOT NULL CHECK (kind IN ('message', 'status', 'conversation')),
  chat_id    uuid NOT NULL,
  message_id uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id)
);
CREATE INDEX inbox_event_created ON inbox_event USING brin (created_at);
COMMENT ON TABLE inbox_event IS 'distributed';

-- Answers whose status may still change: looked at now and then, so that the paths of receipts need not know the inbox.
CREATE TABLE inbox_watch (
  account_id bigint NOT NULL,
  message_id uuid NOT NULL,
  chat_id    uuid NOT NULL,
  -- As it was last told; '' when it was not.
  status     text NOT NULL DEFAULT '',
  due_at     timestamptz NOT NULL,
  PRIMARY KEY (account_id, message_id)
);
CREATE INDEX inbox_watch_due ON inbox_watch (due_at);
COMMENT ON TABLE inbox_watch IS 'local';

-- Files of inbound messages that are still at the network.
CREATE TABLE inbox_media (
  account_id    bigint NOT NULL,
  message_id    uuid NOT NULL,
  chat_id       uuid NOT NULL,
  connection_id bigint NOT NULL,
  -- Where it is (InboundMedia of src/carriers/events.ts).
  source        jsonb NOT NULL,
  tries         integer NOT NULL DEFAULT 0,
  due_at        timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, message_id)
);
CREATE INDEX inbox_media_due ON inbox_media (due_at);
COMMENT ON TABLE inbox_media IS 'local';

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['inbox', 'conversation', 'inbox_count', 'inbox_message', 'inbox_event', 'inbox_watch',
                           'inbox_media']
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO heliograph_tenant', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format(
      $policy$CREATE POLICY tenant ON %I USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint)$policy$, t);
  END LOOP;
END $$;

-- The conversations of the account whose person's number, name on the network, or name or e-mail as a contact fits a
-- LIKE pattern in lower case. As the owner, like search_contacts (0017): LIKE is no index condition under row-level
-- security. The wall stands inside.
CREATE FUNCTION search_conversations(pattern text) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = public, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
  SELECT chat_id FROM conversation
  WHERE account_id = NULLIF(current_setting('app.account_id', true), '')::bigint
    AND lower(peer || E'\n' || profile_name) LIKE pattern
  UNION
  SELECT v.chat_id FROM contact c
  JOIN conversation v ON v.account_id = c.account_id AND v.peer = c.phone_number
  WHERE c.account_id = NULLIF(current_setting('app.account_id', true), '')::bigint
    AND lower(c.full_name || E'\n' || coalesce(c.phone_number, '') || E'\n' || coalesce(c.email, '')) LIKE pattern
$$;
REVOKE EXECUTE ON FUNCTION search_conversations FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search_conversations TO heliograph_tenant;
