import { text } from 'node:stream/consumers';
import type { Pool } from 'pg';
import { updateHasOptOuts } from '../accounts/accounts.ts';
import { endsWithin, every, type Task } from '../core/background.ts';
import { as, columns, type Db, exec, many, maybeOne, one, type RowOf, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import type { Log } from '../core/log.ts';
import type { Storage } from '../core/storage.ts';
import { MINUTE_MS, SECOND_MS } from '../core/time.ts';
import { insertErased } from '../messages/erased.ts';

/**
 * Record of an erasure in the store of files, from which a restored database learns of the erasures after its backup.
 * It contains only keyed hashes (hex) of the person's addresses.
 */
export type ErasureRecord = {
  readonly accountId: number;
  readonly erasureId: string;
  readonly hashes: readonly string[];
};

type Deps = { readonly pool: Pool; readonly storage: Pick<Storage, 'put' | 'get' | 'exists'> };
/** Queues the erasure of a record that this database did not know, in the transaction that applies it. */
type OnUnknown = (tx: Db, record: ErasureRecord) => Promise<void>;

/** The number of the last record that this database knows, and its cell: cells may share a store. */
const POSITION = columns({ position: as<number>('erasures'), cell: as<number>('number') });
type Position = RowOf<typeof POSITION>;

const keyOf = ({ position, cell }: Position): string => `erasures/${cell}/${position}.json`;
const after = ({ position, cell }: Position): Position => ({ position: position + 1, cell });

const JSON_FILE = { contentType: 'application/json' };

/**
 * Returns true if there is a record in the store. Throws if the store cannot be read: to a key that lacks the right to
 * read, S3 answers for every file as if it did not exist, and a restored database would miss its erasures.
 */
async function hasRecord(storage: Deps['storage'], position: Position): Promise<boolean> {
  if (await storage.exists(keyOf(position))) return true;
  const known = keyOf({ ...position, position: 0 });
  if (await storage.exists(known)) return false;
  await storage.put(known, Buffer.from('{}'), JSON_FILE);
  if (await storage.exists(known)) return false;
  throw new Error('the store of files cannot be read, so the records of erasures are not known');
}

/**
 * Records an erasure in the store and in the database, in the caller's transaction, once for each erasure. The file is
 * written first: if the commit fails, the erasure is applied twice, which does no harm, and never lost. Returns true if
 * it was not recorded before.
 */
export async function recordErasure(
  tx: Db,
  storage: Deps['storage'],
  record: ErasureRecord,
  onUnknown: OnUnknown,
): Promise<boolean> {
  const last = await applyUnknown(tx, storage, onUnknown);
  if (await isRecorded(tx, record)) return false;
  const next = after(last);
  await storage.put(keyOf(next), Buffer.from(JSON.stringify(record)), JSON_FILE);
  await insertRecord(tx, record, next);
  return true;
}

/**
 * Records in the store of this cell, in the caller's transaction, whom an account had erased before it came here. A
 * backup of this cell from before that may contain the account as it was during an earlier stay.
 */
export async function recordCarried(
  tx: Db,
  storage: Deps['storage'],
  { accountId, erasureId }: Pick<ErasureRecord, 'accountId' | 'erasureId'>,
  onUnknown: OnUnknown,
): Promise<void> {
  const last = await applyUnknown(tx, storage, onUnknown);
  const erased = await many<{ hash: string }>(
    tx,
    sql`SELECT encode(hash, 'hex') AS hash FROM erased_person WHERE account_id = ${accountId} ORDER BY hash`,
  );
  const next = after(last);
  const record: ErasureRecord = { accountId, erasureId, hashes: erased.map(({ hash }) => hash) };
  await storage.put(keyOf(next), Buffer.from(JSON.stringify(record)), { contentType: 'application/json' });
  await updatePosition(tx, next);
}

/**
 * Applies the records that a restored database lacks: their persons are not written to from the commit on, and are
 * erased again. Returns true if there were any. Outside of restores it costs a statement and a look into the store.
 */
export async function applyErasureRecords({ pool, storage }: Deps, onUnknown: OnUnknown): Promise<boolean> {
  const known = await one<Position>(pool, sql`SELECT ${POSITION} FROM cell`);
  if (!(await hasRecord(storage, after(known)))) return false;
  return transaction(pool, async (tx) => (await applyUnknown(tx, storage, onUnknown)).position > known.position);
}

/** Claims the records, and applies those that this database does not know. Returns the last one. */
async function applyUnknown(tx: Db, storage: Deps['storage'], onUnknown: OnUnknown): Promise<Position> {
  let last = await one<Position>(tx, sql`SELECT ${POSITION} FROM cell FOR UPDATE`);
  for (let next = after(last); await hasRecord(storage, next); next = after(next)) {
    const record = JSON.parse(await text(await storage.get(keyOf(next)))) as ErasureRecord;
    last = next;
    // An account that was created after the backup does not exist any more.
    const account = await maybeOne(tx, sql`SELECT id FROM account WHERE id = ${record.accountId}`);
    if (!account) await updatePosition(tx, next);
    else if (!(await isRecorded(tx, record))) {
      await insertRecord(tx, record, next);
      await onUnknown(tx, record);
    }
  }
  return last;
}

async function insertRecord(tx: Db, record: ErasureRecord, { position }: Position): Promise<void> {
  const { accountId, erasureId, hashes } = record;
  await updatePosition(tx, { position });
  await exec(
    tx,
    sql`INSERT INTO erasure (account_id, id, dry_run, position) VALUES (${accountId}, ${erasureId}, false, ${position})
        ON CONFLICT (account_id, id) DO UPDATE SET position = excluded.position`,
  );
  await insertErased(
    tx,
    hashes.map((hash) => ({ accountId, hash: Buffer.from(hash, 'hex') })),
  );
  await updateHasOptOuts(tx, { accountIds: [accountId] });
}

const updatePosition = (tx: Db, { position }: Pick<Position, 'position'>): Promise<number> =>
  exec(tx, sql`UPDATE cell SET erasures = ${position}`);

const isRecorded = async (tx: Db, { accountId, erasureId }: ErasureRecord): Promise<boolean> =>
  (
    await many(
      tx,
      sql`SELECT FROM erasure WHERE account_id = ${accountId} AND id = ${erasureId} AND position IS NOT NULL`,
    )
  ).length > 0;

/** An unreachable store must not delay the start for longer; the task then applies the records later. */
const START_MS = 5 * SECOND_MS;

/** Applies the records that a restored database lacks, before the program accepts or sends anything. */
export async function applyErasuresAtStart(deps: Deps & { readonly log: Log }, onUnknown: OnUnknown): Promise<void> {
  const applied = applyErasureRecords(deps, onUnknown).then(
    (some) => {
      if (some) deps.log.warn({}, 'the database is older than the records of erasures: they are applied again');
    },
    (err: unknown) => deps.log.error({ err }, 'the records of erasures cannot be read, and are tried again'),
  );
  await endsWithin(applied, START_MS);
}

/** The task that applies the records which a restored database lacks, if it was restored while the program ran. */
export const erasureRecordTasks = (deps: Deps, onUnknown: OnUnknown): Task[] => [
  { name: 'records of erasures', work: every(MINUTE_MS, () => applyErasureRecords(deps, onUnknown)) },
];
