-- `restored`: paused until the command `serve` starts the next time, which makes it `kept`.
ALTER TABLE connection DROP CONSTRAINT connection_sandbox_state_check,
  ADD CONSTRAINT connection_sandbox_state_check
  CHECK (sandbox_state IS NULL OR (sandbox AND sandbox_state IN ('retired', 'restored', 'kept')));
