-- The operator's price list: the longest prefix wins, per part on SMS, per message elsewhere.
CREATE TABLE price (
  id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  channel        text NOT NULL CHECK (channel IN ('SMS', 'RCS', 'WHATSAPP')),
  prefix         text NOT NULL DEFAULT '' CHECK (prefix ~ '^[0-9]{0,15}$'),
  -- Millionths of the currency unit, here and in every column called …_micros.
  unit_micros    bigint NOT NULL CHECK (unit_micros >= 0),
  -- A message that was taken and not delivered gives its price back.
  refund_undelivered boolean NOT NULL DEFAULT false,
  created_at     timestamptz NOT NULL DEFAULT now(),
  UNIQUE (channel, prefix)
);
COMMENT ON TABLE price IS 'reference';
INSERT INTO price (channel, unit_micros) VALUES ('SMS', 35000), ('RCS', 50000), ('WHATSAPP', 60000);

-- What an account has. Moved only together with a ledger entry, by one conditional UPDATE.
CREATE TABLE credit_balance (
  account_id       bigint PRIMARY KEY,
  currency         text NOT NULL DEFAULT 'EUR' CHECK (currency ~ '^[A-Z]{3}$'),
  available_micros bigint NOT NULL DEFAULT 0,
  -- Pays afterwards: may go below zero.
  unlimited        boolean NOT NULL DEFAULT false,
  CHECK (unlimited OR available_micros >= 0)
);
COMMENT ON TABLE credit_balance IS 'distributed';

-- What is reserved for messages whose outcome is open: the sum over the shards. In several rows, so that accepting and
-- settling do not wait for each other's commits.
CREATE TABLE credit_frozen (
  account_id bigint NOT NULL,
  shard      smallint NOT NULL,
  micros     bigint NOT NULL,
  PRIMARY KEY (account_id, shard)
);
COMMENT ON TABLE credit_frozen IS 'distributed';

-- The double-entry ledger: each row takes an amount from one book and puts it into another, so all books together are
-- zero at all times. 'outside' is where top-ups come from, 'earned' what was used.
CREATE TABLE ledger_entry (
  account_id    bigint NOT NULL,
  id            uuid NOT NULL DEFAULT uuidv7(),
  kind          text NOT NULL CHECK (kind IN ('topup', 'freeze', 'settle', 'return')),
  from_book     text NOT NULL CHECK (from_book IN ('outside', 'available', 'frozen', 'earned')),
  to_book       text NOT NULL CHECK (to_book IN ('outside', 'available', 'frozen', 'earned') AND to_book <> from_book),
  amount_micros bigint NOT NULL CHECK (amount_micros > 0),
  -- How many messages it stands for: entries are made per batch.
  messages      integer NOT NULL DEFAULT 0,
  reference     text NOT NULL DEFAULT '',
  created_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id)
);
COMMENT ON TABLE ledger_entry IS 'distributed';

INSERT INTO credit_balance (account_id, unlimited) SELECT id, plan = 'unlimited' FROM account;

ALTER TABLE message ADD COLUMN price_micros bigint NOT NULL DEFAULT 0;
ALTER TABLE message ADD COLUMN refund_undelivered boolean NOT NULL DEFAULT false;
-- The price is still frozen: the outcome is unknown, or a refund is possible.
ALTER TABLE message_state ADD COLUMN credit_held boolean NOT NULL DEFAULT false;
