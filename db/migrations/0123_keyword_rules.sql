-- What an account does with inbound messages that begin with a keyword: an answer, and a copy to somewhere else.
CREATE TABLE keyword_rule (
  account_id bigint NOT NULL REFERENCES account (id),
  id         bigint GENERATED ALWAYS AS IDENTITY,
  -- As inbound messages store it, without a plus; null: any number of the account.
  number     text CHECK (number ~ '^[0-9]{1,20}$'),
  -- In lower case, single blanks between words; '*' is every message without a keyword of its own.
  keyword    text NOT NULL CHECK (length(keyword) BETWEEN 1 AND 100),
  answer     text,
  -- An https URL, a mail address or an E.164 number.
  forward_to text,
  -- Why the last answer or copy did not leave.
  fault      text,
  fault_at   timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK (answer IS NOT NULL OR forward_to IS NOT NULL),
  PRIMARY KEY (account_id, id),
  UNIQUE NULLS NOT DISTINCT (account_id, number, keyword)
);
COMMENT ON TABLE keyword_rule IS 'facts';

-- Answers and copies that have to leave, written in the transaction that stores the inbound message; each at most once.
CREATE TABLE keyword_action (
  account_id bigint NOT NULL,
  inbound_id uuid NOT NULL,
  kind       text NOT NULL CHECK (kind IN ('answer', 'sms', 'mail', 'post')),
  rule_id    bigint NOT NULL,
  keyword    text NOT NULL,
  -- The person, or where the copy goes.
  target     text NOT NULL,
  -- The text of an answer; null for a copy.
  answer     text,
  due_at     timestamptz NOT NULL DEFAULT now(),
  failures   smallint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, inbound_id, kind)
);
CREATE INDEX keyword_action_due ON keyword_action (due_at);
COMMENT ON TABLE keyword_action IS 'queue';

-- How many messages keywords made in this hour for a person and a number: two machines that answer each other end there.
CREATE TABLE keyword_count (
  account_id bigint NOT NULL,
  number     text NOT NULL,
  person     text NOT NULL,
  hour       timestamptz NOT NULL,
  messages   smallint NOT NULL,
  PRIMARY KEY (account_id, number, person)
);
COMMENT ON TABLE keyword_count IS 'queue';

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['keyword_rule', 'keyword_action', 'keyword_count']
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO heliograph_tenant', t);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format(
      $policy$CREATE POLICY tenant ON %I USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint)$policy$, t);
  END LOOP;
END $$;
