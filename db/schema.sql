-- The schema after all migrations, for reading and for review. Generated from the catalogs of a migrated database by
-- scripts/dump-schema.ts; the check fails when this file and db/migrations differ. Not meant to be run: tables stand
-- in the order of their names. Day partitions are left out.

CREATE TABLE account (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  name text NOT NULL,
  status text DEFAULT 'active'::text NOT NULL,
  plan text DEFAULT 'production'::text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT account_pkey PRIMARY KEY (id),
  CONSTRAINT account_name_check CHECK (((length(name) >= 1) AND (length(name) <= 200))),
  CONSTRAINT account_plan_check CHECK ((plan = ANY (ARRAY['production'::text, 'trial'::text, 'unlimited'::text]))),
  CONSTRAINT account_status_check CHECK ((status = ANY (ARRAY['active'::text, 'suspended'::text])))
);
COMMENT ON TABLE account IS 'reference';

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
  CONSTRAINT api_key_pkey PRIMARY KEY (id),
  CONSTRAINT api_key_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT api_key_user_id_fkey FOREIGN KEY (user_id) REFERENCES app_user(id)
);
CREATE INDEX api_key_account ON api_key USING btree (account_id, id);
COMMENT ON TABLE api_key IS 'reference';

CREATE TABLE api_key_value (
  key_hash bytea NOT NULL,
  api_key_id bigint NOT NULL,
  prefix text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  expires_at timestamp with time zone,
  CONSTRAINT api_key_value_pkey PRIMARY KEY (key_hash),
  CONSTRAINT api_key_value_key_hash_check CHECK ((length(key_hash) = 32)),
  CONSTRAINT api_key_value_api_key_id_fkey FOREIGN KEY (api_key_id) REFERENCES api_key(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX api_key_value_current ON api_key_value USING btree (api_key_id) WHERE (expires_at IS NULL);
CREATE INDEX api_key_value_key ON api_key_value USING btree (api_key_id);
COMMENT ON TABLE api_key_value IS 'reference';

CREATE TABLE app_user (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  username text NOT NULL,
  password_hash text NOT NULL,
  role text DEFAULT 'owner'::text NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT app_user_pkey PRIMARY KEY (id),
  CONSTRAINT app_user_username_key UNIQUE (username),
  CONSTRAINT app_user_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'operator'::text, 'viewer'::text]))),
  CONSTRAINT app_user_username_check CHECK (((length(username) >= 1) AND (length(username) <= 200))),
  CONSTRAINT app_user_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id)
);
CREATE INDEX app_user_account ON app_user USING btree (account_id, id);
COMMENT ON TABLE app_user IS 'reference';

CREATE TABLE bulk_request (
  account_id bigint NOT NULL,
  global_id text NOT NULL,
  body_hash bytea NOT NULL,
  results json,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT bulk_request_pkey PRIMARY KEY (account_id, global_id)
);
CREATE INDEX bulk_request_created ON bulk_request USING btree (created_at);
COMMENT ON TABLE bulk_request IS 'distributed';

CREATE TABLE client_message_id (
  account_id bigint NOT NULL,
  client_id text NOT NULL,
  message_id uuid NOT NULL,
  content_hash bytea NOT NULL,
  created_at timestamp with time zone NOT NULL,
  CONSTRAINT client_message_id_pkey PRIMARY KEY (account_id, client_id)
);
COMMENT ON TABLE client_message_id IS 'distributed';

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
  CONSTRAINT connection_pkey PRIMARY KEY (id),
  CONSTRAINT connection_name_key UNIQUE (name),
  CONSTRAINT connection_kind_check CHECK ((kind = 'smpp'::text)),
  CONSTRAINT connection_name_check CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'::text)),
  CONSTRAINT connection_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text])))
);
COMMENT ON TABLE connection IS 'reference';

CREATE TABLE connection_down (
  connection_id bigint NOT NULL,
  since timestamp with time zone DEFAULT now() NOT NULL,
  seen_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT connection_down_pkey PRIMARY KEY (connection_id),
  CONSTRAINT connection_down_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id) ON DELETE CASCADE
);
COMMENT ON TABLE connection_down IS 'local';

