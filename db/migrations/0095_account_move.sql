-- An account that is on its way to another cell, or has left for one. In the states leaving, left and arriving it is not
-- served here: nothing is accepted for it, sent, or taken from a carrier.
CREATE TABLE account_move (
  account_id bigint PRIMARY KEY,
  state      text NOT NULL CHECK (state IN ('preparing', 'leaving', 'left', 'arriving')),
  -- The cell that it goes to, or comes from.
  cell       smallint NOT NULL CHECK (cell BETWEEN 0 AND 8190),
  -- Until when it may be preparing or leaving: then it is served here again.
  ends_at    timestamptz,
  -- When it was served in the other cell, of an account that has left.
  arrived_at timestamptz,
  since      timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE account_move IS 'queue';
GRANT SELECT ON account_move TO heliograph_tenant;
ALTER TABLE account_move ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON account_move
  USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- Work of an arriving account: it is not to be done before the account has left its former cell.
CREATE TABLE account_parcel (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL,
  table_name text NOT NULL,
  rows       text[] NOT NULL
);
CREATE INDEX account_parcel_account ON account_parcel (account_id, id);
COMMENT ON TABLE account_parcel IS 'queue';
GRANT SELECT ON account_parcel TO heliograph_tenant;
ALTER TABLE account_parcel ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON account_parcel
  USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- What carriers sent here for an account that is not served here: receipts and inbound messages.
CREATE TABLE passed_on (
  id            uuid PRIMARY KEY DEFAULT uuidv7(),
  account_id    bigint NOT NULL,
  connection_id bigint NOT NULL,
  kind          text NOT NULL CHECK (kind IN ('receipt', 'inbound')),
  content       json NOT NULL,
  at            timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE passed_on IS 'queue';
GRANT SELECT ON passed_on TO heliograph_tenant;
ALTER TABLE passed_on ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON passed_on
  USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

-- What other cells have passed on to this one, so that it is taken once.
CREATE TABLE passed_on_seen (
  id uuid PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE passed_on_seen IS 'queue';

-- Ends a statement that would write for an account that is not served here.
CREATE FUNCTION refuse_away(account bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'account % is in another cell, or on its way', account USING ERRCODE = 'HM001';
END
$$;
