-- What an operator decided about a connection of the sandbox: `retired` takes it out of readiness, metrics and the lists,
-- `restored` keeps it paused until the command `serve` starts the next time, which makes it `kept`: then it runs beside real
-- carriers. NULL: as the setting SANDBOX says.
ALTER TABLE connection ADD COLUMN sandbox_state text
  CONSTRAINT connection_sandbox_state_check
  CHECK (sandbox_state IS NULL OR (sandbox AND sandbox_state IN ('retired', 'restored', 'kept')));
