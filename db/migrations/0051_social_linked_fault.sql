-- Why the network did not list what belongs to the profile, in its own words; null if it did.
ALTER TABLE social_profile ADD COLUMN linked_fault text;
