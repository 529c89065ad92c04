-- What a receiver said, to be read by who repairs it: the beginning of the body of its last answer, and when that attempt
-- began (what webhook-timestamp said). Earlier ones that failed stand in `failures`: [{ at, code, reason, ms, answer }].
ALTER TABLE webhook_delivery ADD COLUMN tried_at timestamptz, ADD COLUMN answer text;
