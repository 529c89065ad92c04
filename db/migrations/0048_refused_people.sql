-- When the provider's sign-in of this person was last refused; null once they are let in. Their password does not sign in
-- meanwhile, or they could choose a new one by mail and come back.
ALTER TABLE single_sign_on_user ADD COLUMN refused_at timestamptz;
GRANT UPDATE (refused_at) ON single_sign_on_user TO heliograph_tenant;

-- A link that was used stays for an hour, so that it counts: a user gets three in an hour.
GRANT UPDATE (expires_at) ON password_reset TO heliograph_tenant;
