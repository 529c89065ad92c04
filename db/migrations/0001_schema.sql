-- The whole schema of an installation. In the schema that search_path begins with; the role heliograph_tenant, pg_trgm and
-- uuidv7 are there already (src/core/db/migrate.ts). Partitions of days are created by the program.

-- Columns and indexes use these functions. fold_text is also foldText in src/core/fold.ts, person_of is personOf in
-- src/core/phone.ts.

CREATE OR REPLACE FUNCTION fold_text(written text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT CASE WHEN octet_length(written) = length(written) THEN lower(written)
    ELSE translate(lower(translate(regexp_replace(normalize(written, NFKC),
      '[\u00ad\u0600-\u0605\u061c\u06dd\u070f\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0001-\U000e01ef]',
      '', 'g'), 'İ', 'i')), U&'\0131\0307', 'i') END
$function$;

CREATE OR REPLACE FUNCTION person_of(number text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT CASE left(number, 3)
    WHEN '+52' THEN regexp_replace(number, '^\+521([0-9]{10})$', '+52\1')
    WHEN '+54' THEN regexp_replace(number, '^\+54([1-3][0-9]{9})$', '+549\1')
    WHEN '+55' THEN regexp_replace(number, '^\+55([0-9]{2})([6-9][0-9]{7})$', '+55\19\2')
    WHEN '+22' THEN regexp_replace(regexp_replace(regexp_replace(regexp_replace(number,
      '^\+229([0-9]{8})$', '+22901\1'),
      '^\+225([04-9][0-3][0-9]{6})$', '+22501\1'),
      '^\+225([04-9][4-6][0-9]{6})$', '+22505\1'),
      '^\+225([04-9][7-9][0-9]{6})$', '+22507\1')
    ELSE number END
$function$;

CREATE OR REPLACE FUNCTION number_forms(number text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  SELECT ARRAY(SELECT f FROM unnest(ARRAY[p, regexp_replace(p, '^\+52', '+521'), regexp_replace(p, '^\+549', '+54'),
    regexp_replace(p, '^\+55([0-9]{2})9', '+55\1'), regexp_replace(p, '^\+22901', '+229'),
    regexp_replace(p, '^\+2250[157]', '+225')]) AS f WHERE person_of(f) = p)
  FROM person_of(number) AS p
$function$;

CREATE TABLE account (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text NOT NULL,
  status text DEFAULT 'active'::text NOT NULL,
  plan text DEFAULT 'production'::text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  rate_per_minute integer,
  rate_per_second integer,
  ip_allow_list cidr[] DEFAULT '{}'::cidr[] NOT NULL,
  ip_allow_list_enforced boolean DEFAULT false NOT NULL,
  has_opt_outs boolean DEFAULT false NOT NULL,
  channels smallint DEFAULT 7 NOT NULL,
  second_factor text DEFAULT 'optional'::text NOT NULL,
  default_country text,
  number_checks text DEFAULT 'strict'::text NOT NULL,
  tlv_tags integer[] DEFAULT '{}'::integer[] NOT NULL,
  sign_on_token text DEFAULT replace(((gen_random_uuid())::text || (gen_random_uuid())::text), '-'::text, ''::text) NOT NULL,
  away text,
  cell smallint,
  moves integer DEFAULT 0 NOT NULL,
  default_purpose text,
  respects_calendar boolean DEFAULT false NOT NULL,
  weekly_cap smallint,
  feed_since timestamp with time zone,
  CONSTRAINT account_pkey PRIMARY KEY (id),
  CONSTRAINT account_away_check CHECK ((away = ANY (ARRAY['held'::text, 'moved'::text]))),
  CONSTRAINT account_away_names_cell CHECK (((away IS NULL) = (cell IS NULL))),
  CONSTRAINT account_cell_check CHECK (((cell >= 0) AND (cell <= 8190))),
  CONSTRAINT account_channels_check CHECK (((channels >= 0) AND (channels <= 7))),
  CONSTRAINT account_default_country_check CHECK ((default_country ~ '^[A-Z]{2}$'::text)),
  CONSTRAINT account_default_purpose_check CHECK ((default_purpose = ANY (ARRAY['marketing'::text, 'transactional'::text, 'otp'::text, 'service'::text]))),
  CONSTRAINT account_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  CONSTRAINT account_number_checks_check CHECK ((number_checks = ANY (ARRAY['strict'::text, 'lenient'::text]))),
  CONSTRAINT account_weekly_cap_check CHECK ((weekly_cap > 0)),
  CONSTRAINT account_plan_check CHECK ((plan = ANY (ARRAY['production'::text, 'trial'::text, 'unlimited'::text]))),
  CONSTRAINT account_rate_per_minute_check CHECK ((rate_per_minute >= 0)),
  CONSTRAINT account_rate_per_second_check CHECK ((rate_per_second > 0)),
  CONSTRAINT account_second_factor_check CHECK ((second_factor = ANY (ARRAY['optional'::text, 'required'::text]))),
  CONSTRAINT account_status_check CHECK ((status = ANY (ARRAY['active'::text, 'suspended'::text])))
);

CREATE INDEX account_away ON account USING btree (id) WHERE (away IS NOT NULL);

CREATE INDEX account_feed ON account USING btree (id) WHERE (feed_since IS NOT NULL);

ALTER TABLE account ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON account AS PERMISSIVE FOR ALL TO public USING ((id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE account IS 'shared';

CREATE TABLE account_retention (
  account_id bigint NOT NULL,
  messages_days integer,
  bodies_days integer,
  media_days integer,
  inbound_days integer,
  bodies_to uuid DEFAULT '00000000-0000-0000-0000-000000000000'::uuid NOT NULL,
  bodies_from uuid DEFAULT '00000000-0000-0000-0000-000000000000'::uuid NOT NULL,
  CONSTRAINT account_retention_pkey PRIMARY KEY (account_id),
  CONSTRAINT account_retention_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);

ALTER TABLE account_retention ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON account_retention AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE account_retention IS 'facts';

CREATE TABLE account_work (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  table_name text NOT NULL,
  content text NOT NULL,
  CONSTRAINT account_work_pkey PRIMARY KEY (id)
);

CREATE INDEX account_work_account ON account_work USING btree (account_id, table_name, id);

ALTER TABLE account_work ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON account_work AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE account_work IS 'queue';

CREATE TABLE alert (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  kind text NOT NULL,
  place text NOT NULL,
  state text DEFAULT 'pending'::text NOT NULL,
  severity text NOT NULL,
  told_severity text,
  subject text,
  subject_id bigint,
  count bigint,
  accounts bigint,
  compared integer,
  detail text,
  found_at timestamp with time zone DEFAULT now() NOT NULL,
  seen_at timestamp with time zone DEFAULT now() NOT NULL,
  since timestamp with time zone NOT NULL,
  fired_at timestamp with time zone,
  told_at timestamp with time zone,
  acknowledged_at timestamp with time zone,
  acknowledged_by text,
  resolved_at timestamp with time zone,
  CONSTRAINT alert_pkey PRIMARY KEY (id),
  CONSTRAINT alert_severity_check CHECK ((severity = ANY (ARRAY['error'::text, 'warning'::text, 'info'::text]))),
  CONSTRAINT alert_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'firing'::text, 'acknowledged'::text, 'resolved'::text])))
);

CREATE UNIQUE INDEX alert_open ON alert USING btree (kind, place) WHERE (state <> 'resolved'::text);

CREATE INDEX alert_resolved ON alert USING btree (resolved_at) WHERE (state = 'resolved'::text);

COMMENT ON TABLE alert IS 'queue';

CREATE TABLE alert_evaluation (
  single boolean DEFAULT true NOT NULL,
  evaluated_at timestamp with time zone NOT NULL,
  CONSTRAINT alert_evaluation_pkey PRIMARY KEY (single),
  CONSTRAINT alert_evaluation_single_check CHECK (single)
);

COMMENT ON TABLE alert_evaluation IS 'queue';

CREATE TABLE alert_rule (
  kind text NOT NULL,
  enabled boolean NOT NULL,
  for_seconds integer NOT NULL,
  threshold double precision,
  CONSTRAINT alert_rule_pkey PRIMARY KEY (kind),
  CONSTRAINT alert_rule_for_seconds_check CHECK (((for_seconds >= 0) AND (for_seconds <= 86400))),
  CONSTRAINT alert_rule_threshold_check CHECK ((threshold > (0)::double precision))
);

COMMENT ON TABLE alert_rule IS 'shared';

CREATE TABLE alert_target (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  kind text NOT NULL,
  address text NOT NULL,
  sealed bytea,
  severity text NOT NULL,
  language text NOT NULL,
  quiet_from smallint,
  quiet_to smallint,
  time_zone text NOT NULL,
  breaks_quiet boolean NOT NULL,
  due_at timestamp with time zone DEFAULT now() NOT NULL,
  attempts integer DEFAULT 0 NOT NULL,
  failing_since timestamp with time zone,
  last_error text,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT alert_target_pkey PRIMARY KEY (id),
  CONSTRAINT alert_target_check CHECK (((quiet_from IS NULL) = (quiet_to IS NULL))),
  CONSTRAINT alert_target_kind_check CHECK ((kind = ANY (ARRAY['mail'::text, 'webhook'::text, 'owners'::text]))),
  CONSTRAINT alert_target_quiet_from_check CHECK (((quiet_from >= 0) AND (quiet_from <= 1439))),
  CONSTRAINT alert_target_quiet_to_check CHECK (((quiet_to >= 0) AND (quiet_to <= 1439))),
  CONSTRAINT alert_target_severity_check CHECK ((severity = ANY (ARRAY['error'::text, 'warning'::text, 'info'::text])))
);

COMMENT ON TABLE alert_target IS 'shared';

CREATE TABLE app_user (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  username text NOT NULL,
  password_hash text NOT NULL,
  role text DEFAULT 'viewer'::text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  is_operator boolean DEFAULT false NOT NULL,
  display_name text DEFAULT ''::text NOT NULL,
  CONSTRAINT app_user_display_name_check CHECK ((length(display_name) <= 100)),
  CONSTRAINT app_user_pkey PRIMARY KEY (id),
  CONSTRAINT app_user_username_key UNIQUE (username),
  CONSTRAINT app_user_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'sender'::text, 'manager'::text, 'admin'::text]))),
  CONSTRAINT app_user_username_check CHECK (((length(username) >= 1) AND (length(username) <= 200))),
  CONSTRAINT app_user_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);

CREATE INDEX app_user_account ON app_user USING btree (account_id, id);

ALTER TABLE app_user ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON app_user AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE app_user IS 'shared';

CREATE TABLE audit_entry (
  account_id bigint NOT NULL,
  id uuid NOT NULL,
  actor_kind text NOT NULL,
  key_id bigint,
  user_id bigint,
  username text,
  action text NOT NULL,
  subject text NOT NULL,
  detail jsonb NOT NULL,
  CONSTRAINT audit_entry_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT audit_entry_actor_kind_check CHECK ((actor_kind = ANY (ARRAY['key'::text, 'user'::text, 'operator'::text, 'system'::text])))
);

CREATE INDEX audit_entry_action ON audit_entry USING btree (account_id, action, id);

CREATE INDEX audit_entry_subject ON audit_entry USING btree (account_id, subject, id);

ALTER TABLE audit_entry ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON audit_entry AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE audit_entry IS 'facts';

CREATE TABLE billing_day (
  day date NOT NULL,
  category text NOT NULL,
  messages bigint NOT NULL,
  differing bigint NOT NULL,
  CONSTRAINT billing_day_pkey PRIMARY KEY (day, category)
);

COMMENT ON TABLE billing_day IS 'shared';

CREATE TABLE bulk_request (
  account_id bigint NOT NULL,
  global_id text NOT NULL,
  body_hash bytea NOT NULL,
  results json,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT bulk_request_pkey PRIMARY KEY (account_id, global_id)
);

CREATE INDEX bulk_request_created ON bulk_request USING btree (created_at);

ALTER TABLE bulk_request ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON bulk_request AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE bulk_request IS 'facts';

CREATE TABLE campaign (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text NOT NULL,
  description text DEFAULT ''::text NOT NULL,
  status smallint NOT NULL,
  sending_mode text NOT NULL,
  sms_sender text,
  sms_body text,
  rcs_agent_id text,
  rcs_template_id text,
  whatsapp_phone_number_id text,
  whatsapp_template_id text,
  destination_type smallint,
  contact_list_ids bigint[] DEFAULT '{}'::bigint[] NOT NULL,
  destinations text[] DEFAULT '{}'::text[] NOT NULL,
  numbers text[] COLLATE "C" DEFAULT '{}'::text[] NOT NULL,
  scheduled_at timestamp with time zone,
  ready_to_send boolean DEFAULT false NOT NULL,
  fallback jsonb DEFAULT '{}'::jsonb NOT NULL,
  quiet_hours jsonb,
  rate integer,
  version bigint DEFAULT 1 NOT NULL,
  audience jsonb,
  audience_version bigint,
  audience_list_versions bigint[],
  audience_at timestamp with time zone,
  total_destinations bigint DEFAULT 0 NOT NULL,
  estimated_micros bigint DEFAULT 0 NOT NULL,
  reserved_micros bigint DEFAULT 0 NOT NULL,
  api_key_id bigint,
  user_id bigint,
  failure_reason text,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  confirmed_at timestamp with time zone,
  started_at timestamp with time zone,
  paused_at timestamp with time zone,
  cancelled_at timestamp with time zone,
  completed_at timestamp with time zone,
  number_countries text[] DEFAULT '{}'::text[] NOT NULL,
  number_channels smallint[] DEFAULT '{}'::smallint[] NOT NULL,
  unreadable_numbers integer DEFAULT 0 NOT NULL,
  rcs_traffic_type text,
  purpose text,
  respect_calendar boolean,
  local_time jsonb,
  weekly_cap smallint,
  encoding text,
  tlvs jsonb,
  CONSTRAINT campaign_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT campaign_check CHECK (((status = ANY (ARRAY[0, 1])) OR (confirmed_at IS NOT NULL))),
  CONSTRAINT campaign_check1 CHECK (((destination_type IS DISTINCT FROM 1) OR (cardinality(destinations) = 0))),
  CONSTRAINT campaign_check2 CHECK (((destination_type IS DISTINCT FROM 2) OR (cardinality(contact_list_ids) = 0))),
  CONSTRAINT campaign_destination_type_check CHECK ((destination_type = ANY (ARRAY[1, 2]))),
  CONSTRAINT campaign_encoding_check CHECK ((encoding = ANY (ARRAY['auto'::text, 'smart'::text, 'strict'::text]))),
  CONSTRAINT campaign_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  CONSTRAINT campaign_weekly_cap_check CHECK ((weekly_cap > 0)),
  CONSTRAINT campaign_purpose_check CHECK ((purpose = ANY (ARRAY['marketing'::text, 'transactional'::text, 'otp'::text, 'service'::text]))),
  CONSTRAINT campaign_rate_check CHECK ((rate > 0)),
  CONSTRAINT campaign_sending_mode_check CHECK ((sending_mode = ANY (ARRAY['SMS'::text, 'RCS'::text, 'WHATSAPP'::text, 'RCS_SMS'::text, 'WHATSAPP_SMS'::text, 'WHATSAPP_RCS'::text, 'WHATSAPP_RCS_SMS'::text]))),
  CONSTRAINT campaign_status_check CHECK (((status >= 0) AND (status <= 4)))
);

CREATE INDEX campaign_active ON campaign USING btree (account_id, status, scheduled_at) WHERE ((status = ANY (ARRAY[1, 2])) AND (confirmed_at IS NOT NULL));

CREATE INDEX campaign_created ON campaign USING btree (account_id, created_at, id);

CREATE INDEX campaign_failed ON campaign USING btree (account_id, completed_at) WHERE (status = 4);

ALTER TABLE campaign ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON campaign AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE campaign IS 'facts';

CREATE TABLE campaign_batch (
  account_id bigint NOT NULL,
  campaign_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  fallback_number smallint NOT NULL,
  channel smallint NOT NULL,
  country text NOT NULL,
  first_destination text COLLATE "C" NOT NULL,
  last_destination text COLLATE "C" NOT NULL,
  message_ids uuid[] NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  due_at timestamp with time zone,
  CONSTRAINT campaign_batch_pkey PRIMARY KEY (account_id, campaign_id, id)
);

ALTER TABLE campaign_batch ALTER COLUMN message_ids SET STORAGE EXTERNAL;

CREATE INDEX campaign_batch_due ON campaign_batch USING btree (account_id, campaign_id, due_at) WHERE (due_at IS NOT NULL);

ALTER TABLE campaign_batch ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON campaign_batch AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE campaign_batch IS 'facts';

CREATE TABLE campaign_draft (
  account_id bigint NOT NULL,
  id uuid NOT NULL,
  campaign_id bigint,
  name text NOT NULL,
  content jsonb NOT NULL,
  version integer NOT NULL,
  user_id bigint,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT campaign_draft_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT campaign_draft_account_id_campaign_id_key UNIQUE (account_id, campaign_id),
  CONSTRAINT campaign_draft_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);

ALTER TABLE campaign_draft ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON campaign_draft AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE campaign_draft IS 'facts';

CREATE TABLE campaign_fallback (
  account_id bigint NOT NULL,
  campaign_id bigint NOT NULL,
  destination text COLLATE "C" NOT NULL,
  fallback_number smallint NOT NULL,
  message_id uuid NOT NULL,
  reason text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  from_channel text DEFAULT ''::text NOT NULL,
  deliveries smallint DEFAULT 0 NOT NULL,
  CONSTRAINT campaign_fallback_pkey PRIMARY KEY (account_id, campaign_id, destination, fallback_number)
);

ALTER TABLE campaign_fallback ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON campaign_fallback AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE campaign_fallback IS 'facts';

CREATE TABLE campaign_job (
  campaign_id bigint NOT NULL,
  account_id bigint NOT NULL,
  due_at timestamp with time zone DEFAULT now() NOT NULL,
  failures smallint DEFAULT 0 NOT NULL,
  CONSTRAINT campaign_job_pkey PRIMARY KEY (campaign_id)
);

CREATE INDEX campaign_job_due ON campaign_job USING btree (due_at);

ALTER TABLE campaign_job ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON campaign_job AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE campaign_job IS 'queue';

CREATE TABLE campaign_lane (
  account_id bigint NOT NULL,
  campaign_id bigint NOT NULL,
  country text NOT NULL,
  area text DEFAULT ''::text NOT NULL,
  range_from text[] COLLATE "C",
  range_to text[] COLLATE "C",
  fed_to text COLLATE "C" DEFAULT ''::text NOT NULL,
  done boolean DEFAULT false NOT NULL,
  CONSTRAINT campaign_lane_pkey PRIMARY KEY (account_id, campaign_id, country, area)
);

ALTER TABLE campaign_lane ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON campaign_lane AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE campaign_lane IS 'facts';

