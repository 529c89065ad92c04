-- How much disk a worker's machine has left for the data, and when its TLS certificate ends; null: not known, or none.
ALTER TABLE worker_process ADD COLUMN free_bytes bigint;
ALTER TABLE worker_process ADD COLUMN certificate_ends_at timestamptz;

-- What operators have set for a kind of alert in place of its default.
CREATE TABLE alert_rule (
  kind        text PRIMARY KEY,
  enabled     boolean NOT NULL,
  -- How long a condition must hold before it is an alert.
  for_seconds integer NOT NULL CHECK (for_seconds BETWEEN 0 AND 86400),
  -- In the unit of the kind; null for kinds without one.
  threshold   double precision CHECK (threshold > 0)
);
COMMENT ON TABLE alert_rule IS 'shared';

-- Conditions that hold or held: pending until they have held long enough, then firing, acknowledged by a person, resolved.
CREATE TABLE alert (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind            text NOT NULL,
  -- Which connection, account or machine, by id or name; empty for the gateway.
  place           text NOT NULL,
  state           text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'firing', 'acknowledged', 'resolved')),
  severity        text NOT NULL CHECK (severity IN ('error', 'warning', 'info')),
  -- The severity that was last announced.
  told_severity   text,
  subject         text,
  subject_id      bigint,
  count           bigint,
  accounts        bigint,
  compared        integer,
  detail          text,
  -- When the condition was first and last found to hold.
  found_at        timestamptz NOT NULL DEFAULT now(),
  seen_at         timestamptz NOT NULL DEFAULT now(),
  -- Since when it has been so, as far as that is known.
  since           timestamptz NOT NULL,
  fired_at        timestamptz,
  told_at         timestamptz,
  acknowledged_at timestamptz,
  acknowledged_by text,
  resolved_at     timestamptz
);
CREATE UNIQUE INDEX alert_open ON alert (kind, place) WHERE state <> 'resolved';
CREATE INDEX alert_resolved ON alert (resolved_at) WHERE state = 'resolved';
COMMENT ON TABLE alert IS 'queue';

-- Who is told: a mail address, a webhook, or by mail the administrators of the account that an alert is about.
CREATE TABLE alert_target (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind          text NOT NULL CHECK (kind IN ('mail', 'webhook', 'owners')),
  -- The mail address; of a webhook only its origin; empty for owners.
  address       text NOT NULL,
  -- Of a webhook: its URL, which may contain a token, and its signing secret, sealed.
  sealed        bytea,
  -- The mildest severity that is told.
  severity      text NOT NULL CHECK (severity IN ('error', 'warning', 'info')),
  language      text NOT NULL,
  -- Between these minutes of the day nothing is told, in this time zone; except for problems, if they break it.
  quiet_from    smallint CHECK (quiet_from BETWEEN 0 AND 1439),
  quiet_to      smallint CHECK (quiet_to BETWEEN 0 AND 1439),
  time_zone     text NOT NULL,
  breaks_quiet  boolean NOT NULL,
  -- When it may be told again, and how often it was tried in vain.
  due_at        timestamptz NOT NULL DEFAULT now(),
  attempts      integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  last_error    text,
  created_at    timestamptz NOT NULL DEFAULT now(),
  CHECK ((quiet_from IS NULL) = (quiet_to IS NULL))
);
COMMENT ON TABLE alert_target IS 'shared';

-- What a target has to be told. All of a batch goes in one message, which keeps its id when it is tried again.
CREATE TABLE alert_notice (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  target_id  bigint NOT NULL REFERENCES alert_target (id) ON DELETE CASCADE,
  alert_id   bigint NOT NULL REFERENCES alert (id) ON DELETE CASCADE,
  event      text NOT NULL CHECK (event IN ('fired', 'reminder', 'resolved')),
  batch      uuid,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX alert_notice_target ON alert_notice (target_id, batch);
CREATE INDEX alert_notice_alert ON alert_notice (alert_id);
COMMENT ON TABLE alert_notice IS 'queue';

-- When the conditions were last evaluated: whoever moves it on does it, so that one process does.
CREATE TABLE alert_evaluation (
  single       boolean PRIMARY KEY DEFAULT true CHECK (single),
  evaluated_at timestamptz NOT NULL
);
COMMENT ON TABLE alert_evaluation IS 'queue';
INSERT INTO alert_evaluation (evaluated_at) VALUES (now() - interval '1 day');
