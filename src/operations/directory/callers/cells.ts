import { setTimeout as delay } from 'node:timers/promises';
import { createPool } from '../../../platform/db/pool.ts';
import type { Db } from '../../../platform/db/query.ts';
import { serversOf } from '../../../platform/db/servers.ts';
import type { Log } from '../../../platform/lib/log.ts';
import type { Caller } from './caller.ts';
import { listOwnersOfCompanies, listOwnersOfHashes, listOwnersOfUsers, type Owner } from './sql.ts';

/** What the cells say about a caller. */
export type Answer =
  | { readonly kind: 'account'; readonly accountId: number }
  /** All cells answered, and none knows the caller. */
  | { readonly kind: 'nobody' }
  /** None that answered knows the caller, and not all did. */
  | { readonly kind: 'unsure' };

export type Cells = {
  /** Asks all cells at once. Callers of the same moment share one statement for each cell and kind. */
  find(caller: Caller): Promise<Answer>;
  has(cell: number): boolean;
  /** The cells that did not answer the last time they were asked. */
  silent(): readonly number[];
  close(): Promise<void>;
};

/**
 * How long callers are collected before the cells are asked: that many statements a second, however many strangers there
 * are, is all that unknown callers can cost.
 */
const COLLECT_MS = 10;
/** How many callers may wait for an answer of the cells: those who are collected, and those whom the cells are asked about. */
const MAX_WAITING = 20_000;
const MAX_BATCH = 1000;
/** A cell that has not answered by then is silent. */
const ANSWER_MS = 5000;
/** How often a silent cell is asked again. */
const AGAIN_MS = 500;

const LISTS: Readonly<Record<Caller['kind'], (db: Db, input: { ids: readonly string[] }) => Promise<Owner[]>>> = {
  hash: listOwnersOfHashes,
  user: listOwnersOfUsers,
  company: listOwnersOfCompanies,
};

type Waiting = { readonly caller: Caller; resolve(answer: Answer): void };

/**
 * Creates the readers of all cells, by the URLs of their databases. Connections are opened when needed.
 *
 * @param answerMs how long a cell may take to answer
 */
export function createCells(databases: ReadonlyMap<number, string>, log: Log, answerMs = ANSWER_MS): Cells {
  const readers = [...databases].map(([cell, url]) => createReader({ cell, url, answerMs }, log));
  let waiting: Waiting[] = [];
  let unanswered = 0;
  let isCollecting = false;

  async function askAll(): Promise<void> {
    isCollecting = true;
    while (waiting.length > 0) {
      await delay(COLLECT_MS);
      const batch = waiting.slice(0, MAX_BATCH);
      waiting = waiting.slice(MAX_BATCH);
      for (const [kind, those] of Map.groupBy(batch, ({ caller }) => caller.kind)) ask(kind, those);
    }
    isCollecting = false;
  }

  function ask(kind: Caller['kind'], those: readonly Waiting[]): void {
    const ids = [...new Set(those.map(({ caller }) => caller.id))];
    const lists = readers.map((reader) => reader.list(kind, ids));
    // The first cell that knows a key or a token is the only one. Several may have users of the same name.
    if (kind === 'hash') for (const list of lists) void list.then((owners) => settle(those, owners ?? new Map()));
    // Until then these hold memory, also those who were answered before.
    void Promise.all(lists).then((all) => {
      unanswered -= those.length;
      for (const owners of all) settle(those, owners ?? new Map());
      for (const { resolve } of those) resolve({ kind: all.includes(null) ? 'unsure' : 'nobody' });
    });
  }

  return {
    find(caller) {
      if (unanswered >= MAX_WAITING) return Promise.resolve({ kind: 'unsure' });
      const { promise, resolve } = Promise.withResolvers<Answer>();
      unanswered++;
      waiting.push({ caller, resolve });
      if (!isCollecting) void askAll();
      return promise;
    },
    has: (cell) => databases.has(cell),
    silent: () => readers.filter((reader) => reader.isSilent()).map(({ cell }) => cell),
    close: async () => void (await Promise.all(readers.map((reader) => reader.close()))),
  };
}

/** Answers those whom a cell knows; of several answers the first one counts. */
function settle(those: readonly Waiting[], owners: ReadonlyMap<string, number>): void {
  if (owners.size === 0) return;
  for (const { caller, resolve } of those) {
    const accountId = owners.get(caller.id);
    if (accountId !== undefined) resolve({ kind: 'account', accountId });
  }
}

/** Asks one cell. `list` resolves with null when the cell does not answer, and at once when it recently did not. */
function createReader({ cell, url, answerMs }: { cell: number; url: string; answerMs: number }, log: Log) {
  const pool = createPool(url, { max: 2, applicationName: 'heliograph directory', log });
  const servers = serversOf(url);
  let isSilent = false;
  let againAt = 0;

  function note(silent: boolean, err?: unknown): void {
    if (silent !== isSilent)
      log[silent ? 'error' : 'info']({ cell, err }, silent ? 'a cell does not answer' : 'a cell answers again');
    isSilent = silent;
    againAt = silent ? performance.now() + AGAIN_MS : 0;
  }

  return {
    cell,
    isSilent: () => isSilent,
    async list(kind: Caller['kind'], ids: readonly string[]): Promise<ReadonlyMap<string, number> | null> {
      if (performance.now() < againAt) return null;
      const timer = new AbortController();
      const late = delay(answerMs, undefined, { signal: timer.signal }).then(() => {
        throw new Error(`no answer within ${answerMs} ms`);
      });
      try {
        const asked = servers.primary().then(() => LISTS[kind](pool, { ids }));
        const owners = await Promise.race([asked, late]);
        note(false);
        return new Map(owners.map(({ id, accountId }) => [id, accountId]));
      } catch (error) {
        note(true, error);
        return null;
      } finally {
        timer.abort();
        late.catch(() => undefined);
      }
    },
    close: () => pool.end(),
  };
}
