import { LRUCache } from 'lru-cache';
import type { Actor, Plan } from '../core/actor.ts';
import { createAddressList } from '../core/address.ts';
import { type Channel, outsidePlanMessage, type Purpose } from '../core/channels.ts';
import { bigint, insertRows, json, text } from '../core/db/columns.ts';
import {
  as,
  columns,
  countRows,
  type Db,
  exec,
  many,
  one,
  onePlan,
  plainArray,
  type RowOf,
  type Sql,
  sql,
} from '../core/db/query.ts';
import { AccountAway, AppError, invalidFields } from '../core/errors.ts';
import { type Rate, type RateLimiter, rateHeaders } from '../core/limits.ts';
import type { NumberChecks } from '../core/phone.ts';
import { type Author, recordAudit } from './audit.ts';

/**
 * Throws 503 when the account is moving to another cell, and 403 when it is suspended or the address is not on its
 * allow-list. Call it only after the credentials have proved right, so that an unauthenticated client learns nothing.
 */
export function refuseAtGate({ accountId, accountStatus, allowList, away }: AccountGate, address: string): void {
  if (away) throw new AccountAway([accountId]);
  if (accountStatus === 'suspended') throw new AppError('forbidden', { message: 'The account is suspended' });
  if (allowList !== null && !addressListOf(allowList)(address))
    throw new AppError('forbidden', { message: "This address is not on the account's allow-list" });
}

/** Throws 403 when the plan of the caller's account does not include all these channels. */
export function refuseOutsidePlan({ channels }: Pick<Actor, 'channels'>, wanted: readonly Channel[]): void {
  const message = outsidePlanMessage(channels, wanted);
  if (message !== undefined) throw new AppError('forbidden', { message });
}

/** Parsed allow-lists by their text. The text is read with each request; only the parsing is saved. */
const lists = new LRUCache<string, ReturnType<typeof createAddressList>>({ max: 1000 });

function addressListOf(blocks: readonly string[]): (address: string) => boolean {
  const text = blocks.join();
  const list = lists.get(text) ?? createAddressList(blocks);
  lists.set(text, list);
  return list;
}

/** The limits of each plan; null means no limit. */
export const RATE_PER_PLAN: Readonly<Record<Plan, Rate | null>> = {
  production: { perMinute: 1000, perSecond: 50 },
  trial: { perMinute: 100, perSecond: 10 },
  unlimited: null,
};
/** Default of `perSecond` where an operator set `perMinute` alone: a twentieth of it, as in the production plan. */
const BURST_DIVISOR = 20;

type RateGate = Pick<AccountGate, 'plan' | 'ratePerMinute' | 'ratePerSecond'>;

/** Returns the request limit of each key and each user of the account; null means no limit. */
export function rateOf({ plan, ratePerMinute, ratePerSecond }: RateGate): Rate | null {
  if (ratePerMinute === null) return RATE_PER_PLAN[plan];
  if (ratePerMinute === 0) return null;
  return { perMinute: ratePerMinute, perSecond: ratePerSecond ?? Math.ceil(ratePerMinute / BURST_DIVISOR) };
}

/** The request limit of each session, whatever the plan: a page makes several requests to display itself. */
export const SESSION_RATE: Rate = { perMinute: 1200, perSecond: 60 };

/**
 * Number of keys of an account that can work at their limit: each key has its own limit, and all keys together this
 * many times as much.
 */
export const KEYS_AT_LIMIT = 2;
/** The same for sessions: each is a person in a browser, who rarely makes a tenth of the requests allowed. */
export const SESSIONS_AT_LIMIT: Readonly<Record<Plan, number>> = { production: 10, trial: 2, unlimited: Infinity };

/** The limit of one caller, or of several callers together. Its name is ASCII without spaces. */
export type Limit = { readonly name: string; readonly rate: Rate | null };

