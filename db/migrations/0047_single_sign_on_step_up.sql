-- People who sign in with a provider prove there, by signing in once more, that they are still at the browser.
ALTER TABLE single_sign_on_state
  -- The session that is to be proven; null for a sign-in and a trial. It may have ended meanwhile.
  ADD COLUMN session_id bigint,
  -- The person must have signed in at the provider since then.
  ADD COLUMN begun_at timestamptz NOT NULL DEFAULT now(),
  ADD CONSTRAINT single_sign_on_state_purpose CHECK (session_id IS NULL OR NOT is_trial);