CREATE TABLE campaign_minute (
  account_id bigint NOT NULL,
  campaign_id bigint NOT NULL,
  minute timestamp with time zone NOT NULL,
  channel smallint NOT NULL,
  status smallint NOT NULL,
  code text NOT NULL,
  shard smallint NOT NULL,
  sent bigint DEFAULT 0 NOT NULL,
  delivered bigint DEFAULT 0 NOT NULL,
  failed bigint DEFAULT 0 NOT NULL,
  CONSTRAINT campaign_minute_pkey PRIMARY KEY (account_id, campaign_id, minute, channel, status, code, shard)
) WITH (fillfactor=50);

ALTER TABLE campaign_minute ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON campaign_minute AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE campaign_minute IS 'facts';

CREATE TABLE campaign_outcome (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  campaign_id bigint NOT NULL,
  message_ids uuid[] NOT NULL,
  statuses smallint[] NOT NULL,
  due_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT campaign_outcome_pkey PRIMARY KEY (id)
);

CREATE INDEX campaign_outcome_campaign ON campaign_outcome USING btree (campaign_id);

ALTER TABLE campaign_outcome ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON campaign_outcome AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE campaign_outcome IS 'queue';

CREATE TABLE campaign_policy (
  account_id bigint NOT NULL,
  quiet_hours jsonb,
  sms_senders text[],
  CONSTRAINT campaign_policy_pkey PRIMARY KEY (account_id)
);

ALTER TABLE campaign_policy ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON campaign_policy AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE campaign_policy IS 'facts';

CREATE TABLE campaign_recipient (
  account_id bigint NOT NULL,
  campaign_id bigint NOT NULL,
  country text NOT NULL,
  destination text COLLATE "C" NOT NULL,
  contact_id bigint,
  channels smallint NOT NULL,
  sms_parts smallint DEFAULT 1 NOT NULL,
  reserve_micros bigint NOT NULL,
  skip_reason text,
  CONSTRAINT campaign_recipient_pkey PRIMARY KEY (account_id, campaign_id, country, destination)
);

ALTER TABLE campaign_recipient ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON campaign_recipient AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE campaign_recipient IS 'facts';

CREATE TABLE campaign_run (
  account_id bigint NOT NULL,
  campaign_id bigint NOT NULL,
  expanded_to text COLLATE "C",
  expanded boolean DEFAULT false NOT NULL,
  recipients bigint DEFAULT 0 NOT NULL,
  skipped bigint DEFAULT 0 NOT NULL,
  unused_micros bigint DEFAULT 0 NOT NULL,
  messages bigint DEFAULT 0 NOT NULL,
  ended bigint DEFAULT 0 NOT NULL,
  delivered bigint DEFAULT 0 NOT NULL,
  allotted_micros bigint DEFAULT 0 NOT NULL,
  delivered_twice bigint DEFAULT 0 NOT NULL,
  unmade bigint DEFAULT 0 NOT NULL,
  withdrawn bigint DEFAULT 0 NOT NULL,
  spare_micros bigint DEFAULT 0 NOT NULL,
  CONSTRAINT campaign_run_pkey PRIMARY KEY (account_id, campaign_id)
);

ALTER TABLE campaign_run ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON campaign_run AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE campaign_run IS 'facts';

CREATE TABLE canned_answer (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  shortcut text NOT NULL,
  text text NOT NULL,
  CONSTRAINT canned_answer_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT canned_answer_account_id_shortcut_key UNIQUE (account_id, shortcut),
  CONSTRAINT canned_answer_shortcut_check CHECK ((shortcut ~ '^[a-z0-9][a-z0-9_-]{0,39}$'::text)),
  CONSTRAINT canned_answer_text_check CHECK (((length(text) >= 1) AND (length(text) <= 4096))),
  CONSTRAINT canned_answer_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);

ALTER TABLE canned_answer ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON canned_answer AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE canned_answer IS 'facts';

CREATE TABLE cell (
  only_row boolean DEFAULT true NOT NULL,
  number smallint NOT NULL,
  erasures bigint DEFAULT 0 NOT NULL,
  CONSTRAINT cell_pkey PRIMARY KEY (only_row),
  CONSTRAINT cell_number_check CHECK (((number >= 0) AND (number <= 8190))),
  CONSTRAINT cell_only_row_check CHECK (only_row)
);

COMMENT ON TABLE cell IS 'shared';

CREATE TABLE client_message_id (
  account_id bigint NOT NULL,
  client_id text NOT NULL,
  message_id uuid NOT NULL,
  content_hash bytea NOT NULL,
  created_at timestamp with time zone NOT NULL,
  newest_id uuid,
  CONSTRAINT client_message_id_pkey PRIMARY KEY (account_id, client_id)
);

CREATE INDEX client_message_id_age ON client_message_id USING brin (created_at);

ALTER TABLE client_message_id ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON client_message_id AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE client_message_id IS 'facts';

CREATE TABLE connection (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text NOT NULL,
  kind text NOT NULL,
  status text DEFAULT 'active'::text NOT NULL,
  sandbox boolean DEFAULT false NOT NULL,
  settings jsonb NOT NULL,
  secret bytea NOT NULL,
  version bigint DEFAULT 1 NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  sandbox_state text,
  CONSTRAINT connection_pkey PRIMARY KEY (id),
  CONSTRAINT connection_name_key UNIQUE (name),
  CONSTRAINT connection_name_check CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'::text)),
  CONSTRAINT connection_sandbox_state_check CHECK (((sandbox_state IS NULL) OR (sandbox AND (sandbox_state = ANY (ARRAY['retired'::text, 'restored'::text, 'kept'::text]))))),
  CONSTRAINT connection_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text])))
);

COMMENT ON TABLE connection IS 'shared';

CREATE TABLE connection_cost (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  connection_id bigint NOT NULL,
  prefix text DEFAULT ''::text NOT NULL,
  network text,
  unit_micros bigint NOT NULL,
  CONSTRAINT connection_cost_pkey PRIMARY KEY (id),
  CONSTRAINT connection_cost_connection_id_prefix_network_key UNIQUE NULLS NOT DISTINCT (connection_id, prefix, network),
  CONSTRAINT connection_cost_network_check CHECK ((network ~ '^[0-9]{5,6}$'::text)),
  CONSTRAINT connection_cost_prefix_check CHECK ((prefix ~ '^[0-9]{0,15}$'::text)),
  CONSTRAINT connection_cost_unit_micros_check CHECK ((unit_micros >= 0)),
  CONSTRAINT connection_cost_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id) ON DELETE CASCADE
);

COMMENT ON TABLE connection_cost IS 'shared';

CREATE TABLE connection_down (
  connection_id bigint NOT NULL,
  since timestamp with time zone DEFAULT now() NOT NULL,
  seen_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT connection_down_pkey PRIMARY KEY (connection_id),
  CONSTRAINT connection_down_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id) ON DELETE CASCADE
);

COMMENT ON TABLE connection_down IS 'queue';

CREATE TABLE connection_error (
  connection_id bigint NOT NULL,
  worker bigint NOT NULL,
  text text NOT NULL,
  at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT connection_error_pkey PRIMARY KEY (connection_id, worker),
  CONSTRAINT connection_error_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id) ON DELETE CASCADE
);

COMMENT ON TABLE connection_error IS 'queue';

CREATE TABLE connection_minute (
  connection_id bigint NOT NULL,
  minute timestamp with time zone NOT NULL,
  accepted bigint DEFAULT 0 NOT NULL,
  refused bigint DEFAULT 0 NOT NULL,
  retried bigint DEFAULT 0 NOT NULL,
  unknown bigint DEFAULT 0 NOT NULL,
  CONSTRAINT connection_minute_pkey PRIMARY KEY (connection_id, minute)
);

COMMENT ON TABLE connection_minute IS 'queue';

CREATE TABLE connection_notice (
  connection_id bigint NOT NULL,
  subject text NOT NULL,
  text text NOT NULL,
  serious boolean NOT NULL,
  at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT connection_notice_pkey PRIMARY KEY (connection_id, subject),
  CONSTRAINT connection_notice_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id) ON DELETE CASCADE
);

COMMENT ON TABLE connection_notice IS 'queue';

CREATE TABLE connection_poll (
  connection_id bigint NOT NULL,
  cursor text,
  due_at timestamp with time zone NOT NULL,
  CONSTRAINT connection_poll_pkey PRIMARY KEY (connection_id),
  CONSTRAINT connection_poll_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id) ON DELETE CASCADE
);

COMMENT ON TABLE connection_poll IS 'queue';

CREATE TABLE connection_quality (
  connection_id bigint NOT NULL,
  country text NOT NULL,
  slot timestamp with time zone NOT NULL,
  messages bigint NOT NULL,
  delivered bigint NOT NULL,
  receipt_ms bigint NOT NULL,
  CONSTRAINT connection_quality_pkey PRIMARY KEY (connection_id, country, slot)
);

CREATE INDEX connection_quality_slot ON connection_quality USING btree (slot);

COMMENT ON TABLE connection_quality IS 'queue';

CREATE TABLE connection_status (
  connection_id bigint NOT NULL,
  worker bigint NOT NULL,
  up boolean NOT NULL,
  binds_up integer NOT NULL,
  binds_wanted integer NOT NULL,
  fault text,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  in_flight integer DEFAULT 0 NOT NULL,
  per_second real DEFAULT 0 NOT NULL,
  last_error text,
  last_error_at timestamp with time zone,
  CONSTRAINT connection_status_pkey PRIMARY KEY (connection_id, worker)
);

COMMENT ON TABLE connection_status IS 'queue';

CREATE TABLE consent (
  account_id bigint NOT NULL,
  phone_number text NOT NULL,
  person text GENERATED ALWAYS AS (person_of(phone_number)) STORED NOT NULL,
  channel text NOT NULL,
  purpose text DEFAULT '*'::text NOT NULL,
  sender text DEFAULT '*'::text NOT NULL,
  state text DEFAULT 'OPTED_OUT'::text NOT NULL,
  source text NOT NULL,
  since timestamp with time zone DEFAULT now() NOT NULL,
  proof jsonb,
  CONSTRAINT consent_pkey PRIMARY KEY (account_id, person, channel, purpose, sender),
  CONSTRAINT consent_channel_check CHECK ((channel = ANY (ARRAY['SMS'::text, 'RCS'::text, 'WHATSAPP'::text]))),
  CONSTRAINT consent_purpose_check CHECK ((purpose = ANY (ARRAY['*'::text, 'marketing'::text, 'transactional'::text, 'otp'::text, 'service'::text]))),
  CONSTRAINT consent_source_check CHECK ((source = ANY (ARRAY['STOP'::text, 'START'::text, 'API'::text, 'OPERATOR'::text, 'IMPORT'::text, 'NETWORK'::text, 'SUSPECTED'::text, 'PAGE'::text, 'ERASURE'::text]))),
  CONSTRAINT consent_state_check CHECK ((state = ANY (ARRAY['OPTED_OUT'::text, 'OPTED_IN'::text, 'PENDING'::text])))
);

CREATE INDEX consent_age ON consent USING brin (since);

CREATE INDEX consent_out ON consent USING btree (account_id, channel, person) WHERE (state = 'OPTED_OUT'::text);

ALTER TABLE consent ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON consent AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE consent IS 'facts';

CREATE TABLE consent_answer (
  account_id bigint NOT NULL,
  person text NOT NULL,
  channel text NOT NULL,
  sender text NOT NULL,
  says text NOT NULL,
  at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT consent_answer_pkey PRIMARY KEY (account_id, person, channel, sender, says),
  CONSTRAINT consent_answer_channel_check CHECK ((channel = ANY (ARRAY['SMS'::text, 'RCS'::text, 'WHATSAPP'::text])))
);

CREATE INDEX consent_answer_at ON consent_answer USING btree (at);

ALTER TABLE consent_answer ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON consent_answer AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE consent_answer IS 'facts';

CREATE TABLE consent_change (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  phone_number text NOT NULL,
  person text GENERATED ALWAYS AS (person_of(phone_number)) STORED NOT NULL,
  channel text NOT NULL,
  purpose text NOT NULL,
  sender text NOT NULL,
  state text NOT NULL,
  source text NOT NULL,
  at timestamp with time zone DEFAULT now() NOT NULL,
  proof jsonb,
  CONSTRAINT consent_change_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT consent_change_channel_check CHECK ((channel = ANY (ARRAY['SMS'::text, 'RCS'::text, 'WHATSAPP'::text])))
);

CREATE INDEX consent_change_person ON consent_change USING btree (account_id, person, id);

ALTER TABLE consent_change ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON consent_change AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE consent_change IS 'facts';

CREATE TABLE consent_settings (
  account_id bigint NOT NULL,
  scope text DEFAULT 'account'::text NOT NULL,
  revoke_all boolean,
  otp_after_stop boolean DEFAULT false NOT NULL,
  require_opt_in boolean DEFAULT false NOT NULL,
  words jsonb DEFAULT '[]'::jsonb NOT NULL,
  answers jsonb DEFAULT '[]'::jsonb NOT NULL,
  CONSTRAINT consent_settings_pkey PRIMARY KEY (account_id),
  CONSTRAINT consent_settings_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT consent_settings_scope_check CHECK ((scope = ANY (ARRAY['account'::text, 'sender'::text])))
);

ALTER TABLE consent_settings ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON consent_settings AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE consent_settings IS 'facts';

CREATE TABLE contact (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  first_name text,
  last_name text,
  given_full_name text,
  full_name text GENERATED ALWAYS AS (COALESCE(given_full_name, btrim(((COALESCE(first_name, ''::text) || ' '::text) || COALESCE(last_name, ''::text))))) STORED NOT NULL,
  gender text,
  phone_number text,
  person text GENERATED ALWAYS AS (person_of(phone_number)) STORED,
  email text,
  is_valid boolean NOT NULL,
  is_test boolean DEFAULT false NOT NULL,
  number_type text,
  country text,
  channels smallint NOT NULL,
  custom_fields jsonb DEFAULT '{}'::jsonb NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  allowed_channels smallint DEFAULT 7 NOT NULL,
  CONSTRAINT contact_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT contact_check CHECK (((phone_number IS NOT NULL) OR (email IS NOT NULL))),
  CONSTRAINT contact_gender_check CHECK ((gender = ANY (ARRAY['MALE'::text, 'FEMALE'::text, 'OTHER'::text])))
);

CREATE INDEX contact_created ON contact USING btree (account_id, created_at);

CREATE INDEX contact_email ON contact USING btree (account_id, email) WHERE (email IS NOT NULL);

CREATE INDEX contact_filter ON contact USING btree (account_id, is_test, is_valid, gender, channels);

CREATE INDEX contact_name ON contact USING btree (account_id, lower(full_name), id);

CREATE INDEX contact_number ON contact USING btree (account_id, phone_number);

CREATE UNIQUE INDEX contact_person ON contact USING btree (account_id, person);

