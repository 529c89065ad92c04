-- Who sends on RCS and WhatsApp, and the templates that are sent there.
--
-- Both tables have rows that every account may use (the sandbox's; an operator's common number): their owner_id is null.
-- So they have no account_id, and their policies are two: an account sees its own rows and the common ones, and writes
-- its own only.

-- A WhatsApp phone number or an RCS agent.
CREATE TABLE sender (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  channel       text NOT NULL CHECK (channel IN ('RCS', 'WHATSAPP')),
  -- As the network knows it: the phone number id, the agent id. Null: asked for, and not yet registered there.
  identity      text CHECK (length(identity) BETWEEN 1 AND 128),
  connection_id bigint REFERENCES connection (id),
  -- Null: every account's.
  owner_id      bigint REFERENCES account (id),
  name          text NOT NULL CHECK (length(name) <= 200),
  -- What else is known: number, quality and status of a phone number; what an account wants of its agent.
  details       jsonb NOT NULL DEFAULT '{}',
  created_at    timestamptz NOT NULL DEFAULT now(),
  UNIQUE (channel, identity),
  CHECK ((identity IS NULL) = (connection_id IS NULL)),
  CHECK (owner_id IS NOT NULL OR identity IS NOT NULL)
);
CREATE INDEX sender_owner ON sender (owner_id);
COMMENT ON TABLE sender IS 'reference';

-- WhatsApp: what the network has, as it was last seen. RCS, which has no templates of its own: ours.
CREATE TABLE template (
  channel       text NOT NULL CHECK (channel IN ('RCS', 'WHATSAPP')),
  -- WhatsApp: the network's. RCS: a UUIDv7.
  id            text NOT NULL CHECK (length(id) BETWEEN 1 AND 64),
  -- Null: every account's.
  owner_id      bigint REFERENCES account (id),
  -- WhatsApp: the business account that has it.
  connection_id bigint REFERENCES connection (id) ON DELETE CASCADE,
  name          text NOT NULL CHECK (length(name) BETWEEN 1 AND 512),
  -- WhatsApp, as the network writes it (pt_PT); '' on RCS.
  language      text NOT NULL DEFAULT '',
  category      text NOT NULL DEFAULT '',
  -- As the network says it; APPROVED may be sent.
  status        text NOT NULL,
  -- Why not, in the network's words.
  reason        text,
  -- WhatsApp: the components. RCS: a contentMessage with {{names}} in its texts.
  content       jsonb NOT NULL,
  -- The file of a media header, where a send names no other.
  header_link   text,
  -- Whether the placeholders have names (true) or numbers.
  named         boolean NOT NULL DEFAULT false,
  -- Of each placeholder, in the order of the content, the contact field that fills it in campaigns: 'firstName|friend'.
  variables     text[] NOT NULL DEFAULT '{}',
  created_at    timestamptz NOT NULL DEFAULT now(),
  updated_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (channel, id),
  CHECK ((channel = 'WHATSAPP') = (connection_id IS NOT NULL))
);
CREATE INDEX template_owner ON template (owner_id);
CREATE INDEX template_connection ON template (connection_id, name, language);
COMMENT ON TABLE template IS 'reference';

DO $$
DECLARE
  t text;
  own text := $own$owner_id = NULLIF(current_setting('app.account_id', true), '')::bigint$own$;
BEGIN
  FOREACH t IN ARRAY ARRAY['sender', 'template']
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO heliograph_tenant', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY tenant ON %I USING (owner_id IS NULL OR %s)', t, own);
    EXECUTE format('CREATE POLICY own_insert ON %I AS RESTRICTIVE FOR INSERT WITH CHECK (%s)', t, own);
    EXECUTE format('CREATE POLICY own_update ON %I AS RESTRICTIVE FOR UPDATE USING (%s)', t, own);
    EXECUTE format('CREATE POLICY own_delete ON %I AS RESTRICTIVE FOR DELETE USING (%s)', t, own);
  END LOOP;
END $$;

-- Inbound messages of all channels. What only networks beyond SMS tell: the network's id, when it was sent, the person's
-- name there, and where a file is.
ALTER TABLE inbound_message ADD COLUMN channel text NOT NULL DEFAULT 'SMS' CHECK (channel IN ('SMS', 'RCS', 'WHATSAPP'));
ALTER TABLE inbound_message ADD COLUMN message_type text NOT NULL DEFAULT 'TEXT';
ALTER TABLE inbound_message ADD COLUMN details jsonb;

-- A network repeats a callback for a week, a carrier a deliver_sm for minutes.
ALTER TABLE inbound_seen RENAME COLUMN received_at TO forget_at;
ALTER TABLE inbound_seen ALTER COLUMN forget_at DROP DEFAULT;
UPDATE inbound_seen SET forget_at = forget_at + interval '15 minutes';
ALTER INDEX inbound_seen_received RENAME TO inbound_seen_forget;
