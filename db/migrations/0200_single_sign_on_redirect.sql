-- Single sign-on: a redirect URI for each account, and mail domains that count only after a proof.

-- The end of the account's redirect URI, and its value in the DNS records of its domains: 244 random bits. Made with the account,
-- since a provider wants the URI before there are settings, and kept, since it is registered there.
ALTER TABLE account ADD COLUMN sign_on_token text NOT NULL
  DEFAULT replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');

-- Where the response must arrive. Null: begun by an earlier version, for which nothing can arrive.
ALTER TABLE single_sign_on_state ADD COLUMN redirect_uri text CHECK (length(redirect_uri) <= 2000);

-- The mail domains that accounts name in their settings. Several may name one.
CREATE TABLE single_sign_on_claim (
  account_id bigint NOT NULL REFERENCES single_sign_on (account_id) ON DELETE CASCADE,
  domain     text NOT NULL CHECK (length(domain) <= 253),
  PRIMARY KEY (account_id, domain)
);
COMMENT ON TABLE single_sign_on_claim IS 'shared';
GRANT SELECT, INSERT, DELETE ON single_sign_on_claim TO heliograph_tenant;
ALTER TABLE single_sign_on_claim ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON single_sign_on_claim USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);

INSERT INTO single_sign_on_claim (account_id, domain) SELECT account_id, domain FROM single_sign_on_domain;

-- From here on single_sign_on_domain has those of them that are proven, which tenants cannot say of themselves. None is yet.
DELETE FROM single_sign_on_domain;
ALTER TABLE single_sign_on_domain
  ADD FOREIGN KEY (account_id, domain) REFERENCES single_sign_on_claim (account_id, domain) ON DELETE CASCADE;
REVOKE INSERT, DELETE ON single_sign_on_domain FROM heliograph_tenant;