CREATE INDEX contact_search ON contact USING gin (fold_text(((((full_name || '
'::text) || COALESCE(phone_number, ''::text)) || '
'::text) || COALESCE(email, ''::text))) gin_trgm_ops);

ALTER TABLE contact ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON contact AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE contact IS 'facts';

CREATE TABLE contact_activity (
  account_id bigint NOT NULL,
  contact_id bigint NOT NULL,
  last_contact_type text NOT NULL,
  last_contact_date timestamp with time zone NOT NULL,
  last_campaign_type text,
  CONSTRAINT contact_activity_pkey PRIMARY KEY (account_id, contact_id)
) WITH (fillfactor=50);

ALTER TABLE contact_activity ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON contact_activity AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE contact_activity IS 'facts';

CREATE TABLE contact_book (
  account_id bigint NOT NULL,
  contacts bigint DEFAULT 0 NOT NULL,
  plan_limit bigint,
  extra_limit bigint DEFAULT 0 NOT NULL,
  CONSTRAINT contact_book_pkey PRIMARY KEY (account_id),
  CONSTRAINT contact_book_contacts_check CHECK ((contacts >= 0)),
  CONSTRAINT contact_book_extra_limit_check CHECK ((extra_limit >= 0)),
  CONSTRAINT contact_book_plan_limit_check CHECK ((plan_limit >= 0))
);

ALTER TABLE contact_book ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON contact_book AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE contact_book IS 'facts';

CREATE TABLE contact_import (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  status text NOT NULL,
  file_name text NOT NULL,
  dry_run boolean NOT NULL,
  list_id bigint,
  author jsonb NOT NULL,
  columns jsonb NOT NULL,
  preview jsonb NOT NULL,
  total bigint NOT NULL,
  created bigint DEFAULT 0 NOT NULL,
  updated bigint DEFAULT 0 NOT NULL,
  skipped bigint DEFAULT 0 NOT NULL,
  errors bigint DEFAULT 0 NOT NULL,
  failure text,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  completed_at timestamp with time zone,
  cleaning jsonb DEFAULT '{"groups": [], "changes": []}'::jsonb NOT NULL,
  CONSTRAINT contact_import_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT contact_import_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'RUNNING'::text, 'COMPLETED'::text, 'FAILED'::text])))
);

ALTER TABLE contact_import ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON contact_import AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE contact_import IS 'facts';

CREATE TABLE contact_import_chunk (
  account_id bigint NOT NULL,
  import_id bigint NOT NULL,
  n integer NOT NULL,
  rows bytea NOT NULL,
  CONSTRAINT contact_import_chunk_pkey PRIMARY KEY (account_id, import_id, n)
);

ALTER TABLE contact_import_chunk ALTER COLUMN rows SET STORAGE EXTERNAL;

ALTER TABLE contact_import_chunk ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON contact_import_chunk AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE contact_import_chunk IS 'facts';

CREATE TABLE contact_import_reject (
  account_id bigint NOT NULL,
  import_id bigint NOT NULL,
  line integer NOT NULL,
  faults jsonb NOT NULL,
  cells jsonb NOT NULL,
  CONSTRAINT contact_import_reject_pkey PRIMARY KEY (account_id, import_id, line)
);

ALTER TABLE contact_import_reject ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON contact_import_reject AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE contact_import_reject IS 'facts';

CREATE TABLE contact_list (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text NOT NULL,
  description text DEFAULT ''::text NOT NULL,
  is_test boolean DEFAULT false NOT NULL,
  contact_count bigint DEFAULT 0 NOT NULL,
  version bigint DEFAULT 1 NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  deleted_at timestamp with time zone,
  CONSTRAINT contact_list_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT contact_list_contact_count_check CHECK ((contact_count >= 0)),
  CONSTRAINT contact_list_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);

CREATE INDEX contact_list_name ON contact_list USING btree (account_id, lower(name), id);

ALTER TABLE contact_list ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON contact_list AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE contact_list IS 'facts';

CREATE TABLE contact_list_member (
  account_id bigint NOT NULL,
  list_id bigint NOT NULL,
  contact_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  name_key text NOT NULL,
  CONSTRAINT contact_list_member_pkey PRIMARY KEY (account_id, contact_id, list_id)
);

CREATE UNIQUE INDEX contact_list_member_id ON contact_list_member USING btree (account_id, id);

CREATE INDEX contact_list_member_name ON contact_list_member USING btree (account_id, list_id, name_key, contact_id);

ALTER TABLE contact_list_member ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON contact_list_member AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE contact_list_member IS 'facts';

CREATE TABLE contact_upload (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  file_name text NOT NULL,
  size_bytes bigint NOT NULL,
  format text NOT NULL,
  encoding text,
  progress real,
  taken boolean DEFAULT false NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT contact_upload_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT contact_upload_format_check CHECK ((format = ANY (ARRAY['csv'::text, 'xlsx'::text, 'vcard'::text]))),
  CONSTRAINT contact_upload_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);

CREATE INDEX contact_upload_age ON contact_upload USING btree (created_at);

ALTER TABLE contact_upload ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON contact_upload AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE contact_upload IS 'queue';

CREATE TABLE contact_upload_part (
  account_id bigint NOT NULL,
  upload_id bigint NOT NULL,
  n integer NOT NULL,
  bytes bytea NOT NULL,
  CONSTRAINT contact_upload_part_pkey PRIMARY KEY (account_id, upload_id, n),
  CONSTRAINT contact_upload_part_account_id_upload_id_fkey FOREIGN KEY (account_id, upload_id) REFERENCES contact_upload(account_id, id) ON DELETE CASCADE
);

ALTER TABLE contact_upload_part ALTER COLUMN bytes SET STORAGE EXTERNAL;

ALTER TABLE contact_upload_part ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON contact_upload_part AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE contact_upload_part IS 'queue';

CREATE TABLE conversation (
  account_id bigint NOT NULL,
  chat_id uuid NOT NULL,
  channel text NOT NULL,
  peer text NOT NULL,
  person text GENERATED ALWAYS AS (person_of(peer)) STORED NOT NULL,
  identity text NOT NULL,
  profile_name text DEFAULT ''::text NOT NULL,
  unread integer DEFAULT 0 NOT NULL,
  archived boolean DEFAULT false NOT NULL,
  assignee_id bigint,
  window_expires_at timestamp with time zone,
  last_direction text NOT NULL,
  last_type text NOT NULL,
  last_text text NOT NULL,
  last_at timestamp with time zone NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  snoozed_until timestamp with time zone,
  answered_period text,
  free_entry_until timestamp with time zone,
  CONSTRAINT conversation_pkey PRIMARY KEY (account_id, chat_id),
  CONSTRAINT conversation_channel_check CHECK ((channel = ANY (ARRAY['SMS'::text, 'RCS'::text, 'WHATSAPP'::text]))),
  CONSTRAINT conversation_unread_check CHECK ((unread >= 0))
);

CREATE INDEX conversation_channel ON conversation USING btree (account_id, archived, channel, last_at, chat_id);

CREATE INDEX conversation_most_unread ON conversation USING btree (account_id, archived, unread, chat_id);

CREATE UNIQUE INDEX conversation_person ON conversation USING btree (account_id, person, channel);

CREATE INDEX conversation_recent ON conversation USING btree (account_id, archived, last_at, chat_id);

CREATE INDEX conversation_search ON conversation USING gin (fold_text(((peer || '
'::text) || profile_name)) gin_trgm_ops);

CREATE INDEX conversation_snoozed ON conversation USING btree (snoozed_until) WHERE (snoozed_until IS NOT NULL);

CREATE INDEX conversation_unread ON conversation USING btree (account_id, archived, last_at, chat_id) WHERE (unread > 0);

ALTER TABLE conversation ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON conversation AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE conversation IS 'facts';

CREATE TABLE conversation_label (
  account_id bigint NOT NULL,
  label_id bigint NOT NULL,
  chat_id uuid NOT NULL,
  CONSTRAINT conversation_label_pkey PRIMARY KEY (account_id, label_id, chat_id)
);

CREATE INDEX conversation_label_chat ON conversation_label USING btree (account_id, chat_id);

ALTER TABLE conversation_label ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON conversation_label AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE conversation_label IS 'facts';

CREATE TABLE credit_balance (
  account_id bigint NOT NULL,
  currency text DEFAULT 'EUR'::text NOT NULL,
  available_micros bigint DEFAULT 0 NOT NULL,
  unlimited boolean DEFAULT false NOT NULL,
  CONSTRAINT credit_balance_pkey PRIMARY KEY (account_id),
  CONSTRAINT credit_balance_check CHECK ((unlimited OR (available_micros >= 0))),
  CONSTRAINT credit_balance_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text))
);

ALTER TABLE credit_balance ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON credit_balance AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE credit_balance IS 'facts';

CREATE TABLE credit_frozen (
  account_id bigint NOT NULL,
  shard smallint NOT NULL,
  micros bigint NOT NULL,
  CONSTRAINT credit_frozen_pkey PRIMARY KEY (account_id, shard)
);

ALTER TABLE credit_frozen ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON credit_frozen AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE credit_frozen IS 'facts';

CREATE TABLE custom_field (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text NOT NULL,
  type text NOT NULL,
  description text DEFAULT ''::text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT custom_field_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT custom_field_name_check CHECK ((name ~ '^[A-Za-z][A-Za-z0-9_]{0,62}$'::text)),
  CONSTRAINT custom_field_type_check CHECK ((type = ANY (ARRAY['text'::text, 'number'::text, 'boolean'::text, 'date'::text])))
);

CREATE UNIQUE INDEX custom_field_name ON custom_field USING btree (account_id, fold_text(name));

ALTER TABLE custom_field ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON custom_field AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE custom_field IS 'facts';

CREATE TABLE dispatch_chunk (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  connection_id bigint NOT NULL,
  priority smallint NOT NULL,
  round bigint NOT NULL,
  available_at timestamp with time zone DEFAULT now() NOT NULL,
  attempt smallint DEFAULT 0 NOT NULL,
  owner bigint,
  intent integer DEFAULT 0 NOT NULL,
  size integer NOT NULL,
  ids uuid[] NOT NULL,
  on_unknown text DEFAULT 'hold'::text NOT NULL,
  scheduled boolean DEFAULT false NOT NULL,
  withdrawn uuid[],
  alternates bigint[] DEFAULT '{}'::bigint[] NOT NULL,
  tries smallint DEFAULT 0 NOT NULL,
  campaign_id bigint,
  parked_until timestamp with time zone,
  CONSTRAINT dispatch_chunk_pkey PRIMARY KEY (id),
  CONSTRAINT dispatch_chunk_on_unknown_check CHECK ((on_unknown = ANY (ARRAY['hold'::text, 'resubmit'::text])))
);

ALTER TABLE dispatch_chunk ALTER COLUMN ids SET STORAGE EXTERNAL;

CREATE INDEX dispatch_chunk_campaign ON dispatch_chunk USING btree (campaign_id) WHERE (campaign_id IS NOT NULL);

CREATE INDEX dispatch_chunk_claim ON dispatch_chunk USING btree (connection_id, priority, round, id) WHERE (owner IS NULL);

CREATE INDEX dispatch_chunk_owner ON dispatch_chunk USING btree (owner) WHERE (owner IS NOT NULL);

CREATE INDEX dispatch_chunk_rounds ON dispatch_chunk USING btree (connection_id, priority, account_id, round);

ALTER TABLE dispatch_chunk ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON dispatch_chunk AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE dispatch_chunk IS 'queue';

CREATE TABLE dlt_template (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  owner_id bigint NOT NULL,
  header text NOT NULL,
  entity_id text NOT NULL,
  template_id text NOT NULL,
  chain text,
  text text NOT NULL,
  CONSTRAINT dlt_template_pkey PRIMARY KEY (id),
  CONSTRAINT dlt_template_owner_id_header_template_id_key UNIQUE (owner_id, header, template_id),
  CONSTRAINT dlt_template_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES account(id)
);

COMMENT ON TABLE dlt_template IS 'shared';

CREATE TABLE erased_person (
  account_id bigint NOT NULL,
  hash bytea NOT NULL,
  erased_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT erased_person_pkey PRIMARY KEY (account_id, hash)
);

ALTER TABLE erased_person ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON erased_person AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE erased_person IS 'facts';

CREATE TABLE erasure (
  account_id bigint NOT NULL,
  id uuid NOT NULL,
  dry_run boolean NOT NULL,
  counts jsonb,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  done_at timestamp with time zone,
  position bigint,
  CONSTRAINT erasure_pkey PRIMARY KEY (account_id, id)
);

ALTER TABLE erasure ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON erasure AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE erasure IS 'facts';

CREATE TABLE expiry_progress (
  done_to timestamp with time zone NOT NULL,
  only_row boolean DEFAULT true NOT NULL,
  CONSTRAINT expiry_progress_pkey PRIMARY KEY (only_row),
  CONSTRAINT expiry_progress_only_row_check CHECK (only_row)
);

COMMENT ON TABLE expiry_progress IS 'queue';

CREATE TABLE export (
  account_id bigint NOT NULL,
  id uuid DEFAULT uuidv7() NOT NULL,
  type text NOT NULL,
  format text NOT NULL,
  status text NOT NULL,
  filters jsonb NOT NULL,
  version integer DEFAULT 1 NOT NULL,
  rows bigint DEFAULT 0 NOT NULL,
  expected_rows bigint,
  size_bytes bigint,
  file_key text,
  failure text,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  completed_at timestamp with time zone,
  expires_at timestamp with time zone,
  CONSTRAINT export_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT export_check CHECK (((status <> 'COMPLETED'::text) OR ((file_key IS NOT NULL) AND (size_bytes IS NOT NULL) AND (expires_at IS NOT NULL)))),
  CONSTRAINT export_format_check CHECK ((format = ANY (ARRAY['csv'::text, 'csv.gz'::text, 'xlsx'::text]))),
  CONSTRAINT export_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'COMPLETED'::text, 'EXPIRED'::text, 'FAILED'::text]))),
  CONSTRAINT export_type_check CHECK ((type = ANY (ARRAY['HISTORY'::text, 'CONTACTS'::text, 'DELIVERY_REPORTS'::text, 'OPT_OUTS'::text, 'PERSON'::text])))
);

CREATE INDEX export_expires ON export USING btree (expires_at) WHERE (status = 'COMPLETED'::text);

ALTER TABLE export ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON export AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE export IS 'facts';

CREATE TABLE free_allowance (
  sender text NOT NULL,
  month date NOT NULL,
  used bigint DEFAULT 0 NOT NULL,
  CONSTRAINT free_allowance_pkey PRIMARY KEY (sender, month),
  CONSTRAINT free_allowance_used_check CHECK ((used >= 0))
);

COMMENT ON TABLE free_allowance IS 'shared';

CREATE TABLE free_message (
  account_id bigint NOT NULL,
  message_id uuid NOT NULL,
  sender text NOT NULL,
  month date NOT NULL,
  CONSTRAINT free_message_pkey PRIMARY KEY (account_id, message_id)
);

CREATE INDEX free_message_month ON free_message USING btree (month);

ALTER TABLE free_message ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON free_message AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE free_message IS 'facts';

CREATE TABLE idempotency_key (
  account_id bigint NOT NULL,
  key text NOT NULL,
  request_hash bytea NOT NULL,
  answer bytea NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT idempotency_key_pkey PRIMARY KEY (account_id, key)
);

CREATE INDEX idempotency_key_age ON idempotency_key USING btree (created_at);

ALTER TABLE idempotency_key ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON idempotency_key AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE idempotency_key IS 'facts';

CREATE TABLE inbound_message (
  account_id bigint NOT NULL,
  id uuid NOT NULL,
  connection_id bigint NOT NULL,
  source text NOT NULL,
  destination text NOT NULL,
  body text NOT NULL,
  octets bytea NOT NULL,
  parts smallint NOT NULL,
  parts_received smallint NOT NULL,
  received_at timestamp with time zone NOT NULL,
  channel text DEFAULT 'SMS'::text NOT NULL,
  message_type text DEFAULT 'TEXT'::text NOT NULL,
  details jsonb,
  content jsonb,
  CONSTRAINT inbound_message_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT inbound_message_channel_check CHECK ((channel = ANY (ARRAY['SMS'::text, 'RCS'::text, 'WHATSAPP'::text])))
);

CREATE INDEX inbound_message_age ON inbound_message USING brin (received_at);

CREATE INDEX inbound_message_network_id ON inbound_message USING btree (account_id, (details ->> 'id'::text)) WHERE (details IS NOT NULL);

ALTER TABLE inbound_message ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON inbound_message AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE inbound_message IS 'facts';

CREATE TABLE inbound_number (
  connection_id bigint NOT NULL,
  number text NOT NULL,
  account_id bigint NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT inbound_number_pkey PRIMARY KEY (connection_id, number),
  CONSTRAINT inbound_number_number_check CHECK ((number ~ '^([0-9]{1,20}|\*)$'::text)),
  CONSTRAINT inbound_number_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT inbound_number_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id)
);

ALTER TABLE inbound_number ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON inbound_number AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE inbound_number IS 'shared';

CREATE TABLE inbound_part (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  connection_id bigint NOT NULL,
  source text NOT NULL,
  destination text NOT NULL,
  ref integer NOT NULL,
  total smallint NOT NULL,
  seq smallint NOT NULL,
  text_utf16 bytea NOT NULL,
  octets bytea NOT NULL,
  received_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT inbound_part_pkey PRIMARY KEY (id)
);

CREATE INDEX inbound_part_received ON inbound_part USING btree (received_at);

CREATE INDEX inbound_part_set ON inbound_part USING btree (connection_id, source, destination, ref, total);

COMMENT ON TABLE inbound_part IS 'queue';

CREATE TABLE inbound_seen (
  connection_id bigint NOT NULL,
  hash bytea NOT NULL,
  forget_at timestamp with time zone NOT NULL,
  CONSTRAINT inbound_seen_pkey PRIMARY KEY (connection_id, hash)
);

CREATE INDEX inbound_seen_forget ON inbound_seen USING btree (forget_at);

COMMENT ON TABLE inbound_seen IS 'queue';

CREATE TABLE inbox (
  account_id bigint NOT NULL,
  last_event bigint DEFAULT 0 NOT NULL,
  CONSTRAINT inbox_pkey PRIMARY KEY (account_id)
);

ALTER TABLE inbox ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON inbox AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE inbox IS 'facts';

CREATE TABLE inbox_agent (
  account_id bigint NOT NULL,
  user_id bigint NOT NULL,
  available boolean NOT NULL,
  assigned_at timestamp with time zone,
  CONSTRAINT inbox_agent_pkey PRIMARY KEY (account_id, user_id)
);

ALTER TABLE inbox_agent ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON inbox_agent AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE inbox_agent IS 'facts';

CREATE TABLE inbox_count (
  account_id bigint NOT NULL,
  archived boolean NOT NULL,
  channel text NOT NULL,
  unread boolean NOT NULL,
  conversations bigint NOT NULL,
  CONSTRAINT inbox_count_pkey PRIMARY KEY (account_id, archived, channel, unread)
);

ALTER TABLE inbox_count ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON inbox_count AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE inbox_count IS 'facts';

CREATE TABLE inbox_event (
  account_id bigint NOT NULL,
  id bigint NOT NULL,
  kind text NOT NULL,
  chat_id uuid NOT NULL,
  message_id uuid,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT inbox_event_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT inbox_event_kind_check CHECK ((kind = ANY (ARRAY['message'::text, 'status'::text, 'conversation'::text, 'note'::text])))
);

CREATE INDEX inbox_event_created ON inbox_event USING brin (created_at);

ALTER TABLE inbox_event ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON inbox_event AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE inbox_event IS 'facts';

CREATE TABLE inbox_label (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text NOT NULL,
  color text NOT NULL,
  CONSTRAINT inbox_label_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT inbox_label_color_check CHECK ((color = ANY (ARRAY['gray'::text, 'red'::text, 'orange'::text, 'yellow'::text, 'green'::text, 'teal'::text, 'blue'::text, 'purple'::text, 'pink'::text]))),
  CONSTRAINT inbox_label_name_check CHECK (((length(name) >= 1) AND (length(name) <= 40))),
  CONSTRAINT inbox_label_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);

CREATE UNIQUE INDEX inbox_label_name ON inbox_label USING btree (account_id, fold_text(name));

ALTER TABLE inbox_label ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON inbox_label AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE inbox_label IS 'facts';

CREATE TABLE inbox_message (
  account_id bigint NOT NULL,
  chat_id uuid NOT NULL,
  id uuid NOT NULL,
  direction text NOT NULL,
  message_type text NOT NULL,
  text text NOT NULL,
  media jsonb,
  consent text,
  at timestamp with time zone NOT NULL,
  CONSTRAINT inbox_message_pkey PRIMARY KEY (account_id, chat_id, id),
  CONSTRAINT inbox_message_consent_check CHECK ((consent = ANY (ARRAY['OPTED_OUT'::text, 'OPTED_IN'::text]))),
  CONSTRAINT inbox_message_direction_check CHECK ((direction = ANY (ARRAY['INBOUND'::text, 'OUTBOUND'::text])))
);

CREATE INDEX inbox_message_age ON inbox_message USING brin (at);

CREATE INDEX inbox_message_newest ON inbox_message USING btree (account_id, id);

ALTER TABLE inbox_message ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON inbox_message AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE inbox_message IS 'facts';

CREATE TABLE inbox_note (
  account_id bigint NOT NULL,
  chat_id uuid NOT NULL,
  id uuid NOT NULL,
  author_id bigint,
  author text NOT NULL,
  text text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT inbox_note_pkey PRIMARY KEY (account_id, chat_id, id),
  CONSTRAINT inbox_note_text_check CHECK (((length(text) >= 1) AND (length(text) <= 4096)))
);

CREATE INDEX inbox_note_age ON inbox_note USING brin (created_at);

ALTER TABLE inbox_note ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON inbox_note AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE inbox_note IS 'facts';

CREATE TABLE inbox_settings (
  account_id bigint NOT NULL,
  assignment text DEFAULT 'MANUAL'::text NOT NULL,
  closed_answer text,
  time_zone text DEFAULT 'UTC'::text NOT NULL,
  open_hours jsonb DEFAULT '[]'::jsonb NOT NULL,
  auto_read boolean DEFAULT false NOT NULL,
  CONSTRAINT inbox_settings_pkey PRIMARY KEY (account_id),
  CONSTRAINT inbox_settings_assignment_check CHECK ((assignment = ANY (ARRAY['MANUAL'::text, 'ROUND_ROBIN'::text]))),
  CONSTRAINT inbox_settings_closed_answer_check CHECK (((length(closed_answer) >= 1) AND (length(closed_answer) <= 1000)))
);

ALTER TABLE inbox_settings ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON inbox_settings AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE inbox_settings IS 'facts';

CREATE TABLE inbox_watch (
  account_id bigint NOT NULL,
  message_id uuid NOT NULL,
  chat_id uuid NOT NULL,
  status text DEFAULT ''::text NOT NULL,
  due_at timestamp with time zone NOT NULL,
  CONSTRAINT inbox_watch_pkey PRIMARY KEY (account_id, message_id)
);

