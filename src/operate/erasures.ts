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
  sql,
  textArray,
} from '../core/db/query.ts';
import { setStatementTimeoutMinutes, tenant, transaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { newId } from '../core/ids.ts';
import { type Job, job } from '../core/jobs.ts';
import { instant, orNull } from '../core/schema.ts';
import type { SecretKey } from '../core/secrets.ts';
import type { Storage } from '../core/storage.ts';
import { SECOND_MS } from '../core/time.ts';
import {
  addressesOf,
  type PersonAddresses,
  type PersonData,
  PersonIn,
  tablesOfPerson,
} from '../exports/person-data.ts';
import { cancelMessages } from '../messages/cancellation.ts';
import { createPersonHash, type HashOfPerson } from '../messages/erased.ts';
import { publishFacts } from '../webhooks/outbox.ts';
import {
  awaitCampaignSteps,
  type Counts,
  countPerson,
  endExports,
  erasePerson,
  eraseRecipients,
} from './erase-person.ts';
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

/**
 * `hashes` (hex): an erasure after the backup of a restored database, whose person has to be found by them. `inFlight`:
 * messages that a carrier may be taking. `isErased`: only exports and recipients of campaigns that were made meanwhile are
 * left.
 */
type Erasure = {
  readonly erasureId: string;
  readonly dryRun: boolean;
  readonly inFlight?: readonly string[];
  readonly isErased?: true;
} & ({ readonly addresses: readonly string[] } | { readonly hashes: readonly string[] });
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
 * erased. What began before may be completed after that: the last step ends exports, and erases recipients of campaigns.
 * A dry run only counts.
 */
export const personErasure = job<Erasure, ErasureDeps>(
  'person.erasure',
  { concurrency: 1 },
  async ({ pool, secretKey, storage }, { accountId, payload, tries, end }) => {
    const { erasureId, dryRun, inFlight } = payload;
    const hashOf = createPersonHash(secretKey);
    const addresses =
      'addresses' in payload ? payload.addresses : await findAddresses(pool, hashOf, { accountId, ...payload });
    if (payload.isErased) return endErasure(pool, { accountId, addresses, erasureId, end });
    const person = { accountId, addresses };
    if (dryRun) return countOnly(pool, { ...person, erasureId, end });
    const hashes = addresses.map((phoneNumber) => hashOf({ accountId, phoneNumber }).toString('hex'));
    const isNew = await transaction(pool, (tx) =>
      recordErasure(tx, storage, { accountId, erasureId, hashes }, eraseAgain),
    );
    if (isNew) return { kind: 'retry', inMs: DECIDED_MS };
    const waiting = await withdraw(pool, accountId, inFlight ?? (await findWaiting(pool, person)));
    if (waiting.length > 0 && inFlight === undefined)
      return { kind: 'again', inMs: IN_FLIGHT_MS, payload: { ...payload, inFlight: waiting } };
    if (waiting.length > 0 && tries < MAX_WAITS) return { kind: 'retry', inMs: IN_FLIGHT_MS };
    await transaction(pool, async (tx) => {
      if (!(await end(tx))) return;
      await setStatementTimeoutMinutes(tx, MAX_MINUTES);
      const counts = await erasePerson(tx, person);
      await updateCounts(tx, { accountId, erasureId, counts });
      const rest = { erasureId, dryRun, addresses, isErased: true } as const;
      await personErasure.add(tx, { accountId, key: null, payload: rest });
    });
    return undefined;
  },
);

type Ending = Key & Pick<Job<Erasure>, 'end'>;

async function countOnly(pool: Pool, { end, erasureId, ...person }: Ending & PersonAddresses): Promise<void> {
  const counts = await transaction(pool, async (tx) => {
    await setStatementTimeoutMinutes(tx, MAX_MINUTES);
    return countPerson(tx, person);
  });
  await transaction(pool, async (tx) => {
    if (!(await end(tx))) return;
    const key = { accountId: person.accountId, erasureId };
    await updateCounts(tx, { ...key, counts });
    await moveToDone(tx, key);
  });
}

async function endErasure(pool: Pool, { end, addresses, ...key }: Ending & PersonAddresses): Promise<void> {
  // By itself, so that campaigns go on during the next transaction.
  await transaction(pool, (tx) => awaitCampaignSteps(tx, key));
  await transaction(pool, async (tx) => {
    if (!(await end(tx))) return;
    await setStatementTimeoutMinutes(tx, MAX_MINUTES);
    await eraseRecipients(tx, { accountId: key.accountId, addresses });
    await endExports(tx, key);
    const done = await moveToDone(tx, key);
    const rows = Object.values(done?.counts ?? {}).reduce((sum, count) => sum + count, 0);
    const { accountId, erasureId } = key;
    await publishFacts(tx, [{ accountId, type: 'erasure.done', about: erasureId, data: { erasureId, rows } }]);
  });
}

/** Queues an erasure that a restored database did not know. */
export const eraseAgain = (tx: Db, { accountId, erasureId, hashes }: ErasureRecord): Promise<void> =>
  personErasure.add(tx, {
    accountId,
    key: null,
    payload: { erasureId, dryRun: false, hashes },
    runAt: new Date(Date.now() + DECIDED_MS),
  });

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

/** The keys of a person who does not exist. */
const NOBODY: PersonData = {
  accountId: 0,
  forms: [],
  bare: [],
  messageIds: [],
  inboundIds: [],
  chatIds: [],
  contactIds: [],
  verificationIds: [],
  emails: [],
};

/** Opens a cursor over the addresses of all persons that an account has stored anything about. */
const declareAddresses = (tx: Db, { accountId }: { readonly accountId: number }): Promise<number> => {
  const sources = tablesOfPerson(NOBODY).flatMap(({ table, address }) =>
    address ? [sql`SELECT ${address} FROM ${raw(table)} WHERE account_id = ${accountId}`] : [],
  );
  return exec(
    tx,
    sql`DECLARE addresses CURSOR FOR
        SELECT DISTINCT person_of(CASE WHEN a.p ~ '^[0-9]+$' THEN '+' || a.p ELSE a.p END) AS address
        FROM (${join(sources, ' UNION ')}) AS a (p) WHERE a.p IS NOT NULL AND a.p <> ''`,
  );
};

/** Finds the messages to a person that no carrier has taken. It reads all messages of the account. */
const findWaiting = (pool: Pool, { accountId, addresses }: PersonAddresses): Promise<string[]> =>
  transaction(pool, async (tx) => {
    await setStatementTimeoutMinutes(tx, MAX_MINUTES);
    const rows = await many<{ id: string }>(
      tx,
      sql`SELECT m.id FROM message m LEFT JOIN message_state s ON s.account_id = ${accountId} AND s.id = m.id
          WHERE m.account_id = ${accountId} AND NOT m.simulation AND s.submitted_at IS NULL AND s.done_at IS NULL
            AND m.destination = ANY(ARRAY(
              SELECT f FROM unnest(${textArray(addresses)}::text[]) AS a, unnest(number_forms(a) || a) AS f))`,
    );
    return rows.map(({ id }) => id);
  });

/** Withdraws those of the messages that still wait. Returns those that a carrier is taking right now. */
async function withdraw(pool: Pool, accountId: number, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const waiting = await many<{ id: string }>(
    pool,
    sql`SELECT i AS id FROM unnest(${textArray(ids)}::uuid[]) AS i
        LEFT JOIN message_state s ON s.account_id = ${accountId} AND s.id = i
        WHERE s.submitted_at IS NULL AND s.done_at IS NULL`,
  );
  if (waiting.length === 0) return [];
  const keys = waiting.map(({ id }) => ({ accountId, id }));
  const withdrawn = await transaction(pool, (tx) => cancelMessages(tx, keys, { by: 'an erasure', now: new Date() }));
  return waiting.flatMap(({ id }) => (withdrawn.has(id) ? [] : [id]));
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

const updateCounts = (db: Db, { accountId, erasureId, counts }: Key & { counts: Counts }): Promise<number> =>
  exec(
    db,
    sql`UPDATE erasure SET counts = ${JSON.stringify(counts)}::jsonb WHERE account_id = ${accountId} AND id = ${erasureId}`,
  );

const moveToDone = (db: Db, { accountId, erasureId }: Key): Promise<RowOf<typeof ERASURE> | undefined> =>
  maybeOne(
    db,
    sql`UPDATE erasure SET done_at = now() WHERE account_id = ${accountId} AND id = ${erasureId} RETURNING ${ERASURE}`,
  );
