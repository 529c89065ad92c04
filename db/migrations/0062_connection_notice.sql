-- What carriers reported about our account or a sender, the newest of each subject: a person should know it.
CREATE TABLE connection_notice (
  connection_id bigint NOT NULL REFERENCES connection (id) ON DELETE CASCADE,
  subject       text NOT NULL,
  text          text NOT NULL,
  -- Whether somebody must act; a later notice of the same subject may take it back.
  serious       boolean NOT NULL,
  at            timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (connection_id, subject)
);
COMMENT ON TABLE connection_notice IS 'local';
