-- Contacts, lists, custom fields and consent. No foreign keys between them: the row of contact_book is what keeps
-- associations whole. Whoever adds associations or contacts holds it FOR KEY SHARE or stronger, whoever deletes contacts
-- FOR UPDATE (src/contacts/book/sql.ts).

-- For the trigram index that serves `search`.
CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- One row an account: how many contacts it has and may have, and how its numbers are read.
CREATE TABLE contact_book (
  account_id      bigint PRIMARY KEY,
  contacts        bigint NOT NULL DEFAULT 0 CHECK (contacts >= 0),
  -- Null: as many as they like.
  plan_limit      bigint CHECK (plan_limit >= 0),
  extra_limit     bigint NOT NULL DEFAULT 0 CHECK (extra_limit >= 0),
  -- ISO 3166-1 alpha-2: whose national numbers are understood. Null: none, numbers need their country code.
  default_country text CHECK (default_country ~ '^[A-Z]{2}$')
);
COMMENT ON TABLE contact_book IS 'distributed';
INSERT INTO contact_book (account_id) SELECT id FROM account;

CREATE TABLE contact (
  account_id      bigint NOT NULL,
  id              bigint GENERATED ALWAYS AS IDENTITY,
  first_name      text,
  last_name       text,
  -- Null: made of the two above.
  given_full_name text,
  full_name       text NOT NULL GENERATED ALWAYS AS
    (coalesce(given_full_name, btrim(coalesce(first_name, '') || ' ' || coalesce(last_name, '')))) STORED,
  gender          text CHECK (gender IN ('MALE', 'FEMALE', 'OTHER')),
  -- E.164 with the plus.
  phone_number    text,
  -- In lower case.
  email           text,
  -- Whether the number is in the numbering plan of its country.
  is_valid        boolean NOT NULL,
  is_test         boolean NOT NULL DEFAULT false,
  number_type     text,
  country         text,
  -- Bits: 1 SMS, 2 RCS, 4 WhatsApp. From the type of the number, corrected by what carriers report.
  channels        smallint NOT NULL,
  -- By the id of the custom field, so that a field can be renamed without touching contacts.
  custom_fields   jsonb NOT NULL DEFAULT '{}',
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id),
  CHECK (phone_number IS NOT NULL OR email IS NOT NULL)
);
CREATE UNIQUE INDEX contact_number ON contact (account_id, phone_number);
CREATE INDEX contact_name ON contact (account_id, lower(full_name), id);
CREATE INDEX contact_email ON contact (account_id, email) WHERE email IS NOT NULL;
-- Counts filtered contacts without reading them: a handful of distinct keys, so a million contacts are 7 MB.
CREATE INDEX contact_filter ON contact (account_id, is_test, is_valid, gender, channels);
-- Without the account: intersecting with its postings meant to decode all million of them, at each search. A small
-- account among many contacts is read by its own indexes instead, as the planner finds.
CREATE INDEX contact_search ON contact USING gin
  (lower(full_name || E'\n' || coalesce(phone_number, '') || E'\n' || coalesce(email, '')) gin_trgm_ops);
COMMENT ON TABLE contact IS 'distributed';

-- When and how contacts were last written to. Apart from the contact, whose row a campaign would otherwise write anew
-- with an entry in each of its indexes; here nothing is indexed that changes.
CREATE TABLE contact_activity (
  account_id         bigint NOT NULL,
  contact_id         bigint NOT NULL,
  last_contact_type  text NOT NULL,
  last_contact_date  timestamptz NOT NULL,
  last_campaign_type text,
  PRIMARY KEY (account_id, contact_id)
) WITH (fillfactor = 50);
COMMENT ON TABLE contact_activity IS 'distributed';