CREATE TABLE connection_status (
  connection_id bigint NOT NULL,
  worker bigint NOT NULL,
  up boolean NOT NULL,
  binds_up integer NOT NULL,
  binds_wanted integer NOT NULL,
  fault text,
  updated_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT connection_status_pkey PRIMARY KEY (connection_id, worker)
);
COMMENT ON TABLE connection_status IS 'local';

CREATE TABLE credit_balance (
  account_id bigint NOT NULL,
  currency text DEFAULT 'EUR'::text NOT NULL,
  available_micros bigint DEFAULT 0 NOT NULL,
  unlimited boolean DEFAULT false NOT NULL,
  CONSTRAINT credit_balance_pkey PRIMARY KEY (account_id),
  CONSTRAINT credit_balance_check CHECK ((unlimited OR (available_micros >= 0))),
  CONSTRAINT credit_balance_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text))
);
COMMENT ON TABLE credit_balance IS 'distributed';

CREATE TABLE credit_frozen (
  account_id bigint NOT NULL,
  shard smallint NOT NULL,
  micros bigint NOT NULL,
  CONSTRAINT credit_frozen_pkey PRIMARY KEY (account_id, shard)
);
COMMENT ON TABLE credit_frozen IS 'distributed';

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
  CONSTRAINT dispatch_chunk_pkey PRIMARY KEY (id),
  CONSTRAINT dispatch_chunk_on_unknown_check CHECK ((on_unknown = ANY (ARRAY['hold'::text, 'resubmit'::text])))
);
ALTER TABLE dispatch_chunk ALTER COLUMN ids SET STORAGE EXTERNAL;
CREATE INDEX dispatch_chunk_claim ON dispatch_chunk USING btree (connection_id, priority, round, id) WHERE (owner IS NULL);
CREATE INDEX dispatch_chunk_owner ON dispatch_chunk USING btree (owner) WHERE (owner IS NOT NULL);
CREATE INDEX dispatch_chunk_rounds ON dispatch_chunk USING btree (connection_id, priority, account_id, round);
COMMENT ON TABLE dispatch_chunk IS 'local';

CREATE TABLE expiry_progress (
  done_to timestamp with time zone NOT NULL
);
COMMENT ON TABLE expiry_progress IS 'local';

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
  CONSTRAINT inbound_message_pkey PRIMARY KEY (account_id, id)
);
COMMENT ON TABLE inbound_message IS 'distributed';

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
COMMENT ON TABLE inbound_number IS 'reference';

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
COMMENT ON TABLE inbound_part IS 'local';

CREATE TABLE inbound_seen (
  connection_id bigint NOT NULL,
  hash bytea NOT NULL,
  received_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT inbound_seen_pkey PRIMARY KEY (connection_id, hash)
);
CREATE INDEX inbound_seen_received ON inbound_seen USING btree (received_at);
COMMENT ON TABLE inbound_seen IS 'local';

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
COMMENT ON TABLE ledger_entry IS 'distributed';

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
  CONSTRAINT message_pkey PRIMARY KEY (account_id, id)
) PARTITION BY RANGE (id);
COMMENT ON TABLE message IS 'distributed';

CREATE TABLE message_deadline (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  account_id bigint NOT NULL,
  due_at timestamp with time zone NOT NULL,
  ids uuid[] NOT NULL,
  CONSTRAINT message_deadline_pkey PRIMARY KEY (id)
);
ALTER TABLE message_deadline ALTER COLUMN ids SET STORAGE EXTERNAL;
CREATE INDEX message_deadline_due ON message_deadline USING btree (due_at);
COMMENT ON TABLE message_deadline IS 'local';

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
COMMENT ON TABLE message_event IS 'distributed';

