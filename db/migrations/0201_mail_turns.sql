-- Mails go to the mail server in turns: those about a person's own sign-in first, then one of each account in its turn.
-- `turn_at` is an order, and no time before which a mail waits: the mails of an account that come in a burst are spread into the
-- future, so that those of other accounts go between them.
ALTER TABLE outgoing_mail ADD COLUMN urgent boolean NOT NULL DEFAULT false;
ALTER TABLE outgoing_mail ADD COLUMN turn_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX outgoing_mail_turn ON outgoing_mail (urgent DESC, turn_at);
CREATE INDEX outgoing_mail_account ON outgoing_mail (account_id, urgent, turn_at);

-- When mails were queued to a recipient, or for an account, within the last day.
CREATE TABLE mail_budget (
  -- An HMAC under the secret key: no address can be read from it, or tried out without the key.
  subject  bytea PRIMARY KEY CHECK (length(subject) = 32),
  -- Newest first, no more than the subject may have in a day.
  taken_at timestamptz[] NOT NULL DEFAULT '{}',
  -- How many mails were dropped because the budget was used up.
  dropped  integer NOT NULL DEFAULT 0
);
COMMENT ON TABLE mail_budget IS 'queue';

-- Counts a mail of `whose`, and returns 0; or the seconds until there may be another one, and counts nothing. The row stays
-- locked until the transaction ends, so that mails queued at the same time are counted one after the other. It runs as the
-- owner: a recipient's budget is that of all accounts.
CREATE FUNCTION take_mail(whose bytea, per_hour integer, per_day integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
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
$$;
REVOKE EXECUTE ON FUNCTION take_mail FROM PUBLIC;
GRANT EXECUTE ON FUNCTION take_mail TO heliograph_tenant;
