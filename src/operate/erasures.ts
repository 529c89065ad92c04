import type { Pool } from 'pg';
import { type Static, Type } from 'typebox';
import { recordAudit } from '../accounts/audit.ts';
import {
  as,
  columns,
  countRows,
  type Db,
  exec,
  join,
  many,
  maybeOne,
  raw,
  type RowOf,
  type Sql,
  sql,
} from '../core/db/query.ts';
import { setStatementTimeoutMinutes, tenant, transaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { newId } from '../core/ids.ts';
import { job } from '../core/jobs.ts';
import { instant, orNull } from '../core/schema.ts';
import type { SecretKey } from '../core/secrets.ts';
import type { Storage } from '../core/storage.ts';
import { SECOND_MS } from '../core/time.ts';
import { addressesOf, PersonIn } from '../exports/person-data.ts';
import { cancelMessages } from '../messages/cancellation.ts';
import { createPersonHash, type HashOfPerson } from '../messages/erased.ts';
import { publishFacts } from '../webhooks/outbox.ts';
import { erasePerson } from './erase-person.ts';
import { type ErasureRecord, recordCarried, recordErasure } from './erasure-records.ts';

const ErasureIn = Type.Object({
  ...PersonIn.properties,
  dryRun: Type.Optional(Type.Boolean({ description: 'Counts what would be erased, and erases nothing.' })),
});
const ErasureOut = Type.Object({
  erasureId: Type.String({ format: 'uuid' }),
  state: Type.Enum(['QUEUED', 'DONE'], { type: 'string' }),
  dryRun: Type.Boolean(),
  counts: orNull(
    Type.Record(Type.String(), Type.Integer(), { description: 'Rows by table that were deleted or cleared.' }),
  ),
  createdAt: instant(),
  doneAt: orNull(instant()),
});

/** Erasures of an account that wait. Each reads all that the account has, for seconds. */
const MAX_QUEUED = 100;

const PATH = '/api/partner-gateway/v1/privacy/erasures';
const tags = ['Contacts'];

/** Registers the routes that erase a person. */
export function erasureRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const onRequest = requireScope('keys');

  app.post(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'erasePerson',
      summary: 'Erase a person from the account',
      description:
        'Waiting messages to the person are withdrawn first. A keyed hash of the number stays, so that the person is not ' +
        'written to again; amounts stay without the number. It cannot be undone. Repeating it does no harm.',
      body: withExamples(ErasureIn, { to: '+393331239999', dryRun: true }),
      response: { 202: ErasureOut },
    },
    handler: idempotentTx(deps, 202, async ({ actor, body }, tx) => {
      const addresses = await addressesOf(tx, actor, body);
      const dryRun = body.dryRun ?? false;
      if ((await countQueued(tx, actor)) >= MAX_QUEUED)
        throw new AppError('rate_limited', {
          message: `${MAX_QUEUED} erasures of the account are queued: wait until some are done`,
          retryAfterSeconds: 60,
        });
      const erasureId = newId();
      await insertErasure(tx, { accountId: actor.accountId, erasureId, dryRun });
      await personErasure.add(tx, { accountId: actor.accountId, key: null, payload: { erasureId, dryRun, addresses } });
      await recordAudit(tx, actor, { action: 'person.erase', subject: `erasure:${erasureId}`, detail: { dryRun } });
      const row = await findErasure(tx, { accountId: actor.accountId, erasureId });
      if (!row) throw new AppError('unavailable');
      return toErasureOut(row);
    }),
  });

  app.get(`${PATH}/:erasureId`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findErasure',
      summary: 'Get the state of an erasure, and what it erased',
      params: Type.Object({ erasureId: Type.String({ format: 'uuid' }) }),
      response: { 200: ErasureOut },
    },
    handler: async ({ actor, params }) => {
      const row = await findErasure(tenant(pool, actor), { accountId: actor.accountId, ...params });
      if (!row) throw new AppError('not_found');
      return toErasureOut(row);
    },
  });
}

/** `hashes` (hex): an erasure after the backup of a restored database, whose person has to be found by them. */
type Erasure = { readonly erasureId: string; readonly dryRun: boolean } & (
  | { readonly addresses: readonly string[] }
  | { readonly hashes: readonly string[] }
);
type ErasureDeps = {
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly storage: Pick<Storage, 'put' | 'get' | 'exists'>;
};

