import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { hashOfKey } from '../identity/api-keys/key.ts';
import { hashOfToken } from '../identity/sessions/token.ts';
import { groupCommit } from '../platform/db/group-commit.ts';
import { createPool } from '../platform/db/pool.ts';
import { type Db, join, many, raw, sql } from '../platform/db/query.ts';
import { serversOf } from '../platform/db/servers.ts';
import { endsWithin } from '../platform/lib/background/ends-within.ts';
import { readCredentials } from '../platform/lib/credentials.ts';
import type { Log } from '../platform/lib/log.ts';

/** A caller whose account a cell has to look up: the hash of a key or a token, in hex, or a name. */
export type Caller = { readonly kind: 'hash' | 'user' | 'company'; readonly id: string };

/** The party that a request names: a caller, an account itself, or no one known. */
export type Named = Caller | { readonly kind: 'account'; readonly accountId: number } | { readonly kind: 'nobody' };

/**
 * A request to the cells, as the proxy describes it: path and query, and the parsed body of routes with `needsBody`
 * only.
 */
type FrontRequest = Readonly<{ uri: string; protocol: string; headers: IncomingHttpHeaders; body: unknown }>;

const NOBODY: Named = { kind: 'nobody' };
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
  return shown.kind === 'basic' && isName(shown.username) ? { kind: 'user', id: shown.username } : NOBODY;
}

const namedByHash = (hash: Buffer | undefined): Named =>
  hash === undefined ? NOBODY : { kind: 'hash', id: hash.toString('hex') };

/** Returns a short text of a body; a NUL would fail the query, and with it all others in the batch. */
function textIn(body: unknown, field: string): string | undefined {
  const value: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, field) : undefined;
  return typeof value === 'string' && isName(value) ? value : undefined;
}

const isName = (text: string): boolean => text !== '' && text.length <= 300 && !text.includes('\0');

const pathOf = (uri: string): string => uri.split('?', 1)[0] ?? uri;

/**
 * Result of asking the cells about a caller: the id of an account; `nobody`: all cells responded, and none knows the
 * caller; `unsure`: not all cells responded, and none that did knows the caller.
 */
export type Answer = number | 'nobody' | 'unsure';

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
      return answers.find((answer) => typeof answer === 'number') ?? (answers.includes(null) ? 'unsure' : 'nobody');
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
      log[silent ? 'error' : 'info']({ cell, err }, silent ? 'a cell does not answer' : 'a cell answers again');
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
      if (!(await endsWithin(ask(), answerMs))) throw new Error(`no answer within ${answerMs} ms`);
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