CREATE TABLE contact_list (
  account_id    bigint NOT NULL,
  id            bigint GENERATED ALWAYS AS IDENTITY,
  name          text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  description   text NOT NULL DEFAULT '',
  is_test       boolean NOT NULL DEFAULT false,
  -- Its associations, changed in their transactions.
  contact_count bigint NOT NULL DEFAULT 0 CHECK (contact_count >= 0),
  -- Raised by every change of its associations: what a campaign was priced for may have changed when it differs.
  version       bigint NOT NULL DEFAULT 1,
  created_at    timestamptz NOT NULL DEFAULT now(),
  deleted_at    timestamptz,
  PRIMARY KEY (account_id, id)
);
CREATE INDEX contact_list_name ON contact_list (account_id, lower(name), id);
COMMENT ON TABLE contact_list IS 'distributed';

-- The association of a contact with a list, which has an id of its own.
CREATE TABLE contact_list_member (
  account_id bigint NOT NULL,
  list_id    bigint NOT NULL,
  contact_id bigint NOT NULL,
  id         bigint GENERATED ALWAYS AS IDENTITY,
  -- lower(full_name) of the contact, so that a page of a list is read in its order: walking all contacts by name until
  -- ten of the list were found took 7 s among a million.
  name_key   text NOT NULL,
  PRIMARY KEY (account_id, contact_id, list_id)
);
CREATE INDEX contact_list_member_name ON contact_list_member (account_id, list_id, name_key, contact_id);
CREATE UNIQUE INDEX contact_list_member_id ON contact_list_member (account_id, id);
COMMENT ON TABLE contact_list_member IS 'distributed';

CREATE TABLE custom_field (
  account_id  bigint NOT NULL,
  id          bigint GENERATED ALWAYS AS IDENTITY,
  name        text NOT NULL CHECK (name ~ '^[A-Za-z][A-Za-z0-9_]{0,62}$'),
  type        text NOT NULL CHECK (type IN ('text', 'number', 'boolean', 'date')),
  description text NOT NULL DEFAULT '',
  created_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX custom_field_name ON custom_field (account_id, lower(name));
COMMENT ON TABLE custom_field IS 'distributed';

-- Who wants no messages on a channel. By the number, not by the contact: it outlives a contact that is deleted and
-- imported again, and holds for numbers that are no contact's.
CREATE TABLE opt_out (
  account_id   bigint NOT NULL,
  -- E.164 with the plus.
  phone_number text NOT NULL,
  channel      text NOT NULL CHECK (channel IN ('SMS', 'RCS', 'WHATSAPP')),
  source       text NOT NULL CHECK (source IN ('STOP', 'API', 'OPERATOR', 'IMPORT')),
  created_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, phone_number, channel)
);
COMMENT ON TABLE opt_out IS 'distributed';

-- Whether the account has ever had one: read with the credentials, so that who has none pays nothing for the check.
ALTER TABLE account ADD COLUMN has_opt_outs boolean NOT NULL DEFAULT false;
GRANT UPDATE (has_opt_outs) ON account TO heliograph_tenant;

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['contact_book', 'contact', 'contact_activity', 'contact_list', 'contact_list_member',
                           'custom_field', 'opt_out']
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO heliograph_tenant', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format(
      $policy$CREATE POLICY tenant ON %I USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint)$policy$, t);
  END LOOP;
END $$;

-- The ids of up to `most` contacts (null: all) whose name, number or e-mail fits a LIKE pattern in lower case. Under
-- row-level security LIKE cannot be an index condition, since it is not leakproof: a search among a million contacts read
-- them all. So it runs as the owner, and the wall stands inside: rows of the account in app.account_id only, as with the
-- policies.
CREATE FUNCTION search_contacts(pattern text, most bigint) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = public, pg_temp
SET plan_cache_mode = force_custom_plan
AS $$
  SELECT id FROM contact
  WHERE account_id = NULLIF(current_setting('app.account_id', true), '')::bigint
    AND lower(full_name || E'\n' || coalesce(phone_number, '') || E'\n' || coalesce(email, '')) LIKE pattern
  LIMIT most
$$;
REVOKE EXECUTE ON FUNCTION search_contacts FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search_contacts TO heliograph_tenant;