/** Returns the limit of all keys and passwords of an account together, so that more of them make no more requests. */
export const limitOfKeys = ({ accountId, ...gate }: RateGate & Pick<AccountGate, 'accountId'>): Limit => ({
  name: `A${accountId}`,
  rate: times(rateOf(gate), KEYS_AT_LIMIT),
});

/** Returns the limit of all sessions of an account together; none if its keys have none. */
export const limitOfSessions = ({ accountId, ...gate }: RateGate & Pick<AccountGate, 'accountId'>): Limit => ({
  name: `S${accountId}`,
  rate: rateOf(gate) === null ? null : times(SESSION_RATE, SESSIONS_AT_LIMIT[gate.plan]),
});

const times = (rate: Rate | null, factor: number): Rate | null =>
  rate === null ? null : { perMinute: rate.perMinute * factor, perSecond: rate.perSecond * factor };

/** The headers of a caller without a limit: a number that every client can read and none takes as a reason to wait. */
const NO_LIMIT = rateHeaders({ limit: 2 ** 31 - 1, remaining: 2 ** 31 - 1, resetSeconds: 0 });

/**
 * Counts one request of a caller, also within the limit that it shares with the rest of its account, and returns the
 * rate-limit headers of the caller. Throws 429 with the headers of the limit that is reached, and then counts nothing.
 */
export function countRequest(limiter: RateLimiter, own: Limit, shared?: Limit): Readonly<Record<string, string>> {
  const headers = take(limiter, own);
  try {
    if (shared) take(limiter, shared, 'All credentials of this account together have made too many requests');
  } catch (error) {
    if (own.rate !== null) limiter.refund(own.name);
    throw error;
  }
  return headers;
}

function take(limiter: RateLimiter, { name, rate }: Limit, message?: string): Readonly<Record<string, string>> {
  if (rate === null) return NO_LIMIT;
  const verdict = limiter.take(name, rate);
  const headers = rateHeaders(verdict);
  if (verdict.allowed) return headers;
  const { retryAfterSeconds } = verdict;
  throw new AppError('rate_limited', { retryAfterSeconds, headers, ...(message !== undefined && { message }) });
}

/**
 * Finds the account that an operator refers to by id or name; an id takes precedence over a name that looks like one.
 * Errors: 404 when there is none, 409 when several accounts have the name.
 */
export async function findAccount(db: Db, { reference }: { reference: string }): Promise<AccountRow> {
  const id = /^[1-9]\d{0,14}$/.test(reference) ? Number(reference) : null;
  const accounts = await listAccountsByName(db, { name: reference, id });
  const account = accounts.find((candidate) => candidate.id === id) ?? accounts[0];
  if (!account) throw new AppError('not_found', { message: `There is no account ${reference}` });
  if (accounts.length > 1 && account.id !== id) {
    const ids = accounts.map((candidate) => candidate.id).join(', ');
    throw new AppError('conflict', { message: `Several accounts have the name ${reference}: use an id (${ids})` });
  }
  return account;
}

/**
 * Suspends or resumes the author's account, effective with its next request and on open binds. Does nothing if it has the status already.
 * Call it in a transaction.
 */
export async function changeStatus(
  tx: Db,
  author: Author,
  { from, to }: { from: AccountStatus; to: AccountStatus },
): Promise<void> {
  const { accountId } = author;
  if ((await moveAccountStatus(tx, { accountId, from, to })) === 0) return;
  const action = to === 'suspended' ? 'account.suspend' : 'account.resume';
  await recordAudit(tx, author, { action, subject: `account:${accountId}` });
  await notifyAccountChange(tx, { accountId });
}

/**
 * Renames the author's account; names need not be unique. Call it in a transaction. Errors: 400 as `parseAccountName`.
 */
export async function renameAccount(tx: Db, author: Author, input: { readonly name: string }): Promise<void> {
  const { accountId } = author;
  const name = parseAccountName(input.name);
  if ((await updateAccountName(tx, { accountId, name })) === 0) return;
  await recordAudit(tx, author, { action: 'account.rename', subject: `account:${accountId}`, detail: { name } });
}

