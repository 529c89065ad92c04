import type { Channel } from '../core/channels.ts';
import { as, columns, type Db, exec, many, maybeOne, one, plainArray, type RowOf, sql } from '../core/db/query.ts';
import { deleteCodes } from '../messages/codes.ts';

/** The states of a verification; all but PENDING are final. */
export const STATES = ['PENDING', 'APPROVED', 'EXPIRED', 'MAX_CHECKS', 'CANCELED', 'BLOCKED', 'UNDELIVERED'] as const;
export type State = (typeof STATES)[number];

const VERIFICATION = columns({
  accountId: as<number>('v.account_id'),
  id: as<string>('v.id'),
  serviceId: as<string>('v.service_id'),
  /** In E.164, as it was given. */
  number: as<string>('v.number'),
  country: as<string | null>('v.country'),
  status: as<State>('v.status'),
  /** Of the newest send. */
  channel: as<Channel | null>('v.channel'),
  locale: as<string>('v.locale'),
  codeHash: as<Buffer | null>('v.code_hash'),
  codeLength: as<number>('v.code_length'),
  sends: as<number>('v.sends'),
  checks: as<number>('v.checks'),
  address: as<string | null>('v.address'),
  userRef: as<string | null>('v.user_ref'),
  device: as<string | null>('v.device'),
  customerReference: as<string | null>('v.customer_reference'),
  /** True if nothing was sent although it looks like it: it is never approved. */
  hidden: as<boolean>('v.hidden'),
  /** The paused range that it probes. */
  probeOf: as<string | null>('v.probe_of'),
  createdAt: as<Date>('v.created_at'),
  resendAt: as<Date | null>('v.resend_at'),
  expiresAt: as<Date>('v.expires_at'),
  endedAt: as<Date | null>('v.ended_at'),
  /** MCC and MNC, if it was known. */
  network: as<string | null>('v.network'),
});
/** A number that is, or was, being verified for a service. */
export type Verification = RowOf<typeof VERIFICATION>;

type Key = { readonly accountId: number; readonly id: string };
type Open = { readonly accountId: number; readonly serviceId: string; readonly person: string };

/** Finds a verification of an account. */
export const findVerification = (db: Db, { accountId, id }: Key): Promise<Verification | undefined> =>
  maybeOne(db, sql`SELECT ${VERIFICATION} FROM verification v WHERE v.account_id = ${accountId} AND v.id = ${id}`);

