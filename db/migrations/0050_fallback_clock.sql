-- Recipients of combined campaigns who got messages on two channels, because the first was delivered after its time.
ALTER TABLE campaign_run ADD COLUMN delivered_twice bigint NOT NULL DEFAULT 0;
-- In the first hop of a recipient: how many messages were delivered since another channel was tried.
ALTER TABLE campaign_hop ADD COLUMN deliveries smallint NOT NULL DEFAULT 0;

-- Messages that were withdrawn because their time was over, and that nobody has processed yet, keep their next channel.
UPDATE message_state s SET error_code = 'NOT_TRIED'
FROM (SELECT account_id, unnest(message_ids) AS id FROM campaign_outcome
      UNION ALL SELECT account_id, message_id FROM message_fallback) AS o
WHERE s.account_id = o.account_id AND s.id = o.id AND s.status = 5 AND s.error_code = 'TIMED_OUT';