/**
 * Returns the name of an account without surrounding blanks. Errors: 400 when it is empty or has over 200 characters.
 */
export function parseAccountName(text: string): string {
  const name = text.trim();
  if (name === '' || name.length > 200 || name.includes('\0'))
    throw invalidFields([{ field: 'name', message: 'must have 1 to 200 characters' }]);
  return name;
}

const AWAY = columns({
  accountId: as<number>('a.id'),
  /** `held`: on its way to the other cell; `moved`: served there. */
  state: as<'held' | 'moved'>('a.away'),
  cell: as<number>('a.cell'),
  /** Number of moves of the account. */
  moves: as<number>('a.moves'),
});
/** An account that is not served in this database. */
export type Away = RowOf<typeof AWAY>;

export const listAway = (db: Db): Promise<Away[]> =>
  many(db, sql`SELECT ${AWAY} FROM account a WHERE a.away IS NOT NULL ORDER BY a.id`);

/** A condition: this account is served in this database, so that its rows change here, and agree with each other. */
export const isServedHere = (accountId: Sql): Sql =>
  sql`NOT EXISTS (SELECT FROM account v WHERE v.id = ${accountId} AND v.away IS NOT NULL)`;

/**
 * Takes what carriers sent for accounts that are not served here out of `rows`, and keeps it in the caller's transaction
 * until a worker passes it on to the cell of its account (`cells/pass-on.ts`). Returns the other rows.
 *
 * @param contentOf JSON, as the receiver of this kind reads it
 */
export async function keepForOthers<T extends { readonly accountId: number; readonly connectionId: number }>(
  tx: Db,
  kind: 'receipt' | 'inbound',
  rows: readonly T[],
  contentOf: (row: T) => string,
): Promise<readonly T[]> {
  if (rows.length === 0) return rows;
  const ids = [...new Set(rows.map(({ accountId }) => accountId))];
  const away = new Set(
    (
      await many<{ id: number }>(
        tx,
        onePlan(sql`SELECT id FROM account WHERE away IS NOT NULL
          AND id = ANY((SELECT ${plainArray(ids)}::bigint[])::bigint[])`),
      )
    ).map(({ id }) => id),
  );
  if (away.size === 0) return rows;
  const others = rows.filter(({ accountId }) => away.has(accountId));
  const kept = others.map((row) => ({
    accountId: row.accountId,
    connectionId: row.connectionId,
    kind,
    content: contentOf(row),
  }));
  await exec(tx, insertRows('passed_on', kept, { accountId: bigint, connectionId: bigint, kind: text, content: json }));
  return rows.filter(({ accountId }) => !away.has(accountId));
}

export type AccountStatus = 'active' | 'suspended';

/** NOTIFY channel for processes that keep a connection of an account open; the payload is the account id. */
export const ACCOUNTS_CHANNEL = 'heliograph_accounts';

/**
 * Notifies listeners, when the transaction commits, that the permissions of an account or of its SMPP credentials have
 * changed.
 */
export const notifyAccountChange = (db: Db, { accountId }: { accountId: number }): Promise<number> =>
  exec(db, sql`SELECT pg_notify(${ACCOUNTS_CHANNEL}, ${String(accountId)})`);

const ACCOUNT = columns({
  id: as<number>('id'),
  name: as<string>('name'),
  status: as<AccountStatus>('status'),
  plan: as<Plan>('plan'),
  createdAt: as<Date>('created_at'),
  /** State of a move to another cell: under way (`held`) or `moved`; null: the account is served here. */
  away: as<'held' | 'moved' | null>('away'),
  cell: as<number | null>('cell'),
});
export type AccountRow = RowOf<typeof ACCOUNT>;

