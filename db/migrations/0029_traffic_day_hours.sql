-- The hours of the day in which anything was, 1 << 0 to 1 << 23: pages of hours are cut without reading the hours.
ALTER TABLE traffic_day ADD COLUMN hours integer NOT NULL DEFAULT 0;
UPDATE traffic_day d SET hours = (
  SELECT coalesce(bit_or(1 << extract(hour FROM h.hour AT TIME ZONE 'UTC')::int), 0) FROM traffic_hour h
  WHERE h.account_id = d.account_id AND h.campaign_id = d.campaign_id AND h.channel = d.channel AND h.shard < 0
    AND (h.hour AT TIME ZONE 'UTC')::date = d.day);