/** Requests that were decided before the person was blocked are committed by then. */
const DECIDED_MS = 2 * SECOND_MS;
/** Wait for messages that a carrier is taking right now. */
const IN_FLIGHT_MS = 5 * SECOND_MS;
/** After an hour, a message without an outcome is one that a crash has lost. */
const MAX_WAITS = 720;
const MAX_MINUTES = 30;

/**
 * Erasures. The person is not written to from the first step on; then what waits is withdrawn, and all the rest is
 * erased in the transaction that ends the job. A dry run does the same and is undone.
 */
export const personErasure = job<Erasure, ErasureDeps>(
  'person.erasure',
  { concurrency: 1 },
  async ({ pool, secretKey, storage }, { accountId, payload, tries, end }) => {
    const { erasureId, dryRun } = payload;
    const hashOf = createPersonHash(secretKey);
    const addresses =
      'addresses' in payload ? payload.addresses : await findAddresses(pool, hashOf, { accountId, ...payload });
    if (!dryRun) {
      const hashes = addresses.map((phoneNumber) => hashOf({ accountId, phoneNumber }).toString('hex'));
      await transaction(pool, (tx) => recordErasure(tx, storage, { accountId, erasureId, hashes }, eraseAgain));
      if (tries === 1) return { kind: 'retry', inMs: DECIDED_MS };
      const isInFlight = await hasMessageInFlight(pool, { accountId, addresses });
      if (isInFlight && tries < MAX_WAITS) return { kind: 'retry', inMs: IN_FLIGHT_MS };
    }
    const counts = await countOrErase(pool, dryRun, async (tx) => {
      await setStatementTimeoutMinutes(tx, MAX_MINUTES);
      return erasePerson(tx, { accountId, addresses });
    });
    await transaction(pool, async (tx) => {
      if (!(await end(tx))) return;
      await updateErasure(tx, { accountId, erasureId, counts });
      const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
      if (!dryRun)
        await publishFacts(tx, [{ accountId, type: 'erasure.done', about: erasureId, data: { erasureId, rows } }]);
    });
    return undefined;
  },
);

/** Queues an erasure that a restored database did not know. */
export const eraseAgain = (tx: Db, { accountId, erasureId, hashes }: ErasureRecord): Promise<void> =>
  personErasure.add(tx, { accountId, key: null, payload: { erasureId, dryRun: false, hashes } });

/** Records of the erasures of an account that has moved here from another cell, whose store may be a different one. */
export const carriedErasures = job<{ readonly erasureId: string }, Omit<ErasureDeps, 'secretKey'>>(
  'erasures.carry',
  { concurrency: 1 },
  async ({ pool, storage }, { accountId, payload, end }) => {
    await transaction(pool, async (tx) => {
      if (await end(tx)) await recordCarried(tx, storage, { accountId, ...payload }, eraseAgain);
    });
    return undefined;
  },
);

/** Queues these records, in the transaction by which the account arrives. */
export async function carryErasures(tx: Db, { accountId }: { readonly accountId: number }): Promise<void> {
  const erased = await maybeOne(tx, sql`SELECT FROM erased_person WHERE account_id = ${accountId} LIMIT 1`);
  if (erased) await carriedErasures.add(tx, { accountId, key: 'all', payload: { erasureId: newId() } });
}

/** Number of addresses that are in memory at a time. */
const ADDRESSES_PER_FETCH = 10_000;

/** Finds those of the addresses that an account has stored whose hashes are given. */
function findAddresses(
  pool: Pool,
  hashOf: HashOfPerson,
  { accountId, hashes }: { readonly accountId: number; readonly hashes: readonly string[] },
): Promise<string[]> {
  const wanted = new Set(hashes);
  return transaction(pool, async (tx) => {
    await setStatementTimeoutMinutes(tx, MAX_MINUTES);
    await declareAddresses(tx, { accountId });
    const found: string[] = [];
    for (;;) {
      const rows = await many<{ address: string }>(tx, raw(`FETCH ${ADDRESSES_PER_FETCH} FROM addresses`));
      if (rows.length === 0) return found;
      found.push(
        ...rows.flatMap(({ address }) =>
          wanted.has(hashOf({ accountId, phoneNumber: address }).toString('hex')) ? [address] : [],
        ),
      );
    }
  });
}

