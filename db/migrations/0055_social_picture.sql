-- A copy of the profile picture, a JPEG of at most 320 by 320: the URLs of networks expire.
ALTER TABLE social_profile ADD COLUMN picture bytea, DROP COLUMN picture_url;

-- Connected to the sandbox, not to the network.
ALTER TABLE social_profile ADD COLUMN sandbox boolean NOT NULL DEFAULT false;
