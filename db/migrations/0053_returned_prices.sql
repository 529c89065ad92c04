-- Whether the price of a message was returned: the message then cost nothing, and its price reads 0. The ledger keeps no
-- amounts per message, and the state alone does not tell: an EXPIRED message may have been charged when a carrier accepted
-- it. Existing messages get the answer by the rules of the ledger. Only one kind cannot be told apart any more and reads
-- as charged: never answered, then expired by our own timer, without a price that is returned when undelivered.
ALTER TABLE message_state ADD COLUMN credit_returned boolean NOT NULL DEFAULT false;
UPDATE message_state s SET credit_returned = true
FROM message m
WHERE m.account_id = s.account_id AND m.id = s.id AND m.price_micros > 0 AND NOT s.credit_held
  AND s.status NOT IN (0, 1, 3) AND (s.submitted_at IS NULL OR m.refund_undelivered);
