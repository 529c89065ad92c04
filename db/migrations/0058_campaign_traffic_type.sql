-- What the RCS messages of a campaign are for (messageTrafficType); null takes that of the template, then of the connection.
ALTER TABLE campaign ADD COLUMN rcs_traffic_type text;
