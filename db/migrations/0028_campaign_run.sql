-- What workers keep of a campaign that runs.

ALTER TABLE campaign_run
  -- Reserve of the recipients that were made: the confirmation froze so much and no more.
  ADD COLUMN allotted_micros bigint NOT NULL DEFAULT 0,
  -- Prices of messages that another channel has overtaken and that may still be delivered: their part of the reserve
  -- stays until they end.
  ADD COLUMN late_micros bigint NOT NULL DEFAULT 0;

-- Not before: quiet hours hold back what follows.
ALTER TABLE campaign_outcome ADD COLUMN due_at timestamptz NOT NULL DEFAULT now();
