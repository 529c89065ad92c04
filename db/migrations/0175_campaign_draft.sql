-- What somebody is writing in the editor of a campaign, saved while they type and whatever is still missing: the editor's
-- own form, which the server only keeps. With `campaign_id`: changes to that campaign which are not applied to it yet.
CREATE TABLE campaign_draft (
  account_id  bigint NOT NULL REFERENCES account (id),
  -- Made by the editor, so that saving again after a lost answer finds the same draft.
  id          uuid NOT NULL,
  campaign_id bigint,
  name        text NOT NULL,
  content     jsonb NOT NULL,
  -- Counts the changes: an editor that has not seen the last one cannot write over it.
  version     integer NOT NULL,
  -- Who saved it last; null: an API key.
  user_id     bigint,
  updated_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, campaign_id)
);
COMMENT ON TABLE campaign_draft IS 'facts';
GRANT SELECT, INSERT, UPDATE, DELETE ON campaign_draft TO heliograph_tenant;
ALTER TABLE campaign_draft ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON campaign_draft USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);