/** The columns of `account a` that authentication reads together with the credentials. */
export const GATE = columns({
  accountId: as<number>('a.id'),
  accountStatus: as<AccountStatus>('a.status'),
  /** True if the account is in another cell, or on its way. */
  away: as<boolean>('a.away IS NOT NULL'),
  plan: as<Plan>('a.plan'),
  channels: as<number>('a.channels'),
  /** Null: the limit of the plan. */
  ratePerMinute: as<number | null>('a.rate_per_minute'),
  ratePerSecond: as<number | null>('a.rate_per_second'),
  /** Canonical blocks; null if every address is allowed. */
  allowList: as<string[] | null>('CASE WHEN a.ip_allow_list_enforced THEN a.ip_allow_list::text[] END'),
  hasOptOuts: as<boolean>('a.has_opt_outs'),
  defaultCountry: as<string | null>('a.default_country'),
  numberChecks: as<NumberChecks>('a.number_checks'),
  defaultPurpose: as<Purpose | null>('a.default_purpose'),
  respectsCalendar: as<boolean>('a.respects_calendar'),
  weeklyCap: as<number | null>('a.weekly_cap'),
});
/** Permissions of an account's callers. */
export type AccountGate = RowOf<typeof GATE>;

export const insertAccount = (db: Db, input: { name: string; plan: Plan }): Promise<AccountRow> =>
  one(
    db,
    sql`INSERT INTO account (name, plan) VALUES (${input.name}, ${input.plan})
      RETURNING ${ACCOUNT}`,
  );

/** Lists all accounts, oldest first. */
export const listAccounts = (db: Db): Promise<AccountRow[]> =>
  many(db, sql`SELECT ${ACCOUNT} FROM account ORDER BY id`);

/** Lists the account with this id and those with this name; names are not unique. */
const listAccountsByName = (db: Db, input: { name: string; id: number | null }): Promise<AccountRow[]> =>
  many(db, sql`SELECT ${ACCOUNT} FROM account WHERE id = ${input.id} OR name = ${input.name} ORDER BY id`);

export const countAccounts = (db: Db): Promise<number> => countRows(db, sql`FROM account`);

/** Moves an account from one status to another. Returns 1, or 0 if it does not exist or has another status. */
export const moveAccountStatus = (
  db: Db,
  input: { accountId: number; from: AccountStatus; to: AccountStatus },
): Promise<number> =>
  exec(db, sql`UPDATE account SET status = ${input.to} WHERE id = ${input.accountId} AND status = ${input.from}`);

/** Renames an account. Returns 1, or 0 if it does not exist or has this name already. */
const updateAccountName = (db: Db, { accountId, name }: { accountId: number; name: string }): Promise<number> =>
  exec(db, sql`UPDATE account SET name = ${name} WHERE id = ${accountId} AND name <> ${name}`);

/** Changes the plan of an account. Returns 1, or 0 if it does not exist or is on this plan already. */
export const updateAccountPlan = (db: Db, { accountId, plan }: { accountId: number; plan: Plan }): Promise<number> =>
  exec(db, sql`UPDATE account SET plan = ${plan} WHERE id = ${accountId} AND plan <> ${plan}`);

/**
 * Takes an advisory lock until the transaction ends, so that only one process at a time can make the first account. The
 * number is arbitrary.
 */
export const lockFirstAccount = (db: Db): Promise<number> => exec(db, sql`SELECT pg_advisory_xact_lock(7305246119)`);

/**
 * Sets the request limit of each key, effective with the next request: null is the plan's limit, 0 per minute is no
 * limit.
 */
export const updateAccountRate = (
  db: Db,
  input: { accountId: number; perMinute: number | null; perSecond: number | null },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE account SET rate_per_minute = ${input.perMinute}, rate_per_second = ${input.perSecond}
      WHERE id = ${input.accountId}`,
  );

/**
 * Records that these accounts have opt-outs; it is written once in the life of an account. Pass ids in ascending order.
 */
export const updateHasOptOuts = (db: Db, { accountIds }: { accountIds: readonly number[] }): Promise<number> =>
  exec(
    db,
    sql`UPDATE account SET has_opt_outs = true
      WHERE id = ANY (${accountIds}::bigint[]) AND NOT has_opt_outs`,
  );
