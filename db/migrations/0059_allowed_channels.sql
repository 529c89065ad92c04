-- The bits of the channels on which campaigns may write to a contact, as the client set them. `channels` says which reach
-- the number, and is corrected by what carriers report.
ALTER TABLE contact ADD COLUMN allowed_channels smallint NOT NULL DEFAULT 7;
