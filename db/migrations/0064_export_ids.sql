-- Exports have UUIDv7 ids, as messages and conversations have. The id of an export from before begins with the time of
-- its request and ends with its number, so the order stays. Links that name a number are dead: it is signed.
ALTER TABLE export ALTER COLUMN id DROP IDENTITY;
ALTER TABLE export ALTER COLUMN id TYPE uuid USING (
  lpad(to_hex(floor(extract(epoch FROM created_at) * 1000)::bigint), 12, '0') || '70008' || lpad(to_hex(id), 15, '0'))::uuid;
ALTER TABLE export ALTER COLUMN id SET DEFAULT uuidv7();

-- No worker runs now: each pending export is queued anew.
DELETE FROM export_job;
ALTER TABLE export_job ALTER COLUMN export_id TYPE uuid USING NULL;
INSERT INTO export_job (export_id, account_id, due_at)
SELECT id, account_id, created_at FROM export WHERE status = 'PENDING';
