import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Pool } from 'pg';
import { hashOfKey } from '../accounts/api-keys.ts';
import { hashOfToken } from '../accounts/sessions.ts';
import { endsWithin, startLoop } from '../core/background.ts';
import { cellOfId, migrate } from '../core/db/migrate.ts';
import { createPool, serversOf, waitForPrimary } from '../core/db/pool.ts';
import { type Db, exec, join, many, raw, sql } from '../core/db/query.ts';
import { explainDatabaseError } from '../core/db/startup-error.ts';
import { groupCommit } from '../core/db/transaction.ts';
import type { Log } from '../core/log.ts';
import { readCredentials } from '../core/secrets.ts';
import { CONSENT_PAGES, readConsentPath } from '../messages/opt-out-links.ts';

const DIRECTORY_MIGRATIONS = fileURLToPath(new URL('../../db/directory', import.meta.url));

/**
 * Opens the separate database of the directory and applies its pending migrations (db/directory). The caller ends the
 * pool. Throws a StartupError that names DIRECTORY_URL if the operator has to correct something.
 */
export async function openDirectory(connectionString: string, log: Log): Promise<Pool> {
  const pool = createPool(connectionString, { max: 4, applicationName: 'heliograph directory', log });
  try {
    await waitForPrimary(connectionString);
    await migrate(pool, { dir: DIRECTORY_MIGRATIONS, log, hasTenants: false });
    return pool;
  } catch (error) {
    await pool.end();
    throw explainDatabaseError(error, 'DIRECTORY_URL');
  }
}

