-- What a message that was submitted by SMPP has besides; null in all others.
ALTER TABLE message ADD COLUMN smpp_credential_id bigint;
-- The data_coding of a text: that of binary_body where this is a part, or else as it came; null: octets.
ALTER TABLE message ADD COLUMN data_coding smallint;
-- Optional parameters that are passed on to the carrier, as on the wire.
ALTER TABLE message ADD COLUMN tlvs bytea;