CREATE INDEX inbox_watch_due ON inbox_watch USING btree (due_at);

ALTER TABLE inbox_watch ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON inbox_watch AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE inbox_watch IS 'queue';

CREATE TABLE invitation (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  email text NOT NULL,
  role text NOT NULL,
  token_hash bytea NOT NULL,
  invited_by bigint,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  sent_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT invitation_pkey PRIMARY KEY (id),
  CONSTRAINT invitation_account_id_email_key UNIQUE (account_id, email),
  CONSTRAINT invitation_token_hash_key UNIQUE (token_hash),
  CONSTRAINT invitation_email_check CHECK ((length(email) <= 200)),
  CONSTRAINT invitation_role_check CHECK ((role = ANY (ARRAY['viewer'::text, 'sender'::text, 'manager'::text, 'admin'::text]))),
  CONSTRAINT invitation_token_hash_check CHECK ((length(token_hash) = 32)),
  CONSTRAINT invitation_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT invitation_invited_by_fkey FOREIGN KEY (invited_by) REFERENCES app_user(id) ON DELETE CASCADE
);

CREATE INDEX invitation_invited_by ON invitation USING btree (invited_by);

ALTER TABLE invitation ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON invitation AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE invitation IS 'shared';

CREATE TABLE job (
  id uuid NOT NULL,
  kind text NOT NULL,
  account_id bigint NOT NULL,
  key text,
  payload jsonb NOT NULL,
  run_at timestamp with time zone NOT NULL,
  tries integer DEFAULT 0 NOT NULL,
  owner bigint,
  CONSTRAINT job_pkey PRIMARY KEY (id),
  CONSTRAINT job_key_key UNIQUE (kind, key)
);

CREATE INDEX job_account ON job USING btree (kind, account_id, run_at) WHERE (owner IS NULL);

CREATE INDEX job_owner ON job USING btree (owner) WHERE (owner IS NOT NULL);

CREATE INDEX job_run ON job USING btree (kind, run_at) WHERE (owner IS NULL);

ALTER TABLE job ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON job AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE job IS 'queue';

CREATE TABLE keyword_count (
  account_id bigint NOT NULL,
  number text NOT NULL,
  person text NOT NULL,
  hour timestamp with time zone NOT NULL,
  messages smallint NOT NULL,
  CONSTRAINT keyword_count_pkey PRIMARY KEY (account_id, number, person)
);

ALTER TABLE keyword_count ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON keyword_count AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE keyword_count IS 'queue';

CREATE TABLE keyword_rule (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  number text,
  keyword text NOT NULL,
  answer text,
  forward_to text,
  purpose text DEFAULT 'service'::text NOT NULL,
  fault text,
  fault_at timestamp with time zone,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT keyword_rule_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT keyword_rule_account_id_number_keyword_key UNIQUE NULLS NOT DISTINCT (account_id, number, keyword),
  CONSTRAINT keyword_rule_check CHECK (((answer IS NOT NULL) OR (forward_to IS NOT NULL))),
  CONSTRAINT keyword_rule_keyword_check CHECK (((length(keyword) >= 1) AND (length(keyword) <= 100))),
  CONSTRAINT keyword_rule_number_check CHECK ((number ~ '^[0-9]{1,20}$'::text)),
  CONSTRAINT keyword_rule_purpose_check CHECK ((purpose = ANY (ARRAY['marketing'::text, 'transactional'::text, 'otp'::text, 'service'::text]))),
  CONSTRAINT keyword_rule_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);

ALTER TABLE keyword_rule ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON keyword_rule AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE keyword_rule IS 'facts';

CREATE TABLE ledger_entry (
  account_id bigint NOT NULL,
  id uuid DEFAULT uuidv7() NOT NULL,
  kind text NOT NULL,
  from_book text NOT NULL,
  to_book text NOT NULL,
  amount_micros bigint NOT NULL,
  messages integer DEFAULT 0 NOT NULL,
  reference text DEFAULT ''::text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT ledger_entry_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT ledger_entry_amount_micros_check CHECK ((amount_micros > 0)),
  CONSTRAINT ledger_entry_check CHECK (((to_book = ANY (ARRAY['outside'::text, 'available'::text, 'frozen'::text, 'earned'::text])) AND (to_book <> from_book))),
  CONSTRAINT ledger_entry_from_book_check CHECK ((from_book = ANY (ARRAY['outside'::text, 'available'::text, 'frozen'::text, 'earned'::text]))),
  CONSTRAINT ledger_entry_kind_check CHECK ((kind = ANY (ARRAY['topup'::text, 'freeze'::text, 'settle'::text, 'return'::text])))
);

ALTER TABLE ledger_entry ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON ledger_entry AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE ledger_entry IS 'facts';

CREATE TABLE login_network (
  user_id bigint NOT NULL,
  network cidr NOT NULL,
  seen_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT login_network_pkey PRIMARY KEY (user_id, network),
  CONSTRAINT login_network_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);

COMMENT ON TABLE login_network IS 'shared';

CREATE TABLE lookup_budget (
  account_id bigint NOT NULL,
  day date NOT NULL,
  asked bigint NOT NULL,
  allowed bigint,
  CONSTRAINT lookup_budget_pkey PRIMARY KEY (account_id, day)
);

ALTER TABLE lookup_budget ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON lookup_budget AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE lookup_budget IS 'queue';

CREATE TABLE lookup_service (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text NOT NULL,
  settings jsonb NOT NULL,
  secret bytea NOT NULL,
  version integer DEFAULT 1 NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT lookup_service_pkey PRIMARY KEY (id),
  CONSTRAINT lookup_service_name_key UNIQUE (name),
  CONSTRAINT lookup_service_name_check CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'::text))
);

COMMENT ON TABLE lookup_service IS 'shared';

CREATE TABLE lost_chunk (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  connection_id bigint NOT NULL,
  campaign_id bigint,
  priority smallint NOT NULL,
  attempt smallint NOT NULL,
  available_at timestamp with time zone NOT NULL,
  ids uuid[] NOT NULL,
  lost_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT lost_chunk_pkey PRIMARY KEY (id)
);

ALTER TABLE lost_chunk ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON lost_chunk AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE lost_chunk IS 'queue';

CREATE TABLE mail_budget (
  subject bytea NOT NULL,
  taken_at timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL,
  dropped integer DEFAULT 0 NOT NULL,
  CONSTRAINT mail_budget_pkey PRIMARY KEY (subject),
  CONSTRAINT mail_budget_subject_check CHECK ((length(subject) = 32))
);

COMMENT ON TABLE mail_budget IS 'queue';

CREATE TABLE margin_day (
  account_id bigint NOT NULL,
  day timestamp with time zone NOT NULL,
  connection_id bigint NOT NULL,
  country text NOT NULL,
  shard smallint NOT NULL,
  messages bigint NOT NULL,
  units bigint NOT NULL,
  uncosted bigint NOT NULL,
  earned_micros bigint NOT NULL,
  cost_micros bigint NOT NULL,
  CONSTRAINT margin_day_pkey PRIMARY KEY (account_id, day, connection_id, country, shard)
) WITH (fillfactor=50);

CREATE INDEX margin_day_day ON margin_day USING btree (day);

ALTER TABLE margin_day ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON margin_day AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE margin_day IS 'facts';

CREATE TABLE marketing_week (
  account_id bigint NOT NULL,
  person text NOT NULL,
  sent_at timestamp with time zone[] NOT NULL,
  last_at timestamp with time zone NOT NULL,
  cap smallint NOT NULL,
  taken smallint NOT NULL,
  CONSTRAINT marketing_week_pkey PRIMARY KEY (account_id, person)
);

CREATE INDEX marketing_week_last ON marketing_week USING btree (last_at);

ALTER TABLE marketing_week ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON marketing_week AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE marketing_week IS 'facts';

CREATE TABLE media (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  media_key text NOT NULL,
  origin text NOT NULL,
  name text NOT NULL,
  description text DEFAULT ''::text NOT NULL,
  folder_id bigint,
  mime_type text NOT NULL,
  size_bytes bigint NOT NULL,
  width integer,
  height integer,
  duration_seconds double precision,
  file_key text NOT NULL,
  thumbnail_key text,
  thumbnail_bytes bigint,
  link_version integer DEFAULT 1 NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT media_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT media_origin_check CHECK ((origin = ANY (ARRAY['UPLOAD'::text, 'INBOUND'::text]))),
  CONSTRAINT media_size_bytes_check CHECK ((size_bytes >= 0))
);

CREATE UNIQUE INDEX media_by_key ON media USING btree (account_id, media_key);

CREATE INDEX media_inbound ON media USING btree (created_at) WHERE (origin = 'INBOUND'::text);

CREATE INDEX media_uploads ON media USING btree (account_id, id DESC) WHERE (origin = 'UPLOAD'::text);

ALTER TABLE media ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON media AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE media IS 'facts';

CREATE TABLE media_copy (
  account_id bigint NOT NULL,
  media_id bigint NOT NULL,
  sender text NOT NULL,
  network_id text NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT media_copy_pkey PRIMARY KEY (account_id, media_id, sender),
  CONSTRAINT media_copy_account_id_media_id_fkey FOREIGN KEY (account_id, media_id) REFERENCES media(account_id, id) ON DELETE CASCADE
);

ALTER TABLE media_copy ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON media_copy AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE media_copy IS 'facts';

CREATE TABLE message (
  account_id bigint NOT NULL,
  id uuid NOT NULL,
  client_id text,
  channel text NOT NULL,
  source text NOT NULL,
  simulation boolean NOT NULL,
  connection_id bigint,
  sender text NOT NULL,
  destination text NOT NULL,
  body text NOT NULL,
  udh bytea,
  binary_body bytea,
  parts smallint NOT NULL,
  want_receipt boolean NOT NULL,
  valid_until timestamp with time zone,
  price_micros bigint DEFAULT 0 NOT NULL,
  refund_undelivered boolean DEFAULT false NOT NULL,
  api_key_id bigint,
  user_id bigint,
  scheduled_at timestamp with time zone,
  content jsonb,
  campaign_id bigint,
  keeps_reserve boolean DEFAULT false NOT NULL,
  route_reason text,
  asked_sender text,
  smpp_credential_id bigint,
  data_coding smallint,
  tlvs bytea,
  price_category text,
  purpose text,
  client_data jsonb,
  CONSTRAINT message_pkey PRIMARY KEY (account_id, id)
) PARTITION BY RANGE (id);

ALTER TABLE message ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON message AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE message IS 'facts';

CREATE TABLE message_billing (
  account_id bigint NOT NULL,
  message_id uuid NOT NULL,
  billable boolean NOT NULL,
  model text NOT NULL,
  type text NOT NULL,
  category text NOT NULL,
  reported_at timestamp with time zone NOT NULL,
  CONSTRAINT message_billing_pkey PRIMARY KEY (account_id, message_id)
);

CREATE INDEX message_billing_reported ON message_billing USING btree (reported_at);

ALTER TABLE message_billing ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON message_billing AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE message_billing IS 'facts';

CREATE TABLE message_deadline (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  due_at timestamp with time zone NOT NULL,
  ids uuid[] NOT NULL,
  CONSTRAINT message_deadline_pkey PRIMARY KEY (id)
);

ALTER TABLE message_deadline ALTER COLUMN ids SET STORAGE EXTERNAL;

CREATE INDEX message_deadline_due ON message_deadline USING btree (due_at);

ALTER TABLE message_deadline ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON message_deadline AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE message_deadline IS 'queue';

CREATE TABLE message_event (
  account_id bigint NOT NULL,
  message_id uuid NOT NULL,
  id uuid DEFAULT uuidv7() NOT NULL,
  at timestamp with time zone DEFAULT now() NOT NULL,
  kind text NOT NULL,
  connection_id bigint,
  text text,
  details json DEFAULT '{}'::json NOT NULL,
  CONSTRAINT message_event_pkey PRIMARY KEY (account_id, message_id, id)
) PARTITION BY RANGE (message_id);

ALTER TABLE message_event ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON message_event AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE message_event IS 'facts';

CREATE TABLE message_fallback (
  account_id bigint NOT NULL,
  message_id uuid NOT NULL,
  next_channels json NOT NULL,
  due_at timestamp with time zone,
  CONSTRAINT message_fallback_pkey PRIMARY KEY (account_id, message_id)
);

CREATE INDEX message_fallback_due ON message_fallback USING btree (due_at);

ALTER TABLE message_fallback ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON message_fallback AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE message_fallback IS 'queue';

CREATE TABLE message_part (
  account_id bigint NOT NULL,
  message_id uuid NOT NULL,
  part smallint NOT NULL,
  connection_id bigint NOT NULL,
  carrier_id text NOT NULL,
  status smallint NOT NULL,
  done_at timestamp with time zone,
  receipt_text text,
  erased boolean,
  CONSTRAINT message_part_pkey PRIMARY KEY (account_id, message_id, part)
) PARTITION BY RANGE (message_id);

CREATE INDEX message_part_carrier ON ONLY message_part USING btree (connection_id, ltrim(upper((carrier_id COLLATE "C")), '0'::text));

ALTER TABLE message_part ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON message_part AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE message_part IS 'facts';

CREATE TABLE message_state (
  account_id bigint NOT NULL,
  id uuid NOT NULL,
  status smallint NOT NULL,
  attempts smallint NOT NULL,
  connection_id bigint,
  carrier_id text,
  submitted_at timestamp with time zone,
  done_at timestamp with time zone,
  updated_at timestamp with time zone NOT NULL,
  error_code text,
  error_text text,
  credit_held boolean DEFAULT false NOT NULL,
  possible_duplicate boolean DEFAULT false NOT NULL,
  receipt_text text,
  campaign_id bigint,
  channel smallint DEFAULT 1 NOT NULL,
  read_at timestamp with time zone,
  credit_returned boolean DEFAULT false NOT NULL,
  erased boolean,
  CONSTRAINT message_state_pkey PRIMARY KEY (account_id, id)
) PARTITION BY RANGE (id);

CREATE INDEX message_state_carrier ON ONLY message_state USING btree (connection_id, ltrim(upper((carrier_id COLLATE "C")), '0'::text));

CREATE INDEX message_state_id_status ON ONLY message_state USING brin (id, status int2_bloom_ops (n_distinct_per_range='16')) WITH (pages_per_range='32');

CREATE INDEX message_state_submitted ON ONLY message_state USING brin (submitted_at);

ALTER TABLE message_state ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON message_state AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE message_state IS 'facts';

CREATE TABLE messaging_limit (
  connection_id bigint NOT NULL,
  portfolio text NOT NULL,
  people integer,
  CONSTRAINT messaging_limit_pkey PRIMARY KEY (connection_id),
  CONSTRAINT messaging_limit_people_check CHECK ((people > 0)),
  CONSTRAINT messaging_limit_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id) ON DELETE CASCADE
);

CREATE INDEX messaging_limit_portfolio ON messaging_limit USING btree (portfolio);

COMMENT ON TABLE messaging_limit IS 'shared';

CREATE TABLE nameless_submit (
  account_id bigint NOT NULL,
  message_id uuid NOT NULL,
  connection_id bigint NOT NULL,
  destination text NOT NULL,
  sender text NOT NULL,
  valid_until timestamp with time zone NOT NULL,
  CONSTRAINT nameless_submit_pkey PRIMARY KEY (account_id, message_id)
);

CREATE INDEX nameless_submit_destination ON nameless_submit USING btree (connection_id, destination);

ALTER TABLE nameless_submit ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON nameless_submit AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE nameless_submit IS 'facts';

CREATE TABLE number_network (
  number text NOT NULL,
  network text,
  ported boolean,
  looked_up_at timestamp with time zone DEFAULT now() NOT NULL,
  valid_until timestamp with time zone NOT NULL,
  CONSTRAINT number_network_pkey PRIMARY KEY (number)
);

CREATE INDEX number_network_valid ON number_network USING btree (valid_until);

COMMENT ON TABLE number_network IS 'queue';

CREATE TABLE number_pool (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text NOT NULL,
  owner_id bigint,
  sticky boolean DEFAULT false NOT NULL,
  CONSTRAINT number_pool_pkey PRIMARY KEY (id),
  CONSTRAINT number_pool_name_owner_id_key UNIQUE NULLS NOT DISTINCT (name, owner_id),
  CONSTRAINT number_pool_name_check CHECK ((name ~ '^[a-z0-9-]{1,20}$'::text)),
  CONSTRAINT number_pool_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES account(id)
);

COMMENT ON TABLE number_pool IS 'shared';

CREATE TABLE number_pool_number (
  pool_id bigint NOT NULL,
  number text NOT NULL,
  CONSTRAINT number_pool_number_pkey PRIMARY KEY (pool_id, number),
  CONSTRAINT number_pool_number_number_check CHECK ((number ~ '^\+?[0-9]{3,16}$'::text)),
  CONSTRAINT number_pool_number_pool_id_fkey FOREIGN KEY (pool_id) REFERENCES number_pool(id) ON DELETE CASCADE
);

COMMENT ON TABLE number_pool_number IS 'shared';

CREATE TABLE passed_on (
  id uuid DEFAULT uuidv7() NOT NULL,
  account_id bigint NOT NULL,
  connection_id bigint NOT NULL,
  kind text NOT NULL,
  content json NOT NULL,
  at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT passed_on_pkey PRIMARY KEY (id),
  CONSTRAINT passed_on_kind_check CHECK ((kind = ANY (ARRAY['receipt'::text, 'inbound'::text])))
);

ALTER TABLE passed_on ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON passed_on AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE passed_on IS 'queue';

CREATE TABLE passed_on_seen (
  id uuid NOT NULL,
  at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT passed_on_seen_pkey PRIMARY KEY (id)
);

COMMENT ON TABLE passed_on_seen IS 'queue';

CREATE TABLE passkey (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  user_id bigint NOT NULL,
  credential_id bytea NOT NULL,
  public_key bytea NOT NULL,
  sign_count bigint NOT NULL,
  transports text[] DEFAULT '{}'::text[] NOT NULL,
  name text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  last_used_at timestamp with time zone,
  CONSTRAINT passkey_pkey PRIMARY KEY (id),
  CONSTRAINT passkey_credential_id_key UNIQUE (credential_id),
  CONSTRAINT passkey_credential_id_check CHECK (((length(credential_id) >= 1) AND (length(credential_id) <= 1023))),
  CONSTRAINT passkey_name_check CHECK (((length(name) >= 1) AND (length(name) <= 100))),
  CONSTRAINT passkey_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT passkey_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);

CREATE INDEX passkey_account ON passkey USING btree (account_id);

CREATE INDEX passkey_user ON passkey USING btree (user_id);

ALTER TABLE passkey ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON passkey AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE passkey IS 'shared';

