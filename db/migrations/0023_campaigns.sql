-- Campaigns. The wide row is what people edit; campaign_run is what workers move; campaign_recipient is made once, from
-- the lists or numbers as they are when the campaign is confirmed.
CREATE TABLE campaign (
  account_id   bigint NOT NULL,
  id           bigint GENERATED ALWAYS AS IDENTITY,
  name         text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  description  text NOT NULL DEFAULT '',
  -- 0 draft, 1 ready or scheduled, 2 sending, 3 completed, 4 failed.
  status       smallint NOT NULL CHECK (status BETWEEN 0 AND 4),
  sending_mode text NOT NULL CHECK (sending_mode IN
    ('SMS', 'RCS', 'WHATSAPP', 'RCS_SMS', 'WHATSAPP_SMS', 'WHATSAPP_RCS', 'WHATSAPP_RCS_SMS')),
  sms_sender   text,
  sms_body     text,
  rcs_agent_id text,
  rcs_template_id text,
  whatsapp_phone_number_id text,
  whatsapp_template_id     text,
  -- 1 contact lists, 2 numbers; null while a draft names neither.
  destination_type smallint CHECK (destination_type IN (1, 2)),
  contact_list_ids bigint[] NOT NULL DEFAULT '{}',
  -- As the client wrote them; `numbers` are the valid ones of them in E.164, each once, sorted, as byte order sorts.
  destinations text[] NOT NULL DEFAULT '{}',
  numbers      text[] COLLATE "C" NOT NULL DEFAULT '{}',
  scheduled_at timestamptz,
  ready_to_send boolean NOT NULL DEFAULT false,
  -- { after: { WHATSAPP, RCS } in seconds, onStatus: [..] }; what is left out has the defaults of contract 3.
  fallback     jsonb NOT NULL DEFAULT '{}',
  -- { from: "21:00", to: "08:00" } in the recipient's time, { off: true }, or null: as the account has it.
  quiet_hours  jsonb,
  -- Recipients a second; null: as fast as its connections go.
  rate         integer CHECK (rate > 0),
  -- Raised by each change of recipients, mode, text or templates: a goal of another version is stale.
  version      bigint NOT NULL DEFAULT 1,
  -- The last goal (src/campaigns/goal.ts); null when none was ever calculated.
  goal         jsonb,
  goal_version bigint,
  -- The versions of its lists that were counted, in the order of contact_list_ids.
  goal_list_versions bigint[],
  goal_at      timestamptz,
  total_destinations bigint NOT NULL DEFAULT 0,
  estimated_micros   bigint NOT NULL DEFAULT 0,
  -- Frozen at its confirmation; what of it is not used goes back at its end at the latest.
  reserved_micros    bigint NOT NULL DEFAULT 0,
  -- Who asked and with what: the requester of its messages.
  api_key_id   bigint,
  user_id      bigint,
  failure_reason text,
  created_at   timestamptz NOT NULL DEFAULT now(),
  updated_at   timestamptz NOT NULL DEFAULT now(),
  confirmed_at timestamptz,
  started_at   timestamptz,
  paused_at    timestamptz,
  cancelled_at timestamptz,
  completed_at timestamptz,
  PRIMARY KEY (account_id, id),
  CHECK (status IN (0, 1) OR confirmed_at IS NOT NULL),
  CHECK (destination_type IS DISTINCT FROM 1 OR cardinality(destinations) = 0),
  CHECK (destination_type IS DISTINCT FROM 2 OR cardinality(contact_list_ids) = 0)
);
CREATE INDEX campaign_created ON campaign (account_id, created_at, id);
COMMENT ON TABLE campaign IS 'distributed';

-- One row from the confirmation on. Lock the campaign first, then this.
CREATE TABLE campaign_run (
  account_id   bigint NOT NULL,
  campaign_id  bigint NOT NULL,
  -- Recipients are made in the order of their numbers: those up to here are. Null: before the first.
  expanded_to  text COLLATE "C",
  expanded     boolean NOT NULL DEFAULT false,
  recipients   bigint NOT NULL DEFAULT 0,
  skipped      bigint NOT NULL DEFAULT 0,
  -- Of the reserve: not yet given to a message nor back to the account.
  unused_micros bigint NOT NULL DEFAULT 0,
  -- Messages made, all hops together.
  messages     bigint NOT NULL DEFAULT 0,
  -- Recipients of combined modes that reached their end: by their last hop, or by an earlier one that was delivered.
  ended        bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, campaign_id)
);
COMMENT ON TABLE campaign_run IS 'distributed';

-- Recipients of one country are sent to in the order of their numbers: quiet hours hold one country's back while the
-- others go on.
CREATE TABLE campaign_lane (
  account_id  bigint NOT NULL,
  campaign_id bigint NOT NULL,
  -- ISO 3166-1 alpha-2, '' where the number belongs to none.
  country     text NOT NULL,
  -- Messages were made for those up to here.
  fed_to      text COLLATE "C" NOT NULL DEFAULT '',
  done        boolean NOT NULL DEFAULT false,
  PRIMARY KEY (account_id, campaign_id, country)
);
COMMENT ON TABLE campaign_lane IS 'distributed';