/** Sends the requests of an account that has moved `moves` times to a cell, unless it has moved on since. */
export const updateCell = (db: Db, row: { accountId: number; cell: number; moves: number }): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO account_cell AS c (account_id, cell, moves) VALUES (${row.accountId}, ${row.cell}, ${row.moves})
        ON CONFLICT (account_id) DO UPDATE SET cell = excluded.cell, moves = excluded.moves WHERE c.moves < excluded.moves`,
  );

export async function listMovedAccounts(db: Db): Promise<Map<number, number>> {
  const rows = await many<{ id: number; cell: number }>(db, sql`SELECT account_id AS id, cell FROM account_cell`);
  return new Map(rows.map(({ id, cell }) => [id, cell]));
}

/** Interval of loading: until then, the former cell of an account returns 503, so that its clients retry. */
const RELOAD_MS = 500;

/** Loads the accounts that have moved, and follows their changes. */
export async function followPlacements(pool: Pool, log: Log) {
  let placed = await listMovedAccounts(pool);
  const reload = async (): Promise<number> => {
    placed = await listMovedAccounts(pool);
    return RELOAD_MS;
  };
  const { stop } = startLoop('moved accounts', reload, log);
  return { find: (accountId: number): number => placed.get(accountId) ?? cellOfId(accountId), close: stop };
}

/**
 * Destination of a request: the number of a cell; `any`: any cell, which denies a request that needs credentials;
 * `later`: not known at the moment.
 */
type Destination = number | 'any' | 'later';

/** Number of cached callers, of about 100 bytes each. The oldest ones are forgotten first, and looked up again. */
const MAX_KNOWN = 500_000;
/** A user may be deleted and created again in another account; keys and tokens never change accounts. */
const NAMES_MS = 60_000;

/**
 * Creates the directory. At first it knows no callers: a new caller is looked up in all cells and its account, which
 * never changes, is then cached; the cell is not. So nothing has to be published to the directory, a key works from its
 * first use on, and unknown clients, who are never cached, displace no one.
 */
export function createDirectory(cells: Pick<Cells, 'find' | 'has'>, placements: { find(accountId: number): number }) {
  const known = new Map<string, { readonly accountId: number; readonly until: number }>();

  async function accountOf(caller: Caller): Promise<number | 'unknown' | 'unsure'> {
    const key = `${caller.kind} ${caller.id}`;
    const before = known.get(key);
    if (before && performance.now() < before.until) return before.accountId;
    const answer = await cells.find(caller);
    if (answer === 'unsure') return before?.accountId ?? 'unsure';
    known.delete(key);
    if (answer === 'unknown') return 'unknown';
    known.set(key, { accountId: answer, until: caller.kind === 'hash' ? Infinity : performance.now() + NAMES_MS });
    if (known.size > MAX_KNOWN) known.delete(known.keys().next().value ?? '');
    return answer;
  }

  return {
    /** Number of cached callers. */
    knownCount: () => known.size,
    /** Finds the destination of a request by the caller that it names. */
    async find(named: Named): Promise<Destination> {
      if (named.kind === 'unknown') return 'any';
      const account = named.kind === 'account' ? named.accountId : await accountOf(named);
      if (account === 'unknown') return 'any';
      if (account === 'unsure') return 'later';
      const cell = placements.find(account);
      // An id that does not exist, in a link that is not signed.
      return cells.has(cell) ? cell : 'any';
    },
  };
}
export type Directory = ReturnType<typeof createDirectory>;

/** A caller whose account a cell has to look up: the hash of a key or a token, in hex, or a name. */
export type Caller = { readonly kind: 'hash' | 'user' | 'company'; readonly id: string };

/** The party that a request names: a caller, an account itself, or no one known. */
type Named = Caller | { readonly kind: 'account'; readonly accountId: number } | { readonly kind: 'unknown' };

/**
 * A request to the cells, as the proxy describes it: path and query, and the parsed body of routes with `needsBody`
 * only.
 */
type FrontRequest = Readonly<{ uri: string; protocol: string; headers: IncomingHttpHeaders; body: unknown }>;

const UNKNOWN: Named = { kind: 'unknown' };
/** Routes whose callers identify themselves in the body. */
const WITH_BODY =
  /^\/api\/partner-gateway\/v1\/(session(\/(second-factor|passkey-options|passkey|single-sign-on))?|password-reset(\/confirm)?|invitations\/(open|accept))$/;

/** Returns true if the body names the caller. */
export const needsBody = (uri: string): boolean => WITH_BODY.test(pathOf(uri));

/**
 * Reads the caller that a request names: in its body (signing in, links in emails), by a signed link, which names the
 * account, by the `state` with which another site sends a browser back, or by its credentials. Nothing is verified:
 * that is up to the cell, and a client that names another account is only denied by another cell.
 */
export function readCaller(request: FrontRequest): Named {
  const { uri, body } = request;
  return (
    (body === undefined ? undefined : namedByBody(body)) ??
    namedByPath(uri) ??
    (uri.includes('?') ? namedByQuery(uri) : undefined) ??
    namedByCredentials(request)
  );
}

function namedByBody(body: unknown): Named | undefined {
  const token = textIn(body, 'pendingToken') ?? textIn(body, 'token');
  const [username, company] = [textIn(body, 'username'), textIn(body, 'company')];
  if (token !== undefined) return namedByHash(hashOfToken(token));
  if (username !== undefined) return { kind: 'user', id: username };
  if (company === undefined) return undefined;
  const name = company.trim().toLowerCase();
  return { kind: 'company', id: name.slice(name.lastIndexOf('@') + 1) };
}

/** The pages behind links in messages name their account. */
function namedByPath(uri: string): Named | undefined {
  if (!uri.startsWith(CONSENT_PAGES)) return undefined;
  const read = readConsentPath(pathOf(uri).slice(CONSENT_PAGES.length));
  return read === null ? undefined : { kind: 'account', accountId: read.accountId };
}

function namedByQuery(uri: string): Named | undefined {
  const path = pathOf(uri);
  const query = new URLSearchParams(uri.slice(path.length));
  const [account, state] = [query.get('account'), query.get('state')];
  if (query.has('signature') && account !== null && /^[1-9]\d{0,14}$/.test(account))
    return { kind: 'account', accountId: Number(account) };
  // Signing in and connecting a profile: both keep the state as its hash.
  if (path.startsWith('/oauth/') && state !== null) return namedByHash(createHash('sha256').update(state).digest());
  return undefined;
}

function namedByCredentials({ protocol, headers }: FrontRequest): Named {
  const shown = readCredentials({ protocol, headers });
  if (shown.kind === 'key') return namedByHash(hashOfKey(shown.value));
  if (shown.kind === 'session') return namedByHash(hashOfToken(shown.token));
  return shown.kind === 'basic' && isName(shown.username) ? { kind: 'user', id: shown.username } : UNKNOWN;
}

const namedByHash = (hash: Buffer | undefined): Named =>
  hash === undefined ? UNKNOWN : { kind: 'hash', id: hash.toString('hex') };

/** Returns a short text of a body; a NUL would fail the query, and with it all others in the batch. */
function textIn(body: unknown, field: string): string | undefined {
  const value: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, field) : undefined;
  return typeof value === 'string' && isName(value) ? value : undefined;
}

const isName = (text: string): boolean => text !== '' && text.length <= 300 && !text.includes('\0');

const pathOf = (uri: string): string => uri.split('?', 1)[0] ?? uri;

/**
 * Result of asking the cells about a caller: the id of an account; `unknown`: all cells responded, and none knows the
 * caller; `unsure`: not all cells responded, and none that did knows the caller.
 */
type Answer = number | 'unknown' | 'unsure';

/**
 * Time for which callers are collected before a cell is asked: this bounds the cost of unauthenticated clients, however
 * many there are.
 */
const COLLECT_MS = 10;
/** A cell that has not responded by then is silent. */
const ANSWER_MS = 5000;
/** Interval at which a silent cell is asked again. */
const AGAIN_MS = 500;

/**
 * Creates the readers of all cells, by the URLs of their databases. Connections are opened when needed.
 *
 * @param answerMs how long a cell may take to respond
 */
export function createCells(databases: ReadonlyMap<number, string>, log: Log, answerMs = ANSWER_MS) {
  const readers = [...databases].map(([cell, url]) => createReader({ cell, url, answerMs }, log));
  return {
    /** Asks all cells in parallel. Callers of the same moment share one statement for each cell and kind. */
    async find(caller: Caller): Promise<Answer> {
      const asked = readers.map((reader) => reader.ask(caller));
      // The first cell that knows a key or a token is the only one. Several may have users of the same name.
      const first = caller.kind === 'hash' ? await firstNumber(asked) : undefined;
      if (first !== undefined) return first;
      const answers = await Promise.all(asked);
      return answers.find((answer) => typeof answer === 'number') ?? (answers.includes(null) ? 'unsure' : 'unknown');
    },
    has: (cell: number): boolean => databases.has(cell),
    /** Cells that did not respond the last time they were asked. */
    silent: (): number[] => readers.filter((reader) => reader.isSilent()).map(({ cell }) => cell),
    close: async (): Promise<void> => void (await Promise.all(readers.map((reader) => reader.close()))),
  };
}
export type Cells = ReturnType<typeof createCells>;

const firstNumber = (asked: readonly Promise<number | undefined | null>[]): Promise<number | undefined> =>
  Promise.any(asked.map((one) => one.then((answer) => answer ?? Promise.reject(new Error('not here'))))).catch(
    () => undefined,
  );

/** Asks one cell. `ask` resolves with null when the cell does not respond, and immediately when it recently did not. */
function createReader({ cell, url, answerMs }: { cell: number; url: string; answerMs: number }, log: Log) {
  const pool = createPool(url, { max: 2, applicationName: 'heliograph directory', log });
  let isSilent = false;
  let againAt = 0;

  function note(silent: boolean, err?: unknown): void {
    if (silent !== isSilent)
      log[silent ? 'error' : 'info']({ cell, err }, silent ? 'a cell does not respond' : 'a cell responds again');
    isSilent = silent;
    againAt = silent ? performance.now() + AGAIN_MS : 0;
  }

  async function flush(callers: readonly Caller[]): Promise<(number | undefined | null)[]> {
    await delay(COLLECT_MS);
    if (performance.now() < againAt) return callers.map(() => null);
    const found = new Map<string, number>();
    const ask = async (): Promise<void> => {
      await serversOf(url).primary();
      for (const [kind, those] of Map.groupBy(callers, (caller) => caller.kind))
        for (const { id, accountId } of await listOwners(pool, kind, [...new Set(those.map((caller) => caller.id))]))
          found.set(`${kind} ${id}`, accountId);
    };
    try {
      if (!(await endsWithin(ask(), answerMs))) throw new Error(`no response within ${answerMs} ms`);
      note(false);
      return callers.map(({ kind, id }) => found.get(`${kind} ${id}`));
    } catch (error) {
      note(true, error);
      return callers.map(() => null);
    }
  }

  return { cell, isSilent: () => isSilent, ask: groupCommit({ flush }), close: () => pool.end() };
}

/** Storage of callers of each kind. Whether a key or a token is still valid is up to the cell. */
const STORED: Readonly<Record<Caller['kind'], Readonly<Record<string, string>>>> = {
  hash: {
    api_key_value: 'key_hash',
    user_session: 'token_hash',
    pending_sign_in: 'token_hash',
    invitation: 'token_hash',
    password_reset: 'hash',
    single_sign_on_state: 'hash',
    social_state: 'hash',
  },
  user: { app_user: 'username' },
  company: { single_sign_on: 'short_name', single_sign_on_domain: 'domain' },
};

/** Lists the accounts of callers in one cell: of hashes in hex, of usernames, or of short names and email domains. */
function listOwners(
  db: Db,
  kind: Caller['kind'],
  ids: readonly string[],
): Promise<{ id: string; accountId: number }[]> {
  const [shown, type] = kind === 'hash' ? [`encode(id, 'hex')`, raw('bytea[]')] : ['id', raw('text[]')];
  const wanted = kind === 'hash' ? sql`array_agg(decode(a, 'hex'))` : sql`array_agg(a)`;
  const lists = Object.entries(STORED[kind]).map(
    ([table, column]) =>
      sql`SELECT ${raw(shown.replace('id', column))} AS id, account_id AS "accountId" FROM ${raw(table)}
        WHERE ${raw(column)} = ANY ((SELECT ids FROM asked)::${type})`,
  );
  return many(
    db,
    sql`WITH asked AS MATERIALIZED (SELECT ${wanted} AS ids FROM unnest(${ids}::text[]) AS a) ${join(lists, ' UNION ALL ')}`,
  );
}