CREATE TABLE passkey_challenge (
  challenge bytea NOT NULL,
  purpose text NOT NULL,
  user_id bigint,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT passkey_challenge_pkey PRIMARY KEY (challenge),
  CONSTRAINT passkey_challenge_challenge_check CHECK ((length(challenge) = 32)),
  CONSTRAINT passkey_challenge_purpose_check CHECK ((purpose = ANY (ARRAY['register'::text, 'sign-in'::text, 'second-step'::text, 'step-up'::text]))),
  CONSTRAINT passkey_challenge_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);

CREATE INDEX passkey_challenge_created ON passkey_challenge USING btree (created_at);

CREATE INDEX passkey_challenge_user ON passkey_challenge USING btree (user_id);

COMMENT ON TABLE passkey_challenge IS 'queue';

CREATE TABLE password_reset (
  hash bytea NOT NULL,
  account_id bigint NOT NULL,
  user_id bigint NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT password_reset_pkey PRIMARY KEY (hash),
  CONSTRAINT password_reset_hash_check CHECK ((length(hash) = 32)),
  CONSTRAINT password_reset_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT password_reset_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);

CREATE INDEX password_reset_user ON password_reset USING btree (user_id, created_at);

ALTER TABLE password_reset ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON password_reset AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE password_reset IS 'shared';

CREATE TABLE pending_sign_in (
  token_hash bytea NOT NULL,
  account_id bigint NOT NULL,
  user_id bigint NOT NULL,
  wrong_codes integer DEFAULT 0 NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT pending_sign_in_pkey PRIMARY KEY (token_hash),
  CONSTRAINT pending_sign_in_token_hash_check CHECK ((length(token_hash) = 32)),
  CONSTRAINT pending_sign_in_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT pending_sign_in_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);

CREATE INDEX pending_sign_in_account ON pending_sign_in USING btree (account_id);

CREATE INDEX pending_sign_in_created ON pending_sign_in USING btree (created_at);

CREATE INDEX pending_sign_in_user ON pending_sign_in USING btree (user_id);

ALTER TABLE pending_sign_in ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON pending_sign_in AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE pending_sign_in IS 'shared';

CREATE TABLE person_alias (
  account_id bigint NOT NULL,
  alias text NOT NULL,
  person text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT person_alias_pkey PRIMARY KEY (account_id, alias),
  CONSTRAINT person_alias_check CHECK ((alias <> person))
);

CREATE INDEX person_alias_person ON person_alias USING btree (account_id, person);

ALTER TABLE person_alias ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON person_alias AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE person_alias IS 'facts';

CREATE TABLE portfolio_person (
  portfolio text NOT NULL,
  person text NOT NULL,
  at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT portfolio_person_pkey PRIMARY KEY (portfolio, person)
);

CREATE INDEX portfolio_person_at ON portfolio_person USING btree (portfolio, at);

COMMENT ON TABLE portfolio_person IS 'queue';

CREATE TABLE price (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  channel text NOT NULL,
  prefix text DEFAULT ''::text NOT NULL,
  unit_micros bigint NOT NULL,
  refund_undelivered boolean DEFAULT false NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  owner_id bigint,
  category text DEFAULT '*'::text NOT NULL,
  session_window text DEFAULT '*'::text NOT NULL,
  per_part boolean DEFAULT true NOT NULL,
  valid_from timestamp with time zone,
  currency text DEFAULT 'EUR'::text NOT NULL,
  CONSTRAINT price_pkey PRIMARY KEY (id),
  CONSTRAINT price_place_key UNIQUE NULLS NOT DISTINCT (channel, prefix, owner_id, category, session_window, valid_from, currency),
  CONSTRAINT price_channel_check CHECK ((channel = ANY (ARRAY['SMS'::text, 'RCS'::text, 'WHATSAPP'::text]))),
  CONSTRAINT price_prefix_check CHECK ((prefix ~ '^[0-9]{0,15}$'::text)),
  CONSTRAINT price_session_window_check CHECK ((session_window = ANY (ARRAY['*'::text, 'IN_WINDOW'::text, 'FREE_ENTRY'::text, 'FREE'::text]))),
  CONSTRAINT price_unit_micros_check CHECK ((unit_micros >= 0))
);

ALTER TABLE price ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON price AS PERMISSIVE FOR ALL TO public USING (((owner_id IS NULL) OR (owner_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint)));

COMMENT ON TABLE price IS 'shared';

CREATE TABLE quality_sample (
  account_id bigint NOT NULL,
  message_id uuid NOT NULL,
  connection_id bigint NOT NULL,
  country text NOT NULL,
  answered_at timestamp with time zone NOT NULL,
  CONSTRAINT quality_sample_pkey PRIMARY KEY (account_id, message_id, connection_id)
);

CREATE INDEX quality_sample_answered ON quality_sample USING btree (answered_at);

ALTER TABLE quality_sample ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON quality_sample AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE quality_sample IS 'queue';

CREATE TABLE receipt_batch (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  connection_id bigint NOT NULL,
  receipts json NOT NULL,
  received_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT receipt_batch_pkey PRIMARY KEY (id)
);

ALTER TABLE receipt_batch ALTER COLUMN receipts SET STORAGE EXTERNAL;

COMMENT ON TABLE receipt_batch IS 'queue';

CREATE TABLE receipt_unmatched (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  connection_id bigint NOT NULL,
  receipt json NOT NULL,
  reason text NOT NULL,
  received_at timestamp with time zone NOT NULL,
  tries integer DEFAULT 1 NOT NULL,
  next_try_at timestamp with time zone NOT NULL,
  CONSTRAINT receipt_unmatched_pkey PRIMARY KEY (id),
  CONSTRAINT receipt_unmatched_reason_check CHECK ((reason = ANY (ARRAY['unknown'::text, 'ambiguous'::text])))
);

CREATE INDEX receipt_unmatched_due ON receipt_unmatched USING btree (next_try_at);

COMMENT ON TABLE receipt_unmatched IS 'queue';

CREATE TABLE recovery_code (
  user_id bigint NOT NULL,
  code_hash bytea NOT NULL,
  account_id bigint NOT NULL,
  CONSTRAINT recovery_code_pkey PRIMARY KEY (user_id, code_hash),
  CONSTRAINT recovery_code_code_hash_check CHECK ((length(code_hash) = 32)),
  CONSTRAINT recovery_code_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT recovery_code_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);

CREATE INDEX recovery_code_account ON recovery_code USING btree (account_id);

ALTER TABLE recovery_code ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON recovery_code AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE recovery_code IS 'shared';

CREATE TABLE registered_sender (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  prefix text NOT NULL,
  sender text NOT NULL,
  owner_id bigint,
  connection_id bigint,
  status text DEFAULT 'ACTIVE'::text NOT NULL,
  reference text,
  valid_from timestamp with time zone,
  valid_to timestamp with time zone,
  brand_id text,
  campaign_id text,
  tps double precision,
  daily_cap integer,
  used_on date,
  used_parts integer DEFAULT 0 NOT NULL,
  CONSTRAINT registered_sender_pkey PRIMARY KEY (id),
  CONSTRAINT registered_sender_prefix_sender_owner_id_connection_id_key UNIQUE NULLS NOT DISTINCT (prefix, sender, owner_id, connection_id),
  CONSTRAINT registered_sender_check CHECK ((valid_to > valid_from)),
  CONSTRAINT registered_sender_daily_cap_check CHECK ((daily_cap > 0)),
  CONSTRAINT registered_sender_prefix_check CHECK ((prefix ~ '^[0-9]{0,15}$'::text)),
  CONSTRAINT registered_sender_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'ACTIVE'::text, 'REJECTED'::text, 'EXPIRED'::text]))),
  CONSTRAINT registered_sender_tps_check CHECK ((tps > (0)::double precision)),
  CONSTRAINT registered_sender_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id) ON DELETE CASCADE,
  CONSTRAINT registered_sender_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES account(id)
);

COMMENT ON TABLE registered_sender IS 'shared';

CREATE TABLE restore_guard (
  one boolean DEFAULT true NOT NULL,
  state text DEFAULT 'new'::text NOT NULL,
  reason text,
  since timestamp with time zone DEFAULT now() NOT NULL,
  decided_by text,
  CONSTRAINT restore_guard_pkey PRIMARY KEY (one),
  CONSTRAINT restore_guard_one_check CHECK (one),
  CONSTRAINT restore_guard_state_check CHECK ((state = ANY (ARRAY['new'::text, 'open'::text, 'paused'::text, 'confirmed'::text])))
);

COMMENT ON TABLE restore_guard IS 'queue';

CREATE TABLE restore_guard_machine (
  machine uuid NOT NULL,
  generation bigint NOT NULL,
  owner bigint NOT NULL,
  seen_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT restore_guard_machine_pkey PRIMARY KEY (machine)
);

COMMENT ON TABLE restore_guard_machine IS 'queue';

CREATE TABLE route (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  channel text NOT NULL,
  prefix text DEFAULT ''::text NOT NULL,
  connection_id bigint NOT NULL,
  priority integer DEFAULT 100 NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  on_unknown text DEFAULT 'hold'::text NOT NULL,
  weight smallint,
  CONSTRAINT route_pkey PRIMARY KEY (id),
  CONSTRAINT route_channel_prefix_connection_id_key UNIQUE (channel, prefix, connection_id),
  CONSTRAINT route_channel_check CHECK ((channel = ANY (ARRAY['SMS'::text, 'RCS'::text, 'WHATSAPP'::text]))),
  CONSTRAINT route_on_unknown_check CHECK ((on_unknown = ANY (ARRAY['hold'::text, 'resubmit'::text]))),
  CONSTRAINT route_prefix_check CHECK ((prefix ~ '^[0-9]{0,15}$'::text)),
  CONSTRAINT route_weight_check CHECK (((weight >= 1) AND (weight <= 1000))),
  CONSTRAINT route_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id)
);

COMMENT ON TABLE route IS 'shared';

CREATE TABLE route_policy (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  channel text NOT NULL,
  prefix text DEFAULT ''::text NOT NULL,
  policy text NOT NULL,
  min_delivered smallint NOT NULL,
  max_receipt_seconds integer,
  min_samples integer NOT NULL,
  explore smallint NOT NULL,
  hours smallint NOT NULL,
  CONSTRAINT route_policy_pkey PRIMARY KEY (id),
  CONSTRAINT route_policy_channel_prefix_key UNIQUE (channel, prefix),
  CONSTRAINT route_policy_channel_check CHECK ((channel = ANY (ARRAY['SMS'::text, 'RCS'::text, 'WHATSAPP'::text]))),
  CONSTRAINT route_policy_explore_check CHECK (((explore >= 0) AND (explore <= 500))),
  CONSTRAINT route_policy_hours_check CHECK (((hours >= 1) AND (hours <= 48))),
  CONSTRAINT route_policy_max_receipt_seconds_check CHECK ((max_receipt_seconds > 0)),
  CONSTRAINT route_policy_min_delivered_check CHECK (((min_delivered >= 0) AND (min_delivered <= 1000))),
  CONSTRAINT route_policy_min_samples_check CHECK ((min_samples > 0)),
  CONSTRAINT route_policy_policy_check CHECK ((policy = ANY (ARRAY['priority'::text, 'least-cost'::text]))),
  CONSTRAINT route_policy_prefix_check CHECK ((prefix ~ '^[0-9]{0,15}$'::text))
);

COMMENT ON TABLE route_policy IS 'shared';

CREATE TABLE route_standing (
  policy_id bigint NOT NULL,
  connection_id bigint NOT NULL,
  country text NOT NULL,
  standing text NOT NULL,
  messages bigint NOT NULL,
  delivered bigint NOT NULL,
  receipt_ms bigint NOT NULL,
  since timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT route_standing_pkey PRIMARY KEY (policy_id, connection_id, country),
  CONSTRAINT route_standing_standing_check CHECK ((standing = ANY (ARRAY['good'::text, 'trial'::text, 'below'::text]))),
  CONSTRAINT route_standing_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id) ON DELETE CASCADE,
  CONSTRAINT route_standing_policy_id_fkey FOREIGN KEY (policy_id) REFERENCES route_policy(id) ON DELETE CASCADE
);

COMMENT ON TABLE route_standing IS 'queue';

CREATE TABLE sender (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  channel text NOT NULL,
  identity text,
  connection_id bigint,
  owner_id bigint,
  name text NOT NULL,
  details jsonb DEFAULT '{}'::jsonb NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT sender_pkey PRIMARY KEY (id),
  CONSTRAINT sender_channel_identity_key UNIQUE (channel, identity),
  CONSTRAINT sender_channel_check CHECK ((channel = ANY (ARRAY['RCS'::text, 'WHATSAPP'::text]))),
  CONSTRAINT sender_check CHECK (((identity IS NULL) = (connection_id IS NULL))),
  CONSTRAINT sender_check1 CHECK (((owner_id IS NOT NULL) OR (identity IS NOT NULL))),
  CONSTRAINT sender_identity_check CHECK (((length(identity) >= 1) AND (length(identity) <= 128))),
  CONSTRAINT sender_name_check CHECK ((length(name) <= 200)),
  CONSTRAINT sender_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id),
  CONSTRAINT sender_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES account(id)
);

CREATE INDEX sender_owner ON sender USING btree (owner_id);

ALTER TABLE sender ENABLE ROW LEVEL SECURITY;