/** Opens a cursor over the addresses of all persons that an account has stored anything about. */
const declareAddresses = (tx: Db, { accountId }: { readonly accountId: number }): Promise<number> => {
  const of = (table: Sql, address: Sql): Sql => sql`SELECT ${address} FROM ${table} WHERE account_id = ${accountId}`;
  const sources = [
    of(sql`message`, sql`person_of(destination)`),
    of(sql`inbound_message`, sql`person_of(CASE WHEN source ~ '^[0-9]+$' THEN '+' || source ELSE source END)`),
    of(sql`campaign_recipient`, sql`person_of(destination)`),
    of(sql`person_alias`, sql`person`),
    of(sql`person_alias`, sql`alias`),
    ...[sql`contact`, sql`conversation`, sql`consent`, sql`consent_change`, sql`verification`, sql`verify_number`].map(
      (table) => of(table, sql`person`),
    ),
  ];
  return exec(
    tx,
    sql`DECLARE addresses CURSOR FOR SELECT p AS address FROM (${join(sources, ' UNION ')}) AS a (p)
      WHERE p IS NOT NULL AND p <> ''`,
  );
};

const UNDO = new Error('a dry run is undone');

type Counts = Readonly<Record<string, number>>;

/** Runs the work in a transaction, which a dry run undoes. */
async function countOrErase(pool: Pool, dryRun: boolean, work: (tx: Db) => Promise<Counts>): Promise<Counts> {
  let counts: Counts = {};
  try {
    await transaction(pool, async (tx) => {
      counts = await work(tx);
      if (dryRun) throw UNDO;
    });
  } catch (error) {
    if (error !== UNDO) throw error;
  }
  return counts;
}

/** Withdraws the waiting messages of a person. Returns true while a carrier is taking one. */
async function hasMessageInFlight(
  pool: Pool,
  { accountId, addresses }: { readonly accountId: number; readonly addresses: readonly string[] },
): Promise<boolean> {
  const waiting = await many<{ id: string }>(
    pool,
    sql`SELECT m.id FROM message m LEFT JOIN message_state s ON s.account_id = m.account_id AND s.id = m.id
        WHERE m.account_id = ${accountId} AND person_of(m.destination) = ANY(${[...addresses]}::text[])
          AND s.submitted_at IS NULL AND s.done_at IS NULL AND NOT m.simulation`,
  );
  const keys = waiting.map(({ id }) => ({ accountId, id }));
  const withdrawn = await transaction(pool, (tx) =>
    keys.length === 0
      ? Promise.resolve(new Set<string>())
      : cancelMessages(tx, keys, { by: 'an erasure', now: new Date() }),
  );
  return withdrawn.size < keys.length;
}

const ERASURE = columns({
  erasureId: as<string>('id'),
  dryRun: as<boolean>('dry_run'),
  counts: as<Record<string, number> | null>('counts'),
  createdAt: as<Date>('created_at'),
  doneAt: as<Date | null>('done_at'),
});

const toErasureOut = ({ createdAt, doneAt, ...row }: RowOf<typeof ERASURE>): Static<typeof ErasureOut> => ({
  ...row,
  state: doneAt === null ? 'QUEUED' : 'DONE',
  createdAt: createdAt.toISOString(),
  doneAt: doneAt && doneAt.toISOString(),
});

type Key = { readonly accountId: number; readonly erasureId: string };

const findErasure = (db: Db, { accountId, erasureId }: Key): Promise<RowOf<typeof ERASURE> | undefined> =>
  maybeOne(db, sql`SELECT ${ERASURE} FROM erasure WHERE account_id = ${accountId} AND id = ${erasureId}`);

const countQueued = (db: Db, { accountId }: Pick<Key, 'accountId'>): Promise<number> =>
  countRows(db, sql`FROM erasure WHERE account_id = ${accountId} AND done_at IS NULL`);

const insertErasure = (db: Db, { accountId, erasureId, dryRun }: Key & { dryRun: boolean }): Promise<number> =>
  exec(db, sql`INSERT INTO erasure (account_id, id, dry_run) VALUES (${accountId}, ${erasureId}, ${dryRun})`);

const updateErasure = (
  db: Db,
  { accountId, erasureId, counts }: Key & { counts: Readonly<Record<string, number>> },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE erasure SET counts = ${JSON.stringify(counts)}::jsonb, done_at = now()
        WHERE account_id = ${accountId} AND id = ${erasureId}`,
  );
