-- Which statuses each range of 32 pages holds: the history of the day that is still written to finds rare ones by it. A
-- summarising index keeps the updates of receipts HOT, which one over the statuses of single rows would end.
DROP INDEX message_state_id;
CREATE INDEX message_state_id_status ON message_state
  USING brin (id, status int2_bloom_ops (n_distinct_per_range = 16)) WITH (pages_per_range = 32);
