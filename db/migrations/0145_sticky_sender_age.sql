-- When a recipient was last written to from the number that they keep, to within a day: without a message for RETENTION_DAYS,
-- the number is forgotten like the messages.
ALTER TABLE sticky_sender ADD COLUMN used_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX sticky_sender_used ON sticky_sender (used_at);