-- Made once and then only read, so that a million of them cost a million inserts and no update: what became of one is
-- what became of its messages. The country follows from the number, so a number can be in a campaign once.
CREATE TABLE campaign_recipient (
  account_id    bigint NOT NULL,
  campaign_id   bigint NOT NULL,
  country       text NOT NULL,
  -- E.164 with the plus.
  destination   text COLLATE "C" NOT NULL,
  contact_id    bigint,
  -- Bits of the channels that may be tried, as contact.channels: 1 SMS, 2 RCS, 4 WhatsApp. 0: skipped.
  channels      smallint NOT NULL,
  -- Of the text as it goes to this recipient.
  sms_parts     smallint NOT NULL DEFAULT 1,
  -- The most that it can cost: its share of the reserve.
  reserve_micros bigint NOT NULL,
  -- Why nothing is sent; null otherwise.
  skip_reason   text,
  PRIMARY KEY (account_id, campaign_id, country, destination)
);
COMMENT ON TABLE campaign_recipient IS 'distributed';

-- Messages that were made together, up to 1,000: which recipient has which message, and when those of a combined mode
-- that were not delivered go on to the next channel.
CREATE TABLE campaign_batch (
  account_id  bigint NOT NULL,
  campaign_id bigint NOT NULL,
  id          bigint GENERATED ALWAYS AS IDENTITY,
  -- 0 the first channel that a recipient was tried on.
  hop         smallint NOT NULL,
  -- Its bit.
  channel     smallint NOT NULL,
  country     text NOT NULL,
  -- The range of their destinations.
  first_destination text COLLATE "C" NOT NULL,
  last_destination  text COLLATE "C" NOT NULL,
  message_ids uuid[] NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  -- Null: nothing follows, or all of them were looked through.
  due_at      timestamptz,
  PRIMARY KEY (account_id, campaign_id, id)
);
ALTER TABLE campaign_batch ALTER COLUMN message_ids SET STORAGE EXTERNAL;
CREATE INDEX campaign_batch_due ON campaign_batch (account_id, campaign_id, due_at) WHERE due_at IS NOT NULL;
COMMENT ON TABLE campaign_batch IS 'distributed';

-- Recipients that went on to another channel. The key is what keeps anybody from getting two copies: a hop is made once.
CREATE TABLE campaign_hop (
  account_id  bigint NOT NULL,
  campaign_id bigint NOT NULL,
  destination text COLLATE "C" NOT NULL,
  -- From 1.
  hop         smallint NOT NULL,
  message_id  uuid NOT NULL,
  -- Why the hop before it ended: the status, or 'TIME'.
  reason      text NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, campaign_id, destination, hop)
);
COMMENT ON TABLE campaign_hop IS 'distributed';

-- Ends of messages of combined modes, for the campaign to decide what follows: written with the end, deleted with the
-- decision.
CREATE TABLE campaign_outcome (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id  bigint NOT NULL,
  campaign_id bigint NOT NULL,
  message_ids uuid[] NOT NULL,
  statuses    smallint[] NOT NULL
);
CREATE INDEX campaign_outcome_campaign ON campaign_outcome (campaign_id);
COMMENT ON TABLE campaign_outcome IS 'local';

-- The campaigns that workers have to look at, and when. Whoever works on one holds its campaign_run row.
CREATE TABLE campaign_job (
  campaign_id bigint PRIMARY KEY,
  account_id  bigint NOT NULL,
  due_at      timestamptz NOT NULL DEFAULT now(),
  failures    smallint NOT NULL DEFAULT 0
);
CREATE INDEX campaign_job_due ON campaign_job (due_at);
COMMENT ON TABLE campaign_job IS 'local';

-- So that a campaign can be held or taken back while its messages wait. parked_until: the available_at that a pause put
-- out of reach.
ALTER TABLE dispatch_chunk ADD COLUMN campaign_id bigint;
ALTER TABLE dispatch_chunk ADD COLUMN parked_until timestamptz;
CREATE INDEX dispatch_chunk_campaign ON dispatch_chunk (campaign_id) WHERE campaign_id IS NOT NULL;

-- What an account wants of all its campaigns. smsSenders: null allows any.
CREATE TABLE campaign_policy (
  account_id  bigint PRIMARY KEY,
  -- { from, to } or null: off.
  quiet_hours jsonb,
  sms_senders text[]
);
COMMENT ON TABLE campaign_policy IS 'distributed';

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['campaign', 'campaign_run', 'campaign_lane', 'campaign_recipient', 'campaign_batch',
                           'campaign_hop', 'campaign_outcome', 'campaign_job', 'campaign_policy']
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO heliograph_tenant', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format(
      $policy$CREATE POLICY tenant ON %I USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint)$policy$, t);
  END LOOP;
END $$;