CREATE POLICY own_delete ON sender AS RESTRICTIVE FOR DELETE TO public USING ((owner_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

ALTER TABLE sender ENABLE ROW LEVEL SECURITY;

CREATE POLICY own_insert ON sender AS RESTRICTIVE FOR INSERT TO public WITH CHECK ((owner_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

ALTER TABLE sender ENABLE ROW LEVEL SECURITY;

CREATE POLICY own_update ON sender AS RESTRICTIVE FOR UPDATE TO public USING ((owner_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

ALTER TABLE sender ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON sender AS PERMISSIVE FOR ALL TO public USING (((owner_id IS NULL) OR (owner_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint)));

COMMENT ON TABLE sender IS 'shared';

CREATE TABLE sender_rule (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  prefix text NOT NULL,
  alphanumeric text NOT NULL,
  replacement text,
  registered_only boolean DEFAULT false NOT NULL,
  characters text,
  min_length smallint,
  max_length smallint,
  forbidden_words text[] DEFAULT '{}'::text[] NOT NULL,
  CONSTRAINT sender_rule_pkey PRIMARY KEY (id),
  CONSTRAINT sender_rule_prefix_key UNIQUE (prefix),
  CONSTRAINT sender_rule_alphanumeric_check CHECK ((alphanumeric = ANY (ARRAY['allowed'::text, 'replaced'::text, 'refused'::text]))),
  CONSTRAINT sender_rule_check CHECK (((replacement IS NOT NULL) OR (alphanumeric <> 'replaced'::text))),
  CONSTRAINT sender_rule_prefix_check CHECK ((prefix ~ '^[0-9]{0,15}$'::text))
);

COMMENT ON TABLE sender_rule IS 'shared';

CREATE TABLE simulated_outcome (
  account_id bigint NOT NULL,
  message_id uuid NOT NULL,
  due_at timestamp with time zone NOT NULL,
  status smallint NOT NULL,
  CONSTRAINT simulated_outcome_pkey PRIMARY KEY (account_id, message_id)
);

CREATE INDEX simulated_outcome_due ON simulated_outcome USING btree (due_at);

ALTER TABLE simulated_outcome ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON simulated_outcome AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE simulated_outcome IS 'facts';

CREATE TABLE single_sign_on (
  account_id bigint NOT NULL,
  short_name text NOT NULL,
  enabled boolean DEFAULT false NOT NULL,
  issuer text NOT NULL,
  client_id text NOT NULL,
  client_secret bytea,
  scopes text[] NOT NULL,
  groups_claim text,
  group_roles jsonb DEFAULT '[]'::jsonb NOT NULL,
  default_role text,
  required boolean DEFAULT false NOT NULL,
  emergency_user_id bigint,
  version integer DEFAULT 1 NOT NULL,
  last_trial jsonb,
  CONSTRAINT single_sign_on_pkey PRIMARY KEY (account_id),
  CONSTRAINT single_sign_on_short_name_key UNIQUE (short_name),
  CONSTRAINT single_sign_on_check CHECK (((NOT required) OR enabled)),
  CONSTRAINT single_sign_on_client_id_check CHECK (((length(client_id) >= 1) AND (length(client_id) <= 500))),
  CONSTRAINT single_sign_on_default_role_check CHECK ((default_role = ANY (ARRAY['viewer'::text, 'sender'::text, 'manager'::text, 'admin'::text]))),
  CONSTRAINT single_sign_on_issuer_check CHECK ((length(issuer) <= 500)),
  CONSTRAINT single_sign_on_short_name_check CHECK ((short_name ~ '^[a-z0-9][a-z0-9-]{1,39}$'::text)),
  CONSTRAINT single_sign_on_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT single_sign_on_emergency_user_id_fkey FOREIGN KEY (emergency_user_id) REFERENCES app_user(id) ON DELETE SET NULL
);

ALTER TABLE single_sign_on ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON single_sign_on AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE single_sign_on IS 'shared';

CREATE TABLE single_sign_on_claim (
  account_id bigint NOT NULL,
  domain text NOT NULL,
  CONSTRAINT single_sign_on_claim_pkey PRIMARY KEY (account_id, domain),
  CONSTRAINT single_sign_on_claim_domain_check CHECK ((length(domain) <= 253)),
  CONSTRAINT single_sign_on_claim_account_id_fkey FOREIGN KEY (account_id) REFERENCES single_sign_on(account_id) ON DELETE CASCADE
);

ALTER TABLE single_sign_on_claim ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON single_sign_on_claim AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE single_sign_on_claim IS 'shared';

CREATE TABLE single_sign_on_domain (
  domain text NOT NULL,
  account_id bigint NOT NULL,
  CONSTRAINT single_sign_on_domain_pkey PRIMARY KEY (domain),
  CONSTRAINT single_sign_on_domain_domain_check CHECK ((length(domain) <= 253)),
  CONSTRAINT single_sign_on_domain_account_id_domain_fkey FOREIGN KEY (account_id, domain) REFERENCES single_sign_on_claim(account_id, domain) ON DELETE CASCADE,
  CONSTRAINT single_sign_on_domain_account_id_fkey FOREIGN KEY (account_id) REFERENCES single_sign_on(account_id) ON DELETE CASCADE
);

CREATE INDEX single_sign_on_domain_account ON single_sign_on_domain USING btree (account_id);

ALTER TABLE single_sign_on_domain ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON single_sign_on_domain AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE single_sign_on_domain IS 'shared';

CREATE TABLE single_sign_on_state (
  hash bytea NOT NULL,
  account_id bigint NOT NULL,
  browser_hash bytea NOT NULL,
  secrets bytea NOT NULL,
  next text DEFAULT '/'::text NOT NULL,
  is_trial boolean NOT NULL,
  version integer NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  session_id bigint,
  begun_at timestamp with time zone DEFAULT now() NOT NULL,
  redirect_uri text,
  CONSTRAINT single_sign_on_state_pkey PRIMARY KEY (hash),
  CONSTRAINT single_sign_on_state_browser_hash_check CHECK ((length(browser_hash) = 32)),
  CONSTRAINT single_sign_on_state_hash_check CHECK ((length(hash) = 32)),
  CONSTRAINT single_sign_on_state_next_check CHECK (((next ~ '^/'::text) AND (length(next) <= 2000))),
  CONSTRAINT single_sign_on_state_purpose CHECK (((session_id IS NULL) OR (NOT is_trial))),
  CONSTRAINT single_sign_on_state_redirect_uri_check CHECK ((length(redirect_uri) <= 2000)),
  CONSTRAINT single_sign_on_state_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);

CREATE INDEX single_sign_on_state_expiry ON single_sign_on_state USING btree (expires_at);

ALTER TABLE single_sign_on_state ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON single_sign_on_state AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE single_sign_on_state IS 'queue';

CREATE TABLE single_sign_on_user (
  account_id bigint NOT NULL,
  issuer text NOT NULL,
  subject text NOT NULL,
  user_id bigint NOT NULL,
  refused_at timestamp with time zone,
  CONSTRAINT single_sign_on_user_pkey PRIMARY KEY (account_id, issuer, subject),
  CONSTRAINT single_sign_on_user_account_id_issuer_user_id_key UNIQUE (account_id, issuer, user_id),
  CONSTRAINT single_sign_on_user_subject_check CHECK ((length(subject) <= 255)),
  CONSTRAINT single_sign_on_user_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT single_sign_on_user_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);

CREATE INDEX single_sign_on_user_user ON single_sign_on_user USING btree (user_id);

ALTER TABLE single_sign_on_user ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON single_sign_on_user AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE single_sign_on_user IS 'shared';

CREATE TABLE smpp_bind (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  credential_id bigint NOT NULL,
  owner bigint NOT NULL,
  mode text NOT NULL,
  address text NOT NULL,
  bound_at timestamp with time zone DEFAULT now() NOT NULL,
  interface_version smallint DEFAULT 52 NOT NULL,
  submits bigint DEFAULT 0 NOT NULL,
  throttled bigint DEFAULT 0 NOT NULL,
  per_second integer DEFAULT 0 NOT NULL,
  unanswered integer DEFAULT 0 NOT NULL,
  CONSTRAINT smpp_bind_pkey PRIMARY KEY (id),
  CONSTRAINT smpp_bind_mode_check CHECK ((mode = ANY (ARRAY['transmitter'::text, 'receiver'::text, 'transceiver'::text])))
);

CREATE INDEX smpp_bind_credential ON smpp_bind USING btree (account_id, credential_id);

ALTER TABLE smpp_bind ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON smpp_bind AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE smpp_bind IS 'queue';

CREATE TABLE smpp_credential (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text DEFAULT ''::text NOT NULL,
  system_id text NOT NULL,
  password_hash text NOT NULL,
  max_binds integer NOT NULL,
  window_size integer NOT NULL,
  tps integer,
  allowed_addresses cidr[] DEFAULT '{}'::cidr[] NOT NULL,
  allowed_senders text[] DEFAULT '{}'::text[] NOT NULL,
  alphabet text DEFAULT 'gsm'::text NOT NULL,
  message_ids text DEFAULT 'uuid'::text NOT NULL,
  inbound boolean DEFAULT true NOT NULL,
  next_message_number bigint DEFAULT 1 NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  last_bound_at timestamp with time zone,
  last_network cidr,
  CONSTRAINT smpp_credential_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT smpp_credential_system_id_key UNIQUE (system_id),
  CONSTRAINT smpp_credential_alphabet_check CHECK ((alphabet = ANY (ARRAY['gsm'::text, 'latin1'::text, 'ascii'::text, 'utf8'::text]))),
  CONSTRAINT smpp_credential_max_binds_check CHECK (((max_binds >= 1) AND (max_binds <= 100))),
  CONSTRAINT smpp_credential_message_ids_check CHECK ((message_ids = ANY (ARRAY['uuid'::text, 'hex'::text, 'decimal'::text]))),
  CONSTRAINT smpp_credential_system_id_check CHECK (((length(system_id) >= 1) AND (length(system_id) <= 15))),
  CONSTRAINT smpp_credential_tps_check CHECK (((tps >= 1) AND (tps <= 100000))),
  CONSTRAINT smpp_credential_window_size_check CHECK (((window_size >= 1) AND (window_size <= 1000))),
  CONSTRAINT smpp_credential_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);

ALTER TABLE smpp_credential ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON smpp_credential AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE smpp_credential IS 'shared';

CREATE TABLE smpp_outbox (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  credential_id bigint,
  message_id uuid NOT NULL,
  status smallint,
  at timestamp with time zone NOT NULL,
  shown_id text,
  reference integer,
  source_ton smallint,
  source_npi smallint,
  source text,
  dest_ton smallint,
  dest_npi smallint,
  destination text,
  quote text,
  due_at timestamp with time zone DEFAULT now() NOT NULL,
  failures smallint DEFAULT 0 NOT NULL,
  owner bigint,
  CONSTRAINT smpp_outbox_pkey PRIMARY KEY (id)
);

CREATE INDEX smpp_outbox_claim ON smpp_outbox USING btree (account_id, credential_id, due_at, id) WHERE (owner IS NULL);

CREATE INDEX smpp_outbox_message ON smpp_outbox USING btree (message_id, id);

CREATE INDEX smpp_outbox_owner ON smpp_outbox USING btree (owner) WHERE (owner IS NOT NULL);

ALTER TABLE smpp_outbox ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON smpp_outbox AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE smpp_outbox IS 'queue';

CREATE TABLE smpp_receipt (
  account_id bigint NOT NULL,
  message_id uuid NOT NULL,
  credential_id bigint NOT NULL,
  shown_id text NOT NULL,
  registered smallint NOT NULL,
  reference integer,
  source_ton smallint NOT NULL,
  source_npi smallint NOT NULL,
  source text NOT NULL,
  dest_ton smallint NOT NULL,
  dest_npi smallint NOT NULL,
  destination text NOT NULL,
  quote text NOT NULL,
  CONSTRAINT smpp_receipt_pkey PRIMARY KEY (account_id, message_id)
);

CREATE INDEX smpp_receipt_shown ON smpp_receipt USING btree (account_id, credential_id, shown_id);

ALTER TABLE smpp_receipt ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON smpp_receipt AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE smpp_receipt IS 'queue';

CREATE TABLE smpp_replacement (
  account_id bigint NOT NULL,
  message_id uuid NOT NULL,
  replaced_by uuid NOT NULL,
  CONSTRAINT smpp_replacement_pkey PRIMARY KEY (account_id, message_id)
);

ALTER TABLE smpp_replacement ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON smpp_replacement AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE smpp_replacement IS 'queue';

CREATE TABLE social_profile (
  account_id bigint NOT NULL,
  platform text NOT NULL,
  external_id text NOT NULL,
  username text,
  profile_name text NOT NULL,
  scopes text[] NOT NULL,
  linked jsonb NOT NULL,
  tokens bytea NOT NULL,
  token_expires_at timestamp with time zone,
  refresh_at timestamp with time zone,
  version bigint DEFAULT 1 NOT NULL,
  failures smallint DEFAULT 0 NOT NULL,
  disconnected text,
  connected_by bigint,
  connected_at timestamp with time zone DEFAULT now() NOT NULL,
  linked_fault text,
  picture bytea,
  sandbox boolean DEFAULT false NOT NULL,
  CONSTRAINT social_profile_pkey PRIMARY KEY (account_id, platform),
  CONSTRAINT social_profile_platform_check CHECK ((platform = ANY (ARRAY['facebook'::text, 'instagram'::text, 'linkedin'::text, 'google'::text, 'tiktok'::text])))
);

CREATE INDEX social_profile_refresh ON social_profile USING btree (refresh_at) WHERE (refresh_at IS NOT NULL);

ALTER TABLE social_profile ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON social_profile AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE social_profile IS 'facts';

CREATE TABLE social_state (
  hash bytea NOT NULL,
  account_id bigint NOT NULL,
  platform text NOT NULL,
  author jsonb NOT NULL,
  browser_hash bytea,
  verifier bytea,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT social_state_pkey PRIMARY KEY (hash)
);

CREATE INDEX social_state_expires ON social_state USING btree (expires_at);

ALTER TABLE social_state ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON social_state AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE social_state IS 'queue';

CREATE TABLE sticky_sender (
  account_id bigint NOT NULL,
  pool text NOT NULL,
  destination text NOT NULL,
  sender text NOT NULL,
  used_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT sticky_sender_pkey PRIMARY KEY (account_id, pool, destination)
);

CREATE INDEX sticky_sender_used ON sticky_sender USING btree (used_at);

ALTER TABLE sticky_sender ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON sticky_sender AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE sticky_sender IS 'facts';

CREATE TABLE opt_in (
  account_id bigint NOT NULL,
  id uuid NOT NULL,
  phone_number text NOT NULL,
  person text GENERATED ALWAYS AS (person_of(phone_number)) STORED NOT NULL,
  purpose text NOT NULL,
  text text NOT NULL,
  token_hash bytea,
  message_id uuid NOT NULL,
  state text DEFAULT 'PENDING'::text NOT NULL,
  asked_at timestamp with time zone DEFAULT now() NOT NULL,
  decided_at timestamp with time zone,
  proof jsonb,
  CONSTRAINT opt_in_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT opt_in_state_check CHECK ((state = ANY (ARRAY['PENDING'::text, 'CONFIRMED'::text, 'DECLINED'::text, 'EXPIRED'::text])))
);

CREATE INDEX opt_in_token ON opt_in USING btree (token_hash) WHERE (token_hash IS NOT NULL);

CREATE INDEX opt_in_person ON opt_in USING btree (account_id, person);

CREATE INDEX opt_in_pending ON opt_in USING btree (asked_at) WHERE (state = 'PENDING'::text);

ALTER TABLE opt_in ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON opt_in AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE opt_in IS 'facts';

CREATE TABLE suspected_opt_out (
  account_id bigint NOT NULL,
  id uuid NOT NULL,
  phone_number text NOT NULL,
  person text GENERATED ALWAYS AS (person_of(phone_number)) STORED NOT NULL,
  channel text NOT NULL,
  sender text NOT NULL,
  is_alias boolean NOT NULL,
  since timestamp with time zone DEFAULT now() NOT NULL,
  decided_at timestamp with time zone,
  decision text,
  CONSTRAINT suspected_opt_out_pkey PRIMARY KEY (account_id, person, channel, id),
  CONSTRAINT suspected_opt_out_channel_check CHECK ((channel = ANY (ARRAY['SMS'::text, 'RCS'::text, 'WHATSAPP'::text]))),
  CONSTRAINT suspected_opt_out_decision_check CHECK ((decision = ANY (ARRAY['OPT_OUT'::text, 'DISMISS'::text])))
);

CREATE INDEX suspected_opt_out_since ON suspected_opt_out USING btree (since) WHERE (decided_at IS NULL);

CREATE UNIQUE INDEX suspected_opt_out_open ON suspected_opt_out USING btree (account_id, person, channel) WHERE (decided_at IS NULL);

ALTER TABLE suspected_opt_out ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON suspected_opt_out AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE suspected_opt_out IS 'facts';

CREATE TABLE template (
  channel text NOT NULL,
  id text NOT NULL,
  owner_id bigint,
  connection_id bigint,
  name text NOT NULL,
  language text DEFAULT ''::text NOT NULL,
  category text DEFAULT ''::text NOT NULL,
  status text NOT NULL,
  reason text,
  content jsonb NOT NULL,
  header_link text,
  named boolean DEFAULT false NOT NULL,
  variables text[] DEFAULT '{}'::text[] NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  quality text,
  traffic_type text,
  campaign_components json,
  CONSTRAINT template_pkey PRIMARY KEY (channel, id),
  CONSTRAINT template_channel_check CHECK ((channel = ANY (ARRAY['RCS'::text, 'WHATSAPP'::text]))),
  CONSTRAINT template_check CHECK (((channel = 'WHATSAPP'::text) = (connection_id IS NOT NULL))),
  CONSTRAINT template_check1 CHECK (((traffic_type IS NULL) OR (channel = 'RCS'::text))),
  CONSTRAINT template_check2 CHECK (((campaign_components IS NULL) OR (channel = 'WHATSAPP'::text))),
  CONSTRAINT template_id_check CHECK (((length(id) >= 1) AND (length(id) <= 64))),
  CONSTRAINT template_name_check CHECK (((length(name) >= 1) AND (length(name) <= 512))),
  CONSTRAINT template_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id) ON DELETE CASCADE,
  CONSTRAINT template_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES account(id)
);

CREATE INDEX template_connection ON template USING btree (connection_id, name, language);

CREATE INDEX template_owner ON template USING btree (owner_id);

ALTER TABLE template ENABLE ROW LEVEL SECURITY;

CREATE POLICY own_delete ON template AS RESTRICTIVE FOR DELETE TO public USING ((owner_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

ALTER TABLE template ENABLE ROW LEVEL SECURITY;

CREATE POLICY own_insert ON template AS RESTRICTIVE FOR INSERT TO public WITH CHECK ((owner_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

ALTER TABLE template ENABLE ROW LEVEL SECURITY;

CREATE POLICY own_update ON template AS RESTRICTIVE FOR UPDATE TO public USING ((owner_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

ALTER TABLE template ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON template AS PERMISSIVE FOR ALL TO public USING (((owner_id IS NULL) OR (owner_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint)));

COMMENT ON TABLE template IS 'shared';

CREATE TABLE totp_factor (
  user_id bigint NOT NULL,
  account_id bigint NOT NULL,
  secret bytea,
  pending_secret bytea,
  confirmed_at timestamp with time zone,
  last_step bigint DEFAULT 0 NOT NULL,
  wrong_codes integer DEFAULT 0 NOT NULL,
  wrong_at timestamp with time zone,
  CONSTRAINT totp_factor_pkey PRIMARY KEY (user_id),
  CONSTRAINT totp_factor_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT totp_factor_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);

CREATE INDEX totp_factor_account ON totp_factor USING btree (account_id);

ALTER TABLE totp_factor ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON totp_factor AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE totp_factor IS 'shared';

CREATE TABLE traffic_day (
  account_id bigint NOT NULL,
  day date NOT NULL,
  campaign_id bigint NOT NULL,
  channel smallint NOT NULL,
  sent bigint NOT NULL,
  delivered bigint NOT NULL,
  read bigint NOT NULL,
  failed bigint NOT NULL,
  unsent bigint NOT NULL,
  cost_micros bigint NOT NULL,
  hours integer DEFAULT 0 NOT NULL,
  CONSTRAINT traffic_day_pkey PRIMARY KEY (account_id, day, campaign_id, channel)
);

ALTER TABLE traffic_day ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON traffic_day AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE traffic_day IS 'facts';

CREATE TABLE traffic_hour (
  account_id bigint NOT NULL,
  hour timestamp with time zone NOT NULL,
  campaign_id bigint NOT NULL,
  channel smallint NOT NULL,
  shard smallint NOT NULL,
  sent bigint DEFAULT 0 NOT NULL,
  delivered bigint DEFAULT 0 NOT NULL,
  read bigint DEFAULT 0 NOT NULL,
  failed bigint DEFAULT 0 NOT NULL,
  unsent bigint DEFAULT 0 NOT NULL,
  cost_micros bigint DEFAULT 0 NOT NULL,
  CONSTRAINT traffic_hour_pkey PRIMARY KEY (account_id, hour, campaign_id, channel, shard)
) WITH (fillfactor=50);

CREATE INDEX traffic_hour_campaign ON traffic_hour USING btree (account_id, campaign_id, hour) WHERE (campaign_id <> 0);

CREATE INDEX traffic_hour_open ON traffic_hour USING btree (account_id, hour) WHERE (shard >= 0);

ALTER TABLE traffic_hour ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON traffic_hour AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE traffic_hour IS 'facts';

CREATE TABLE unclaimed_callback (
  id bigint GENERATED ALWAYS AS IDENTITY,
  app bytea NOT NULL,
  owner text NOT NULL,
  sender text NOT NULL,
  content json NOT NULL,
  at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT unclaimed_callback_pkey PRIMARY KEY (id)
);

CREATE INDEX unclaimed_callback_owner ON unclaimed_callback USING btree (app, owner, id);

COMMENT ON TABLE unclaimed_callback IS 'queue';

CREATE TABLE unknown_outcome (
  account_id bigint NOT NULL,
  message_id uuid NOT NULL,
  connection_id bigint NOT NULL,
  reason text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  destination text DEFAULT ''::text NOT NULL,
  sender text DEFAULT ''::text NOT NULL,
  parts smallint DEFAULT 1 NOT NULL,
  valid_until timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT unknown_outcome_pkey PRIMARY KEY (account_id, message_id)
);

CREATE INDEX unknown_outcome_destination ON unknown_outcome USING btree (connection_id, destination);

ALTER TABLE unknown_outcome ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON unknown_outcome AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE unknown_outcome IS 'facts';

CREATE TABLE user_session (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  user_id bigint NOT NULL,
  token_hash bytea NOT NULL,
  acting_account_id bigint,
  address inet,
  user_agent text DEFAULT ''::text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  last_seen_at timestamp with time zone DEFAULT now() NOT NULL,
  method text DEFAULT 'password'::text NOT NULL,
  proven_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT user_session_pkey PRIMARY KEY (id),
  CONSTRAINT user_session_token_hash_key UNIQUE (token_hash),
  CONSTRAINT user_session_method_check CHECK ((method = ANY (ARRAY['password'::text, 'totp'::text, 'recovery-code'::text, 'passkey'::text, 'single-sign-on'::text]))),
  CONSTRAINT user_session_token_hash_check CHECK ((length(token_hash) = 32)),
  CONSTRAINT user_session_user_agent_check CHECK ((length(user_agent) <= 200)),
  CONSTRAINT user_session_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT user_session_acting_account_id_fkey FOREIGN KEY (acting_account_id) REFERENCES account(id),
  CONSTRAINT user_session_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id) ON DELETE CASCADE
);

CREATE INDEX user_session_account ON user_session USING btree (account_id, id);

CREATE INDEX user_session_user ON user_session USING btree (user_id);

ALTER TABLE user_session ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON user_session AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE user_session IS 'shared';

CREATE TABLE verification (
  account_id bigint NOT NULL,
  id uuid NOT NULL,
  service_id uuid NOT NULL,
  number text NOT NULL,
  person text NOT NULL,
  country text,
  status text DEFAULT 'PENDING'::text NOT NULL,
  channel text,
  locale text NOT NULL,
  code_hash bytea,
  code_length smallint NOT NULL,
  sends smallint DEFAULT 0 NOT NULL,
  checks smallint DEFAULT 0 NOT NULL,
  address text,
  user_ref text,
  device text,
  network text,
  customer_reference text,
  hidden boolean DEFAULT false NOT NULL,
  probe_of text,
  challenged boolean DEFAULT false NOT NULL,
  created_at timestamp with time zone NOT NULL,
  resend_at timestamp with time zone,
  expires_at timestamp with time zone NOT NULL,
  ended_at timestamp with time zone,
  delivery text,
  feedback text,
  CONSTRAINT verification_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT verification_check CHECK (((status = 'PENDING'::text) = (ended_at IS NULL))),
  CONSTRAINT verification_delivery_check CHECK ((delivery = ANY (ARRAY['DELIVERED'::text, 'FAILED'::text]))),
  CONSTRAINT verification_feedback_check CHECK ((feedback = ANY (ARRAY['converted'::text, 'fraud'::text]))),
  CONSTRAINT verification_status_check CHECK ((status = ANY (ARRAY['PENDING'::text, 'APPROVED'::text, 'EXPIRED'::text, 'MAX_CHECKS'::text, 'CANCELED'::text, 'BLOCKED'::text, 'UNDELIVERED'::text])))
);

CREATE UNIQUE INDEX verification_open ON verification USING btree (account_id, person, service_id) WHERE (status = 'PENDING'::text);

CREATE INDEX verification_due ON verification USING btree (expires_at) WHERE (status = 'PENDING'::text);

CREATE INDEX verification_created ON verification USING btree (created_at);

ALTER TABLE verification ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON verification AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE verification IS 'facts';

CREATE TABLE verification_code (
  account_id bigint NOT NULL,
  verification_id uuid NOT NULL,
  sealed bytea NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT verification_code_pkey PRIMARY KEY (account_id, verification_id)
);

CREATE INDEX verification_code_due ON verification_code USING btree (expires_at);

ALTER TABLE verification_code ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON verification_code AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE verification_code IS 'facts';

CREATE TABLE verification_message (
  account_id bigint NOT NULL,
  message_id uuid NOT NULL,
  verification_id uuid NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  followed boolean DEFAULT false NOT NULL,
  CONSTRAINT verification_message_pkey PRIMARY KEY (account_id, message_id)
);

CREATE INDEX verification_message_of ON verification_message USING btree (account_id, verification_id);

CREATE INDEX verification_message_open ON verification_message USING btree (created_at) WHERE (NOT followed);

ALTER TABLE verification_message ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON verification_message AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE verification_message IS 'facts';

CREATE TABLE verify_counter (
  account_id bigint NOT NULL,
  kind text NOT NULL,
  key text NOT NULL,
  minutes smallint NOT NULL,
  at timestamp with time zone NOT NULL,
  sent integer DEFAULT 0 NOT NULL,
  approved integer DEFAULT 0 NOT NULL,
  delivered integer DEFAULT 0 NOT NULL,
  failed integer DEFAULT 0 NOT NULL,
  micros bigint DEFAULT 0 NOT NULL,
  CONSTRAINT verify_counter_pkey PRIMARY KEY (account_id, kind, key, minutes, at)
);

CREATE INDEX verify_counter_old ON verify_counter USING btree (minutes, at);

ALTER TABLE verify_counter ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON verify_counter AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE verify_counter IS 'facts';

CREATE TABLE verify_decision (
  account_id bigint NOT NULL,
  id uuid NOT NULL,
  service_id uuid,
  verification_id uuid,
  number text NOT NULL,
  country text,
  outcome text NOT NULL,
  enforced boolean NOT NULL,
  rule text,
  prefix text,
  reasons jsonb NOT NULL,
  micros bigint DEFAULT 0 NOT NULL,
  address text,
  user_ref text,
  device text,
  feedback text,
  CONSTRAINT verify_decision_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT verify_decision_feedback_check CHECK ((feedback = ANY (ARRAY['converted'::text, 'fraud'::text]))),
  CONSTRAINT verify_decision_outcome_check CHECK ((outcome = ANY (ARRAY['ALLOW'::text, 'CHALLENGE'::text, 'BLOCK'::text])))
);

CREATE INDEX verify_decision_old ON verify_decision USING btree (id);

CREATE INDEX verify_decision_stopped ON verify_decision USING btree (account_id, id) WHERE (outcome <> 'ALLOW'::text);

ALTER TABLE verify_decision ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON verify_decision AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE verify_decision IS 'facts';

CREATE TABLE verify_number (
  account_id bigint NOT NULL,
  person text NOT NULL,
  sent timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL,
  wrong timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL,
  locked_until timestamp with time zone,
  used_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT verify_number_pkey PRIMARY KEY (account_id, person)
);

CREATE INDEX verify_number_old ON verify_number USING btree (used_at);

ALTER TABLE verify_number ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON verify_number AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE verify_number IS 'facts';

CREATE TABLE verify_range (
  account_id bigint NOT NULL,
  prefix text NOT NULL,
  state text NOT NULL,
  level smallint DEFAULT 0 NOT NULL,
  since timestamp with time zone DEFAULT now() NOT NULL,
  until timestamp with time zone,
  reasons jsonb DEFAULT '[]'::jsonb NOT NULL,
  probes timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL,
  probes_approved smallint DEFAULT 0 NOT NULL,
  stopped integer DEFAULT 0 NOT NULL,
  CONSTRAINT verify_range_pkey PRIMARY KEY (account_id, prefix),
  CONSTRAINT verify_range_state_check CHECK ((state = ANY (ARRAY['PAUSED'::text, 'OPEN'::text, 'RELEASED'::text, 'BLOCKED'::text])))
);

CREATE INDEX verify_range_paused ON verify_range USING btree (until) WHERE (state = 'PAUSED'::text);

ALTER TABLE verify_range ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON verify_range AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE verify_range IS 'facts';

CREATE TABLE verify_service (
  account_id bigint NOT NULL,
  id uuid NOT NULL,
  name text NOT NULL,
  settings jsonb NOT NULL,
  hook_secret bytea,
  challenge_secret bytea NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT verify_service_pkey PRIMARY KEY (account_id, id),
  CONSTRAINT verify_service_name_key UNIQUE (account_id, name)
);

ALTER TABLE verify_service ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON verify_service AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE verify_service IS 'facts';

CREATE TABLE webhook_claim (
  account_id bigint NOT NULL,
  owner bigint NOT NULL,
  CONSTRAINT webhook_claim_pkey PRIMARY KEY (account_id)
);

ALTER TABLE webhook_claim ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON webhook_claim AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE webhook_claim IS 'queue';

CREATE TABLE webhook_delivery (
  account_id bigint NOT NULL,
  id uuid NOT NULL,
  message_id uuid NOT NULL,
  kind text NOT NULL,
  status smallint,
  at timestamp with time zone NOT NULL,
  error text,
  state text NOT NULL,
  attempts smallint NOT NULL,
  response_code smallint,
  duration_ms integer,
  failure text,
  next_attempt_at timestamp with time zone,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  failures jsonb DEFAULT '[]'::jsonb NOT NULL,
  tried_at timestamp with time zone,
  answer text,
  endpoint bigint DEFAULT 0 NOT NULL,
  data jsonb,
  CONSTRAINT webhook_delivery_pkey PRIMARY KEY (account_id, id, endpoint),
  CONSTRAINT webhook_delivery_state_check CHECK ((state = ANY (ARRAY['PENDING'::text, 'DELIVERED'::text, 'DEAD'::text])))
) PARTITION BY RANGE (id);

CREATE INDEX webhook_delivery_message ON ONLY webhook_delivery USING btree (account_id, message_id);

CREATE INDEX webhook_delivery_open ON ONLY webhook_delivery USING btree (account_id, state, id) WHERE (state <> 'DELIVERED'::text);

ALTER TABLE webhook_delivery ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON webhook_delivery AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE webhook_delivery IS 'facts';

CREATE TABLE webhook_endpoint (
  account_id bigint NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  url text NOT NULL,
  form text NOT NULL,
  method text DEFAULT 'POST'::text NOT NULL,
  secret bytea NOT NULL,
  previous_secret bytea,
  previous_secret_until timestamp with time zone,
  status text DEFAULT 'active'::text NOT NULL,
  disabled_reason text,
  failing_since timestamp with time zone,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  ref bigint GENERATED ALWAYS AS (CASE WHEN (form = 'V2'::text) THEN id ELSE (0)::bigint END) STORED NOT NULL,
  name text DEFAULT 'default'::text NOT NULL,
  event_types text[] DEFAULT '{}'::text[] NOT NULL,
  kinds text[] DEFAULT '{DELIVERY,READ,INBOUND}'::text[] NOT NULL,
  statuses smallint[],
  filters jsonb DEFAULT '{}'::jsonb NOT NULL,
  headers bytea,
  retry text DEFAULT 'full'::text NOT NULL,
  shows_amounts boolean DEFAULT false NOT NULL,
  since timestamp with time zone DEFAULT now() NOT NULL,
  max_per_second integer,
  CONSTRAINT webhook_endpoint_pkey PRIMARY KEY (account_id, ref),
  CONSTRAINT webhook_endpoint_check CHECK (((previous_secret IS NULL) = (previous_secret_until IS NULL))),
  CONSTRAINT webhook_endpoint_check1 CHECK (((status = 'disabled'::text) = (disabled_reason IS NOT NULL))),
  CONSTRAINT webhook_endpoint_form_check CHECK ((form = ANY (ARRAY['A'::text, 'B'::text, 'V2'::text]))),
  CONSTRAINT webhook_endpoint_max_per_second_check CHECK ((max_per_second > 0)),
  CONSTRAINT webhook_endpoint_method_check CHECK ((method = 'POST'::text)),
  CONSTRAINT webhook_endpoint_retry_check CHECK ((retry = ANY (ARRAY['none'::text, 'short'::text, 'full'::text]))),
  CONSTRAINT webhook_endpoint_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text, 'disabled'::text]))),
  CONSTRAINT webhook_endpoint_url_check CHECK ((length(url) <= 2048))
);

ALTER TABLE webhook_endpoint ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON webhook_endpoint AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE webhook_endpoint IS 'shared';

CREATE TABLE webhook_outbox (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  seed uuid DEFAULT uuidv7() NOT NULL,
  kind text NOT NULL,
  status smallint,
  message_ids uuid[] NOT NULL,
  at timestamp with time zone[] NOT NULL,
  errors text[] NOT NULL,
  priority smallint DEFAULT 1 NOT NULL,
  endpoint bigint DEFAULT '-1'::integer NOT NULL,
  data jsonb,
  CONSTRAINT webhook_outbox_pkey PRIMARY KEY (id)
);

ALTER TABLE webhook_outbox ALTER COLUMN message_ids SET STORAGE EXTERNAL;

CREATE INDEX webhook_outbox_account ON webhook_outbox USING btree (account_id, endpoint, priority, id);

ALTER TABLE webhook_outbox ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON webhook_outbox AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE webhook_outbox IS 'queue';

CREATE TABLE webhook_published (
  account_id bigint NOT NULL,
  id uuid NOT NULL,
  position xid8 DEFAULT GREATEST(pg_current_xact_id(), pg_snapshot_xmax(pg_current_snapshot())) NOT NULL,
  seq bigint DEFAULT nextval('webhook_outbox_id_seq'::regclass) NOT NULL,
  kind text NOT NULL,
  status smallint,
  message_ids uuid[] NOT NULL,
  at timestamp with time zone[] NOT NULL,
  errors text[] NOT NULL,
  data jsonb,
  CONSTRAINT webhook_published_pkey PRIMARY KEY (account_id, id)
) PARTITION BY RANGE (id);

CREATE INDEX webhook_published_position ON ONLY webhook_published USING btree (account_id, "position", seq);

ALTER TABLE webhook_published ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON webhook_published AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE webhook_published IS 'facts';

CREATE TABLE webhook_retry (
  account_id bigint NOT NULL,
  id uuid NOT NULL,
  message_id uuid NOT NULL,
  seq bigint DEFAULT nextval('webhook_outbox_id_seq'::regclass) NOT NULL,
  due_at timestamp with time zone,
  endpoint bigint DEFAULT 0 NOT NULL,
  CONSTRAINT webhook_retry_pkey PRIMARY KEY (account_id, id, endpoint)
);

CREATE INDEX webhook_retry_due ON webhook_retry USING btree (account_id, due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX webhook_retry_endpoint ON webhook_retry USING btree (account_id, endpoint, due_at) WHERE (due_at IS NOT NULL);

CREATE INDEX webhook_retry_message ON webhook_retry USING btree (account_id, message_id, seq);

ALTER TABLE webhook_retry ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON webhook_retry AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE webhook_retry IS 'queue';

CREATE TABLE worker_process (
  owner bigint NOT NULL,
  host text NOT NULL,
  pid integer NOT NULL,
  started_at timestamp with time zone DEFAULT now() NOT NULL,
  seen_at timestamp with time zone DEFAULT now() NOT NULL,
  tasks jsonb DEFAULT '[]'::jsonb NOT NULL,
  free_bytes bigint,
  certificate_ends_at timestamp with time zone,
  CONSTRAINT worker_process_pkey PRIMARY KEY (owner)
);

COMMENT ON TABLE worker_process IS 'queue';

CREATE VIEW v1_campaign WITH (security_invoker=true) AS
 SELECT c.account_id,
    c.id,
    c.name,
    c.sending_mode,
        CASE c.status
            WHEN 0 THEN 'DRAFT'::text
            WHEN 1 THEN 'READY'::text
            WHEN 2 THEN 'SENDING'::text
            WHEN 3 THEN 'COMPLETED'::text
            WHEN 4 THEN 'FAILED'::text
            ELSE NULL::text
        END AS status,
    c.failure_reason,
    COALESCE(r.recipients, c.total_destinations) AS recipients,
    COALESCE(r.skipped, 0::bigint) AS skipped,
    COALESCE(r.messages, 0::bigint) AS messages,
    c.estimated_micros::numeric / '1000000'::numeric AS estimated_cost,
    c.created_at,
    c.scheduled_at,
    c.confirmed_at,
    c.started_at,
    c.completed_at,
    c.cancelled_at
   FROM campaign c
     LEFT JOIN campaign_run r ON r.account_id = c.account_id AND r.campaign_id = c.id;

CREATE VIEW v1_contact WITH (security_invoker=true) AS
 SELECT account_id,
    id,
    full_name,
    first_name,
    last_name,
    gender,
    phone_number,
    email,
    country,
    is_test,
    ( SELECT COALESCE(jsonb_object_agg(f.name, c.custom_fields -> f.id::text), '{}'::jsonb) AS "coalesce"
           FROM custom_field f
          WHERE f.account_id = c.account_id AND c.custom_fields ? f.id::text) AS custom_fields,
    created_at,
    updated_at
   FROM contact c;

CREATE VIEW v1_conversation WITH (security_invoker=true) AS
 SELECT account_id,
    chat_id,
    channel,
    peer,
    identity,
    profile_name,
    assignee_id,
    archived,
    unread,
    created_at,
    last_at,
    last_direction,
    last_text
   FROM conversation;

CREATE VIEW v1_inbound_message WITH (security_invoker=true) AS
 SELECT account_id,
    id,
    received_at,
    channel,
    source,
    destination,
    message_type,
    body
   FROM inbound_message;

CREATE VIEW v1_ledger WITH (security_invoker=true) AS
 SELECT account_id,
    id,
    created_at,
    kind,
    from_book,
    to_book,
    amount_micros::numeric / '1000000'::numeric AS amount,
    messages,
    reference
   FROM ledger_entry;

CREATE VIEW opt_out WITH (security_invoker=true) AS
 SELECT account_id,
    phone_number,
    person,
    channel,
    source,
    since AS created_at
   FROM consent
  WHERE state = 'OPTED_OUT'::text AND purpose = '*'::text AND sender = '*'::text;

CREATE VIEW v1_opt_out WITH (security_invoker=true) AS
 SELECT account_id,
    phone_number,
    channel,
    source,
    since AS created_at
   FROM consent
  WHERE state = 'OPTED_OUT'::text AND purpose = '*'::text AND sender = '*'::text;

CREATE VIEW v1_traffic_day WITH (security_invoker=true) AS
 SELECT account_id,
    day,
    NULLIF(campaign_id, 0) AS campaign_id,
        CASE channel
            WHEN 1 THEN 'SMS'::text
            WHEN 2 THEN 'RCS'::text
            WHEN 4 THEN 'WHATSAPP'::text
            ELSE NULL::text
        END AS channel,
    sum(sent)::bigint AS sent,
    sum(delivered)::bigint AS delivered,
    sum(read)::bigint AS read,
    sum(failed)::bigint AS failed,
    sum(unsent)::bigint AS unsent,
    sum(cost_micros) / '1000000'::numeric AS cost
   FROM ( SELECT traffic_day.account_id,
            traffic_day.day,
            traffic_day.campaign_id,
            traffic_day.channel,
            traffic_day.sent,
            traffic_day.delivered,
            traffic_day.read,
            traffic_day.failed,
            traffic_day.unsent,
            traffic_day.cost_micros
           FROM traffic_day
        UNION ALL
         SELECT traffic_hour.account_id,
            (traffic_hour.hour AT TIME ZONE 'UTC'::text)::date AS timezone,
            traffic_hour.campaign_id,
            traffic_hour.channel,
            traffic_hour.sent,
            traffic_hour.delivered,
            traffic_hour.read,
            traffic_hour.failed,
            traffic_hour.unsent,
            traffic_hour.cost_micros
           FROM traffic_hour
          WHERE traffic_hour.shard >= 0) t
  GROUP BY account_id, day, campaign_id, channel;

CREATE VIEW v1_webhook_delivery WITH (security_invoker=true) AS
 SELECT account_id,
    id,
    message_id,
    kind,
    at,
    state,
    attempts,
    response_code,
    duration_ms,
    failure
   FROM webhook_delivery;

CREATE OR REPLACE FUNCTION inbox_words(account bigint, written text)
 RETURNS tsvector
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
  SELECT to_tsvector('simple'::regconfig, 'ofaccount' || account || ' ' ||
    translate(left(written, 4096), '.,:;@/\-_+*#''"&=?!()[]{}<>|~^%€', repeat(' ', 40)))
$function$;

CREATE OR REPLACE FUNCTION messaging_limit_use(number_id text)
 RETURNS TABLE(people integer, used bigint)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path = public, pg_temp
AS $function$
  SELECT l.people, (SELECT count(*) FROM portfolio_person p
                    WHERE p.portfolio = l.portfolio AND p.at > now() - interval '24 hours')
  FROM sender s JOIN messaging_limit l ON l.connection_id = s.connection_id
  WHERE s.channel = 'WHATSAPP' AND s.identity = number_id
    AND (s.owner_id IS NULL OR s.owner_id = coalesce(NULLIF(current_setting('app.account_id', true), '')::bigint, s.owner_id))
$function$;

CREATE OR REPLACE FUNCTION other_addresses(account bigint, known text)
 RETURNS SETOF text
 LANGUAGE sql
 STABLE
AS $function$
  WITH root AS (
    SELECT coalesce((SELECT a.person FROM person_alias a WHERE a.account_id = account AND a.alias = known), known) AS person)
  SELECT r.person FROM root r WHERE r.person <> known
  UNION ALL
  SELECT a.alias FROM root r JOIN person_alias a ON a.account_id = account AND a.person = r.person WHERE a.alias <> known
$function$;

CREATE OR REPLACE FUNCTION refuse_away(account bigint)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION 'account % is in another cell, or on its way', account USING ERRCODE = '57HM1';
END
$function$;

CREATE OR REPLACE FUNCTION search_contacts(pattern text, most bigint)
 RETURNS SETOF bigint
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path = public, pg_temp
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
  SELECT id FROM contact
  WHERE account_id = NULLIF(current_setting('app.account_id', true), '')::bigint
    AND fold_text(full_name || E'\n' || coalesce(phone_number, '') || E'\n' || coalesce(email, '')) LIKE pattern
  LIMIT most
$function$;

CREATE OR REPLACE FUNCTION search_conversations(pattern text)
 RETURNS SETOF uuid
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path = public, pg_temp
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
  SELECT chat_id FROM conversation
  WHERE account_id = NULLIF(current_setting('app.account_id', true), '')::bigint
    AND fold_text(peer || E'\n' || profile_name) LIKE pattern
  UNION
  SELECT v.chat_id FROM contact c
  JOIN conversation v ON v.account_id = c.account_id AND v.person = c.person
  WHERE c.account_id = NULLIF(current_setting('app.account_id', true), '')::bigint
    AND fold_text(c.full_name || E'\n' || coalesce(c.phone_number, '') || E'\n' || coalesce(c.email, '')) LIKE pattern
$function$;

CREATE OR REPLACE FUNCTION search_inbox_messages(words text, most integer)
 RETURNS TABLE(chat_id uuid, id uuid)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path = public, pg_temp
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
DECLARE
  own     bigint := NULLIF(current_setting('app.account_id', true), '')::bigint;
  asked   tsquery := to_tsquery('simple'::regconfig, words);
  letters text[] := ARRAY(SELECT '%' || w[1] || '%' FROM regexp_matches(words, '''([^'']+)''', 'g') AS w);
  hits    uuid[];
BEGIN
  SELECT array_agg(f.id ORDER BY f.id DESC) INTO hits
  FROM (SELECT n.id
        FROM (SELECT m.id, m.text FROM inbox_message m WHERE m.account_id = own ORDER BY m.id DESC LIMIT 3000) AS n
        WHERE fold_text(n.text) LIKE ALL (letters) AND inbox_words(own, fold_text(n.text)) @@ asked
        ORDER BY n.id DESC LIMIT most) AS f;
  IF cardinality(hits) >= most THEN
    RETURN QUERY
      SELECT m.chat_id, m.id FROM inbox_message m
      WHERE m.account_id = own AND m.id = ANY(hits) ORDER BY m.id DESC;
  ELSE
    -- The sum keeps the planner from walking all messages of the account in their order.
    RETURN QUERY
      SELECT m.chat_id, m.id FROM inbox_message m
      WHERE inbox_words(m.account_id, fold_text(m.text)) @@ (to_tsquery('simple'::regconfig, 'ofaccount' || own) && asked)
        AND m.account_id + 0 = own
      ORDER BY m.id DESC LIMIT most;
  END IF;
END $function$;

CREATE OR REPLACE FUNCTION sms_parts(body text)
 RETURNS integer
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
DECLARE
  -- As many characters as units, and which of them must not end a part.
  units text;
  lead  text;
  total integer;
  most  integer;
  at    integer := 1;
  parts integer := 0;
BEGIN
  -- Nearly all texts end here: one pass over them, 2 µs.
  IF body ~ E'^[ -Z_a-z\n\r@£¥èéùìòÇØøÅåΔΦΓΛΩΠΨΣΘΞÆæßÉ¤¡ÄÖÑÜ§¿äöñüà]*$' THEN
    total := length(body);
    RETURN CASE WHEN total <= 160 THEN 1 ELSE (total + 152) / 153 END;
  ELSIF body ~ E'^[ -~\n\r\f€@£¥èéùìòÇØøÅåΔΦΓΛΩΠΨΣΘΞÆæßÉ¤¡ÄÖÑÜ§¿äöñüà]*$' AND strpos(body, '`') = 0 THEN
    units := regexp_replace(body, E'[\\^{}\\\\[~\\]|€\f]', E'\x1b\\&', 'g');
    total := length(units);
    IF total <= 160 THEN RETURN 1; END IF;
    most := 153;
    lead := E'\x1b';
  ELSE
    -- Characters beyond the basic plane take two units each.
    IF body !~ E'[\U00010000-\U0010ffff]' THEN
      total := length(body);
      RETURN CASE WHEN total <= 70 THEN 1 ELSE (total + 66) / 67 END;
    END IF;
    units := regexp_replace(
      regexp_replace(body, E'[^\U00010000-\U0010ffff]', 'x', 'g'), E'[\U00010000-\U0010ffff]', 'hl', 'g');
    total := length(units);
    IF total <= 70 THEN RETURN 1; END IF;
    most := 67;
    lead := 'h';
  END IF;
  WHILE at <= total LOOP
    parts := parts + 1;
    at := at + most - CASE WHEN substr(units, at + most - 1, 1) = lead THEN 1 ELSE 0 END;
  END LOOP;
  RETURN parts;
END
$function$;

CREATE OR REPLACE FUNCTION take_mail(whose bytea, per_hour integer, per_day integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path = public, pg_temp
AS $function$
DECLARE
  taken   timestamptz[];
  free_at timestamptz;
BEGIN
  INSERT INTO mail_budget AS b (subject) VALUES (whose)
  ON CONFLICT (subject) DO UPDATE SET subject = excluded.subject RETURNING b.taken_at INTO taken;
  free_at := greatest(taken[per_hour] + interval '1 hour', taken[per_day] + interval '1 day');
  IF free_at > now() THEN
    -- Kept only by a caller who drops the mail and commits.
    UPDATE mail_budget SET dropped = dropped + 1 WHERE subject = whose;
    RETURN ceil(extract(epoch FROM free_at - now()));
  END IF;
  UPDATE mail_budget SET taken_at = (now() || taken)[1:per_day] WHERE subject = whose;
  RETURN 0;
END
$function$;

CREATE OR REPLACE FUNCTION v1_first_id(at timestamp with time zone)
 RETURNS uuid
 LANGUAGE sql
 STABLE PARALLEL SAFE STRICT
RETURN ((lpad(to_hex(((EXTRACT(epoch FROM at) * (1000)::numeric))::bigint), 12, '0'::text) || repeat('0'::text, 20)))::uuid;

CREATE OR REPLACE FUNCTION v1_time_of(id uuid)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE PARALLEL SAFE STRICT
RETURN to_timestamp((((((('x'::text || translate("left"((id)::text, 13), '-'::text, ''::text)))::bit(48))::bigint)::numeric / 1000.0))::double precision);

CREATE TABLE alert_notice (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  target_id bigint NOT NULL,
  alert_id bigint NOT NULL,
  event text NOT NULL,
  batch uuid,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT alert_notice_pkey PRIMARY KEY (id),
  CONSTRAINT alert_notice_event_check CHECK ((event = ANY (ARRAY['fired'::text, 'reminder'::text, 'resolved'::text]))),
  CONSTRAINT alert_notice_alert_id_fkey FOREIGN KEY (alert_id) REFERENCES alert(id) ON DELETE CASCADE,
  CONSTRAINT alert_notice_target_id_fkey FOREIGN KEY (target_id) REFERENCES alert_target(id) ON DELETE CASCADE
);

CREATE INDEX alert_notice_alert ON alert_notice USING btree (alert_id);

CREATE INDEX alert_notice_target ON alert_notice USING btree (target_id, batch);

COMMENT ON TABLE alert_notice IS 'queue';

CREATE TABLE api_key (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  user_id bigint,
  name text DEFAULT ''::text NOT NULL,
  description text DEFAULT ''::text NOT NULL,
  operations text[] NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone,
  last_used_at timestamp with time zone,
  purpose text,
  CONSTRAINT api_key_pkey PRIMARY KEY (id),
  CONSTRAINT api_key_purpose_check CHECK ((purpose = ANY (ARRAY['marketing'::text, 'transactional'::text, 'otp'::text, 'service'::text]))),
  CONSTRAINT api_key_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT api_key_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id)
);

CREATE INDEX api_key_account ON api_key USING btree (account_id, id);

ALTER TABLE api_key ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON api_key AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE api_key IS 'shared';

CREATE TABLE api_key_value (
  key_hash bytea NOT NULL,
  api_key_id bigint NOT NULL,
  prefix text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone,
  account_id bigint NOT NULL,
  CONSTRAINT api_key_value_pkey PRIMARY KEY (key_hash),
  CONSTRAINT api_key_value_key_hash_check CHECK ((length(key_hash) = 32)),
  CONSTRAINT api_key_value_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT api_key_value_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_key(id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX api_key_value_current ON api_key_value USING btree (api_key_id) WHERE (expires_at IS NULL);

CREATE INDEX api_key_value_key ON api_key_value USING btree (api_key_id);

ALTER TABLE api_key_value ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON api_key_value AS PERMISSIVE FOR ALL TO public USING ((account_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint));

COMMENT ON TABLE api_key_value IS 'shared';

CREATE TABLE conditional_route (
  id bigint NOT NULL,
  channel text NOT NULL,
  prefix text DEFAULT ''::text NOT NULL,
  connection_id bigint NOT NULL,
  priority integer DEFAULT 100 NOT NULL,
  on_unknown text DEFAULT 'hold'::text NOT NULL,
  weight smallint,
  network text,
  owner_id bigint,
  sender text,
  hours jsonb,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  purpose text,
  CONSTRAINT conditional_route_pkey PRIMARY KEY (id),
  CONSTRAINT conditional_route_channel_prefix_connection_id_network_owne_key UNIQUE NULLS NOT DISTINCT (channel, prefix, connection_id, network, owner_id, sender, hours, purpose),
  CONSTRAINT conditional_route_channel_check CHECK ((channel = ANY (ARRAY['SMS'::text, 'RCS'::text, 'WHATSAPP'::text]))),
  CONSTRAINT conditional_route_check CHECK ((num_nonnulls(network, owner_id, sender, hours, purpose) > 0)),
  CONSTRAINT conditional_route_network_check CHECK ((network ~ '^[0-9]{5,6}$'::text)),
  CONSTRAINT conditional_route_on_unknown_check CHECK ((on_unknown = ANY (ARRAY['hold'::text, 'resubmit'::text]))),
  CONSTRAINT conditional_route_prefix_check CHECK ((prefix ~ '^[0-9]{0,15}$'::text)),
  CONSTRAINT conditional_route_purpose_check CHECK ((purpose = ANY (ARRAY['marketing'::text, 'transactional'::text, 'otp'::text, 'service'::text]))),
  CONSTRAINT conditional_route_sender_check CHECK (((length(sender) >= 1) AND (length(sender) <= 20))),
  CONSTRAINT conditional_route_weight_check CHECK (((weight >= 1) AND (weight <= 1000))),
  CONSTRAINT conditional_route_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id)
);

CREATE INDEX conditional_route_connection ON conditional_route USING btree (connection_id);

ALTER TABLE conditional_route ENABLE ROW LEVEL SECURITY;

CREATE POLICY tenant ON conditional_route AS PERMISSIVE FOR ALL TO public USING (((owner_id IS NULL) OR (owner_id = (NULLIF(current_setting('app.account_id'::text, true), ''::text))::bigint)));

COMMENT ON TABLE conditional_route IS 'shared';

CREATE INDEX inbox_message_words ON inbox_message USING gin (inbox_words(account_id, fold_text(text)));

CREATE TABLE lookup_day (
  service_id bigint NOT NULL,
  day date NOT NULL,
  answered bigint DEFAULT 0 NOT NULL,
  failed bigint DEFAULT 0 NOT NULL,
  cost_micros bigint DEFAULT 0 NOT NULL,
  CONSTRAINT lookup_day_pkey PRIMARY KEY (service_id, day),
  CONSTRAINT lookup_day_service_id_fkey FOREIGN KEY (service_id) REFERENCES lookup_service(id) ON DELETE CASCADE
);

COMMENT ON TABLE lookup_day IS 'queue';

CREATE VIEW v1_message WITH (security_invoker=true) AS
 SELECT m.account_id,
    m.id,
    v1_time_of(m.id) AS accepted_at,
    m.client_id,
    m.channel,
    m.source,
    m.campaign_id,
    m.simulation,
    m.sender,
    m.destination,
    m.body,
    m.parts,
    m.price_micros::numeric / '1000000'::numeric AS price,
    COALESCE(s.credit_returned, false) AS price_returned,
        CASE COALESCE(s.status::integer, 1)
            WHEN 0 THEN 'UNKNOWN'::text
            WHEN 1 THEN 'ACCEPTED'::text
            WHEN 2 THEN 'REJECTED'::text
            WHEN 3 THEN 'DELIVERED'::text
            WHEN 4 THEN 'EXPIRED'::text
            WHEN 5 THEN 'DELETED'::text
            WHEN 6 THEN 'UNDELIVERABLE'::text
            WHEN 9 THEN 'ERROR'::text
            WHEN 10 THEN 'DISABLED'::text
            WHEN 11 THEN 'UNSUPPORTED'::text
            WHEN 12 THEN 'CONVERSATION_CLOSED'::text
            ELSE NULL::text
        END AS status,
    s.error_code,
    s.error_text,
    COALESCE(s.possible_duplicate, false) AS possible_duplicate,
    m.scheduled_at,
    s.submitted_at,
    s.done_at,
    s.read_at
   FROM message m
     LEFT JOIN message_state s ON s.account_id = m.account_id AND s.id = m.id;

COMMENT ON FUNCTION v1_first_id(at timestamp with time zone) IS 'The smallest ID (UUIDv7) that can be made at a time: for conditions on id, which leave other days unread';
COMMENT ON FUNCTION v1_time_of(id uuid) IS 'The time at which an ID (UUIDv7) was made';

-- What requests of an account may do, each with its rows alone (row-level security above).
REVOKE ALL ON FUNCTION messaging_limit_use(number_id text) FROM PUBLIC;
REVOKE ALL ON FUNCTION search_contacts(pattern text, most bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION search_conversations(pattern text) FROM PUBLIC;
REVOKE ALL ON FUNCTION search_inbox_messages(words text, most integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION take_mail(whose bytea, per_hour integer, per_day integer) FROM PUBLIC;
GRANT ALL ON FUNCTION messaging_limit_use(number_id text) TO heliograph_tenant;
GRANT ALL ON FUNCTION search_contacts(pattern text, most bigint) TO heliograph_tenant;
GRANT ALL ON FUNCTION search_conversations(pattern text) TO heliograph_tenant;
GRANT ALL ON FUNCTION search_inbox_messages(words text, most integer) TO heliograph_tenant;
GRANT ALL ON FUNCTION take_mail(whose bytea, per_hour integer, per_day integer) TO heliograph_tenant;
GRANT USAGE ON SEQUENCE webhook_outbox_id_seq TO heliograph_tenant;
GRANT SELECT, INSERT, UPDATE, DELETE ON
  account_retention, api_key, api_key_value, bulk_request, campaign, campaign_batch, campaign_draft, campaign_fallback, campaign_job,
  campaign_lane, campaign_minute, campaign_outcome, campaign_policy, campaign_recipient, campaign_run,
  canned_answer, client_message_id, consent, consent_answer, consent_settings, contact, contact_activity, contact_book, contact_import, contact_import_chunk,
  contact_import_reject, contact_list, contact_list_member, contact_upload,
  contact_upload_part, conversation, conversation_label, credit_balance, credit_frozen, custom_field,
  dispatch_chunk, erased_person, erasure, export, free_message, idempotency_key, inbound_message, inbound_number, inbox,
  inbox_agent, inbox_count, inbox_event, inbox_label, inbox_message, inbox_note,
  inbox_settings, inbox_watch, invitation, job, keyword_count, keyword_rule, lost_chunk, margin_day, marketing_week,
  media, message, message_billing, message_deadline, message_event, message_fallback, message_part, message_state, nameless_submit,
  opt_in, opt_out, passkey, pending_sign_in, person_alias, quality_sample, recovery_code, sender, simulated_outcome, single_sign_on,
  smpp_credential, smpp_outbox, smpp_receipt, smpp_replacement, social_profile, social_state, sticky_sender,
  suspected_opt_out, template, totp_factor, traffic_day, traffic_hour, unknown_outcome, verification, verification_code,
  verification_message, verify_counter, verify_decision, verify_number, verify_range, verify_service, webhook_claim,
  webhook_delivery, webhook_endpoint, webhook_outbox, webhook_published, webhook_retry
TO heliograph_tenant;
GRANT SELECT ON
  account, account_work, lookup_budget, media_copy, passed_on, single_sign_on_domain, smpp_bind
TO heliograph_tenant;
GRANT SELECT, INSERT ON
  audit_entry, consent_change, ledger_entry, single_sign_on_state, single_sign_on_user
TO heliograph_tenant;
GRANT SELECT, DELETE ON
  app_user, password_reset, user_session
TO heliograph_tenant;
GRANT SELECT, INSERT, DELETE ON
  single_sign_on_claim
TO heliograph_tenant;
GRANT UPDATE (ip_allow_list, ip_allow_list_enforced, has_opt_outs, second_factor, default_country, number_checks, default_purpose,
  respects_calendar, weekly_cap, feed_since) ON account TO heliograph_tenant;
GRANT INSERT (account_id, username, display_name, password_hash, role), UPDATE (display_name, password_hash, role) ON app_user TO heliograph_tenant;
GRANT SELECT (channel, prefix, owner_id) ON conditional_route TO heliograph_tenant;
GRANT SELECT (id, name) ON connection TO heliograph_tenant;
GRANT SELECT (sender, month, used), UPDATE (used) ON free_allowance TO heliograph_tenant;
GRANT UPDATE (expires_at) ON password_reset TO heliograph_tenant;
GRANT SELECT (id, channel, prefix, owner_id, category, session_window, unit_micros, per_part, refund_undelivered, valid_from, currency) ON price TO heliograph_tenant;
GRANT SELECT (channel, prefix) ON route TO heliograph_tenant;
GRANT UPDATE (refused_at) ON single_sign_on_user TO heliograph_tenant;
GRANT INSERT (account_id, user_id, token_hash, address, user_agent, method), UPDATE (proven_at) ON user_session TO heliograph_tenant;

-- What every installation begins with.
INSERT INTO price (channel, unit_micros, per_part, refund_undelivered)
VALUES ('SMS', 35000, true, false), ('RCS', 50000, false, true), ('WHATSAPP', 60000, false, true);
INSERT INTO expiry_progress VALUES (now());
INSERT INTO restore_guard DEFAULT VALUES;
INSERT INTO alert_evaluation (evaluated_at) VALUES (now() - interval '1 day');
