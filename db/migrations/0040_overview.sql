-- What the console asks for again and again.

-- The channel on which a recipient was not reached, so that a funnel counts who left which.
ALTER TABLE campaign_hop ADD COLUMN from_channel text NOT NULL DEFAULT '';

-- Campaigns that are being sent or wait for their time, and those that failed lately, among all of an account.
CREATE INDEX campaign_active ON campaign (account_id, status, scheduled_at) WHERE status IN (1, 2) AND confirmed_at IS NOT NULL;
CREATE INDEX campaign_failed ON campaign (account_id, completed_at) WHERE status = 4;
