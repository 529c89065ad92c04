-- The roles viewer, sender, manager and admin replace owner, admin, operator and viewer: what each may do is one table in
-- src/platform/lib/scope.ts.
ALTER TABLE app_user DROP CONSTRAINT app_user_role_check;
UPDATE app_user SET role = CASE role WHEN 'owner' THEN 'admin' WHEN 'operator' THEN 'manager' ELSE role END
  WHERE role IN ('owner', 'operator');
ALTER TABLE app_user
  ALTER COLUMN role SET DEFAULT 'viewer',
  ADD CONSTRAINT app_user_role_check CHECK (role IN ('viewer', 'sender', 'manager', 'admin'));

-- Two scopes are new: money and social. A key that had all scopes until now was meant to do everything, and gets them; a
-- key with a part of the scopes was meant not to, and does not.
UPDATE api_key SET operations = operations || ARRAY['money', 'social']
  WHERE operations @> ARRAY['SMS', 'WHATSAPP', 'RCS', 'campaigns', 'contacts', 'tracking', 'inbox', 'exports', 'webhooks',
                            'media', 'keys']
    AND NOT operations && ARRAY['money', 'social'];