CREATE TABLE message_part (
  account_id bigint NOT NULL,
  message_id uuid NOT NULL,
  part smallint NOT NULL,
  connection_id bigint NOT NULL,
  carrier_id text NOT NULL,
  status smallint NOT NULL,
  done_at timestamp with time zone,
  receipt_text text,
  CONSTRAINT message_part_pkey PRIMARY KEY (account_id, message_id, part)
) PARTITION BY RANGE (message_id);
CREATE INDEX message_part_carrier ON ONLY message_part USING btree (connection_id, carrier_id);
COMMENT ON TABLE message_part IS 'distributed';

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
  CONSTRAINT message_state_pkey PRIMARY KEY (account_id, id)
) PARTITION BY RANGE (id);
CREATE INDEX message_state_carrier ON ONLY message_state USING btree (connection_id, carrier_id);
CREATE INDEX message_state_id ON ONLY message_state USING brin (id);
CREATE INDEX message_state_submitted ON ONLY message_state USING brin (submitted_at);
COMMENT ON TABLE message_state IS 'distributed';

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
COMMENT ON TABLE nameless_submit IS 'distributed';

CREATE TABLE price (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  channel text NOT NULL,
  prefix text DEFAULT ''::text NOT NULL,
  unit_micros bigint NOT NULL,
  refund_undelivered boolean DEFAULT false NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT price_pkey PRIMARY KEY (id),
  CONSTRAINT price_channel_prefix_key UNIQUE (channel, prefix),
  CONSTRAINT price_channel_check CHECK ((channel = ANY (ARRAY['SMS'::text, 'RCS'::text, 'WHATSAPP'::text]))),
  CONSTRAINT price_prefix_check CHECK ((prefix ~ '^[0-9]{0,15}$'::text)),
  CONSTRAINT price_unit_micros_check CHECK ((unit_micros >= 0))
);
COMMENT ON TABLE price IS 'reference';

CREATE TABLE receipt_batch (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  connection_id bigint NOT NULL,
  receipts json NOT NULL,
  received_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT receipt_batch_pkey PRIMARY KEY (id)
);
ALTER TABLE receipt_batch ALTER COLUMN receipts SET STORAGE EXTERNAL;
COMMENT ON TABLE receipt_batch IS 'local';

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
COMMENT ON TABLE receipt_unmatched IS 'local';

CREATE TABLE route (
  id bigint GENERATED ALWAYS AS IDENTITY NOT NULL,
  channel text NOT NULL,
  prefix text DEFAULT ''::text NOT NULL,
  connection_id bigint NOT NULL,
  priority integer DEFAULT 100 NOT NULL,
  created_at timestamp with time zone DEFAULT now() NOT NULL,
  on_unknown text DEFAULT 'hold'::text NOT NULL,
  CONSTRAINT route_pkey PRIMARY KEY (id),
  CONSTRAINT route_channel_prefix_connection_id_key UNIQUE (channel, prefix, connection_id),
  CONSTRAINT route_channel_check CHECK ((channel = ANY (ARRAY['SMS'::text, 'RCS'::text, 'WHATSAPP'::text]))),
  CONSTRAINT route_on_unknown_check CHECK ((on_unknown = ANY (ARRAY['hold'::text, 'resubmit'::text]))),
  CONSTRAINT route_prefix_check CHECK ((prefix ~ '^[0-9]{0,15}$'::text)),
  CONSTRAINT route_connection_id_fkey FOREIGN KEY (connection_id) REFERENCES connection(id)
);
COMMENT ON TABLE route IS 'reference';

CREATE TABLE schema_migration (
  name text NOT NULL,
  sha256 text NOT NULL,
  applied_at timestamp with time zone DEFAULT now() NOT NULL,
  CONSTRAINT schema_migration_pkey PRIMARY KEY (name)
);
COMMENT ON TABLE schema_migration IS 'local';

CREATE TABLE simulated_outcome (
  account_id bigint NOT NULL,
  message_id uuid NOT NULL,
  due_at timestamp with time zone NOT NULL,
  status smallint NOT NULL,
  CONSTRAINT simulated_outcome_pkey PRIMARY KEY (account_id, message_id)
);
CREATE INDEX simulated_outcome_due ON simulated_outcome USING btree (due_at);
COMMENT ON TABLE simulated_outcome IS 'distributed';

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
COMMENT ON TABLE unknown_outcome IS 'distributed';
