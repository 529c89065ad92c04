-- Recipients whom a cancellation left without a message (`unmade`), and those whose message it withdrew (`withdrawn`).
-- They were counted as skipped and as failed.
ALTER TABLE campaign_run
  ADD COLUMN unmade bigint NOT NULL DEFAULT 0,
  ADD COLUMN withdrawn bigint NOT NULL DEFAULT 0,
  -- What a combined campaign can no longer cost and has not returned yet; below zero: what it may cost beyond its reserve.
  ADD COLUMN spare_micros bigint NOT NULL DEFAULT 0,
  DROP COLUMN late_micros;

-- Skipped are the recipients with a reason, and those that were never listed. The others of a cancelled campaign that has
-- ended are the unmade ones. Messages that were withdrawn before this migration still count as failed.
UPDATE campaign_run r SET unmade = n.unmade, skipped = r.skipped - n.unmade
FROM (SELECT c.account_id, c.id, k.skipped - coalesce((c.goal ->> 'unlisted')::bigint, 0) - (
        SELECT count(*) FROM campaign_recipient p
        WHERE p.account_id = c.account_id AND p.campaign_id = c.id AND p.skip_reason IS NOT NULL) AS unmade
      FROM campaign c JOIN campaign_run k ON k.account_id = c.account_id AND k.campaign_id = c.id
      WHERE c.cancelled_at IS NOT NULL AND k.expanded) AS n
WHERE r.account_id = n.account_id AND r.campaign_id = n.id AND n.unmade > 0;
