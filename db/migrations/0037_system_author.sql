-- What the program does by itself to what people have set stands in the audit log too: it pauses a campaign whose template
-- a network has rejected.
ALTER TABLE audit_entry DROP CONSTRAINT audit_entry_actor_kind_check;
ALTER TABLE audit_entry ADD CONSTRAINT audit_entry_actor_kind_check
  CHECK (actor_kind IN ('key', 'user', 'operator', 'system'));