/** Finds the open verification of a person for a service. */
export const findOpen = (db: Db, { accountId, serviceId, person }: Open): Promise<Verification | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${VERIFICATION} FROM verification v
        WHERE v.account_id = ${accountId} AND v.service_id = ${serviceId} AND v.person = ${person} AND v.status = 'PENDING'`,
  );

/** Lists the ids of the open verifications of a person, whatever the service. */
export const listOpenIds = async (db: Db, { accountId, person }: Omit<Open, 'serviceId'>): Promise<string[]> =>
  (
    await many<{ id: string }>(
      db,
      sql`SELECT id FROM verification WHERE account_id = ${accountId} AND person = ${person} AND status = 'PENDING'`,
    )
  ).map(({ id }) => id);

/** Locks a verification until the transaction ends. */
export const lockVerification = (tx: Db, { accountId, id }: Key): Promise<Verification | undefined> =>
  maybeOne(
    tx,
    sql`SELECT ${VERIFICATION} FROM verification v WHERE v.account_id = ${accountId} AND v.id = ${id} FOR UPDATE OF v`,
  );

/** Finds how many wrong codes the service of a verification allows; undefined if either is gone. */
export const findMaxChecks = async (db: Db, { accountId, id }: Key): Promise<number | undefined> =>
  (
    await maybeOne<{ most: number }>(
      db,
      sql`SELECT (s.settings->>'maxChecks')::int AS most FROM verification v
          JOIN verify_service s ON s.account_id = v.account_id AND s.id = v.service_id
          WHERE v.account_id = ${accountId} AND v.id = ${id}`,
    )
  )?.most;

const NUMBER = columns({
  sent: as<Date[]>('n.sent'),
  wrong: as<Date[]>('n.wrong'),
  lockedUntil: as<Date | null>('n.locked_until'),
});
/** Use of a number by an account within a day: times of sends and of wrong codes, over all services. */
export type NumberUse = RowOf<typeof NUMBER>;

/** Locks the use of a number until the transaction ends: everything about a number happens in turn. */
export const lockNumber = (tx: Db, { accountId, person }: Omit<Open, 'serviceId'>): Promise<NumberUse> =>
  one(
    tx,
    sql`INSERT INTO verify_number AS n (account_id, person) VALUES (${accountId}, ${person})
        ON CONFLICT (account_id, person) DO UPDATE SET used_at = now() RETURNING ${NUMBER}`,
  );

const LOCKED = columns({
  id: as<string>('u.id'),
  person: as<string>('n.person'),
  sent: as<Date[]>('n.sent'),
  wrong: as<Date[]>('n.wrong'),
  lockedUntil: as<Date | null>('n.locked_until'),
});

/**
 * Locks the use of the number of a verification until the transaction ends; undefined for an unknown one. The same for
 * the open one of a service and person.
 */
export const lockNumberOf = (
  tx: Db,
  { accountId, ...key }: { readonly accountId: number } & ({ readonly id: string } | Omit<Open, 'accountId'>),
): Promise<RowOf<typeof LOCKED> | undefined> => {
  const which =
    'id' in key
      ? sql`v.id = ${key.id}`
      : sql`v.service_id = ${key.serviceId} AND v.person = ${key.person} AND v.status = 'PENDING'`;
  return maybeOne(
    tx,
    sql`SELECT ${LOCKED} FROM (SELECT v.id, v.person FROM verification v WHERE v.account_id = ${accountId} AND ${which}) AS u
        JOIN verify_number n ON n.account_id = ${accountId} AND n.person = u.person FOR UPDATE OF n`,
  );
};

/** Stores the use of a number, which is locked. */
export async function updateNumber(
  tx: Db,
  { accountId, person }: Omit<Open, 'serviceId'>,
  { sent, wrong, lockedUntil }: NumberUse,
): Promise<void> {
  const times = (all: readonly Date[]) => plainArray(all.map((at) => at.toISOString()));
  await exec(
    tx,
    sql`UPDATE verify_number SET sent = ${times(sent)}::timestamptz[], wrong = ${times(wrong)}::timestamptz[],
               locked_until = ${lockedUntil}, used_at = now()
        WHERE account_id = ${accountId} AND person = ${person}`,
  );
}

export type NewVerification = Omit<Verification, 'checks' | 'endedAt' | 'status'> & {
  readonly person: string;
  readonly challenged: boolean;
};

export async function insertVerification(tx: Db, v: NewVerification): Promise<void> {
  await exec(
    tx,
    sql`INSERT INTO verification (account_id, id, service_id, number, person, country, channel, locale, code_hash, code_length,
                                  sends, address, user_ref, device, network, customer_reference, hidden, probe_of, challenged,
                                  created_at, resend_at, expires_at)
        VALUES (${v.accountId}, ${v.id}, ${v.serviceId}, ${v.number}, ${v.person}, ${v.country}, ${v.channel}, ${v.locale},
                ${v.codeHash}, ${v.codeLength}, ${v.sends}, ${v.address}, ${v.userRef}, ${v.device}, ${v.network}, ${v.customerReference},
                ${v.hidden}, ${v.probeOf}, ${v.challenged}, ${v.createdAt}, ${v.resendAt}, ${v.expiresAt})`,
  );
}

/** Records another send of an open verification, whose row is locked. */
export async function updateSend(
  tx: Db,
  v: Pick<Verification, 'accountId' | 'id' | 'channel' | 'sends' | 'resendAt' | 'expiresAt' | 'codeHash'>,
): Promise<void> {
  await exec(
    tx,
    sql`UPDATE verification SET channel = ${v.channel}, sends = ${v.sends}, resend_at = ${v.resendAt},
               expires_at = ${v.expiresAt}, code_hash = ${v.codeHash}
        WHERE account_id = ${v.accountId} AND id = ${v.id} AND status = 'PENDING'`,
  );
}

/** Counts a wrong code for an open verification. */
export async function updateChecks(tx: Db, { accountId, id, checks }: Key & { checks: number }): Promise<void> {
  await exec(tx, sql`UPDATE verification SET checks = ${checks} WHERE account_id = ${accountId} AND id = ${id}`);
}

/**
 * Ends an open verification and deletes its code and the messages that would follow on other channels. Returns false if it
 * had ended.
 */
export async function moveToEnd(
  tx: Db,
  { accountId, id, status, at }: Key & { status: Exclude<State, 'PENDING'>; at: Date },
): Promise<boolean> {
  const [moved] = await Promise.all([
    exec(
      tx,
      sql`UPDATE verification SET status = ${status}, ended_at = ${at}
          WHERE account_id = ${accountId} AND id = ${id} AND status = 'PENDING'`,
    ),
    deleteCodes(tx, accountId, [id]),
  ]);
  return moved === 1;
}

/** Lists the messages of a verification that another channel may follow, as keys. */
export const listMessageIds = async (db: Db, { accountId, id }: Key): Promise<string[]> =>
  (
    await many<{ id: string }>(
      db,
      sql`SELECT message_id AS id FROM verification_message WHERE account_id = ${accountId} AND verification_id = ${id}`,
    )
  ).map((row) => row.id);

/** Claims open verifications past their end, of any account, for a worker. */
export const claimExpired = (tx: Db, now: Date, limit: number): Promise<Verification[]> =>
  many(
    tx,
    sql`SELECT ${VERIFICATION} FROM verification v WHERE v.status = 'PENDING' AND v.expires_at <= ${now}
        ORDER BY v.expires_at LIMIT ${limit} FOR UPDATE OF v SKIP LOCKED`,
  );

/** Records how the person's server judges a verification. */
export const updateFeedback = (db: Db, { accountId, id, outcome }: Key & { outcome: string }): Promise<number> =>
  exec(
    db,
    sql`UPDATE verification SET feedback = ${outcome} WHERE account_id = ${accountId} AND id = ${id} AND feedback IS NULL`,
  );

type Old = { readonly before: Date; readonly limit: number };

/** Deletes old verifications and what leads from their messages to them. Returns how many. */
export const deleteOldVerifications = (db: Db, { before, limit }: Old): Promise<number> =>
  exec(
    db,
    sql`WITH gone AS (
          DELETE FROM verification WHERE (account_id, id) IN (
            SELECT account_id, id FROM verification WHERE created_at < ${before} LIMIT ${limit})
          RETURNING account_id, id),
        links AS (
          DELETE FROM verification_message m USING gone g WHERE m.account_id = g.account_id AND m.verification_id = g.id)
        SELECT FROM gone`,
  );

/** Deletes old decisions of the guard, and what leads from plain messages to them. Returns how many. */
export const deleteOldDecisions = (
  db: Db,
  { beforeId, limit }: { readonly beforeId: string; readonly limit: number },
): Promise<number> =>
  exec(
    db,
    sql`WITH gone AS (
          DELETE FROM verify_decision WHERE (account_id, id) IN (
            SELECT account_id, id FROM verify_decision WHERE id < ${beforeId} LIMIT ${limit})
          RETURNING account_id, id),
        links AS (
          DELETE FROM verification_message m USING gone g WHERE m.account_id = g.account_id AND m.verification_id = g.id)
        SELECT FROM gone`,
  );

/** Deletes what is known about numbers to which no code was sent since `before`. Returns how many. */
export const deleteOldNumbers = (db: Db, { before, limit }: Old): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM verify_number WHERE (account_id, person) IN (
          SELECT account_id, person FROM verify_number WHERE used_at < ${before} LIMIT ${limit})
        AND used_at < ${before}`,
  );
