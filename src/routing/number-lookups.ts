import type { Pool } from 'pg';
import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../accounts/audit.ts';
import {
  createNumberLookup,
  type Found,
  type LookupSettings,
  type NumberLookup,
  parseLookupSettings,
} from '../channels/number-lookup.ts';
import { faultsIn } from '../channels/settings.ts';
import type { Db } from '../core/db/query.ts';
import { groupCommit } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { createFairQueue, type FairQueue } from '../core/fair-queue.ts';
import type { Log } from '../core/log.ts';
import { toMicros } from '../core/money.ts';
import { type Guard, guardedLookup } from '../core/outbound.ts';
import { open, type SecretKey, seal } from '../core/secrets.ts';
import { HOUR_MS, SECOND_MS } from '../core/time.ts';
import { notifyRoutingChange } from './connection-store.ts';
import * as db from './number-lookup-store.ts';
import { insertAsked, listUsedUp } from './number-lookup-store.ts';
import type { Router } from './router.ts';

/** Returns the network of a number, in E.164, as MCC and MNC; null if unknown. */
export type NetworkOf = (number: string) => string | null;

export type NetworkFinder = {
  /** Returns true if any number may have to be looked up: otherwise callers can skip the finder. */
  isNeeded(): boolean;
  /**
   * Finds the networks of numbers that an account sends to: those that are known, and with `wait` those that decide
   * which connection a message goes to, if the service responds within its time. The others are looked up in the
   * background, for the next message. No more are looked up than the budgets of the account and the installation allow.
   * Never rejects because of the service.
   */
  find(numbers: readonly string[], options: FindOptions): Promise<NetworkOf>;
};

type FindOptions = {
  readonly accountId: number;
  readonly wait: boolean;
  /** Picks the unknown numbers that are worth a paid look-up; without it, all are. Not called when none is unknown. */
  readonly pickWorthy?: (numbers: readonly string[]) => Promise<readonly string[]>;
};

export const NO_NETWORK: NetworkOf = () => null;

/** Finder that looks nothing up. */
export const NO_NETWORKS: NetworkFinder = { isNeeded: () => false, find: async () => NO_NETWORK };

type OpenService = {
  readonly id: number;
  readonly name: string;
  readonly version: number;
  readonly settings: LookupSettings;
  readonly lookup: NumberLookup;
};

/** A service in use, with the slots of its look-ups, which accounts get in turn. */
type ServiceInUse = OpenService & { readonly slots: FairQueue };

/** Numbers of one account, and of all, that wait for a slot; more are routed without a network. */
const MAX_WAITING = { account: 10_000, all: 100_000 };
/** After this many failures in a row the service is not asked for a while, so that messages do not wait in vain. */
const FAILURES_BEFORE_PAUSE = 5;
const PAUSE_MS = 30 * SECOND_MS;

type FinderDeps = {
  readonly pool: Pool;
  readonly log: Log;
  readonly networkUse: Router['networkUse'];
  /** Opens a stored service; throws when its settings or its secret cannot be read. */
  readonly open: (service: db.LookupService) => OpenService;
  /** Look-ups of all accounts in a day. */
  readonly perDay: number;
  readonly now?: () => number;
};

/**
 * Creates a finder of networks: the results of services are stored in the database with their age, numbers without a
 * network too. Only numbers are looked up whose network changes which connection they go to, and with the setting
 * `margins` those where it changes the cost; no message waits for the latter. A number that several messages wait for
 * is requested once, and of many numbers as many at a time as the service's settings allow, of the accounts in turn.
 */
export function createNetworkFinder({
  pool,
  log,
  networkUse,
  open: openStored,
  perDay,
  now = Date.now,
}: FinderDeps): NetworkFinder & {
  reload(): Promise<void>;
  close(): Promise<void>;
} {
  let service: ServiceInUse | null = null;
  let isNeeded = false;
  let failures = 0;
  let pausedUntil = 0;
  /** The numbers that wait or are looked up, by account. */
  const pending = new Map<number, number>();
  const inProgress = new Map<string, Promise<Found>>();
  const listKnown = groupCommit<string, string | null | undefined>({
    maxItems: 1000,
    async flush(numbers) {
      const rows = await db.listKnown(pool, { numbers });
      const known = new Map(rows.map(({ number, network }) => [number, network]));
      return numbers.map((number) => known.get(number));
    },
  });
  const store = groupCommit<Answered, void>({ maxItems: 1000, inFlight: 1, flush: (found) => storeAll(pool, found) });

  const take = groupCommit<Wanted, number>({ inFlight: 1, flush: (wanted) => takeLookups(pool, perDay, wanted) });

  async function ask(asked: ServiceInUse, number: string, accountId: number): Promise<Found> {
    using _slot = await asked.slots.enter(accountId);
    const found = await asked.lookup.find(number);
    count(asked, found);
    await store({ service: asked, number, found, at: now() });
    return found;
  }

  /** Returns how many more numbers of an account may wait. */
  function roomOf(accountId: number): number {
    if (service === null || now() < pausedUntil) return 0;
    return Math.max(
      0,
      Math.min(MAX_WAITING.account - (pending.get(accountId) ?? 0), MAX_WAITING.all - inProgress.size),
    );
  }

  function count({ id, version, name }: OpenService, found: Found): void {
    // A service that was removed or changed ends its pending look-ups as failed: that is no evidence against its
    // successor.
    if (id !== service?.id || version !== service.version) return;
    // A number that the service does not accept says nothing about the service: an account could choose many of them.
    if (found.kind === 'failed' && found.isOfNumber) return;
    failures = found.kind === 'failed' ? failures + 1 : 0;
    if (found.kind !== 'failed' || failures < FAILURES_BEFORE_PAUSE) return;
    failures = 0;
    pausedUntil = now() + PAUSE_MS;
    log.warn({ connection: name, reason: found.reason }, 'look-ups fail; messages are routed without a network');
  }

  /** Returns the unknown numbers that may be looked up: in progress, or worth it and within the budgets. */
  async function pick(numbers: readonly string[], { accountId, pickWorthy }: FindOptions): Promise<readonly string[]> {
    const joined = numbers.filter((number) => inProgress.has(number));
    const fresh = numbers.filter((number) => !inProgress.has(number)).slice(0, roomOf(accountId));
    const worthy = fresh.length > 0 && pickWorthy ? await pickWorthy(fresh) : fresh;
    const granted = worthy.length > 0 ? await take({ accountId, lookups: worthy.length }) : 0;
    return [...joined, ...worthy.slice(0, granted)];
  }

  /** Looks a number up, or joins the look-up in progress; null when there is no room or the service is paused. */
  function lookUp(number: string, accountId: number): Promise<Found> | null {
    const known = inProgress.get(number);
    if (known) return known;
    if (service === null || roomOf(accountId) === 0) return null;
    pending.set(accountId, (pending.get(accountId) ?? 0) + 1);
    const asked = ask(service, number, accountId)
      .catch((err: unknown): Found => {
        log.error({ err }, 'a look-up could not be stored');
        return { kind: 'failed', reason: 'it could not be stored' };
      })
      .finally(() => {
        inProgress.delete(number);
        const left = (pending.get(accountId) ?? 0) - 1;
        if (left > 0) pending.set(accountId, left);
        else pending.delete(accountId);
      });
    inProgress.set(number, asked);
    return asked;
  }

  return {
    isNeeded: () => isNeeded,
    async find(numbers, options) {
      if (service === null) return NO_NETWORK;
      const { accountId, wait } = options;
      const { waitMs, margins } = service.settings;
      const uses = new Map(
        [...new Set(numbers)].flatMap((number) => {
          const use = networkUse({ accountId, destination: number });
          return use === null || (use === 'cost' && !margins) ? [] : [[number, use] as const];
        }),
      );
      if (uses.size === 0) return NO_NETWORK;
      const wanted = [...uses.keys()];
      const found = await Promise.all(wanted.map(listKnown));
      const networks = new Map(wanted.map((number, i) => [number, found[i]]));
      const missing = wanted.filter((number) => networks.get(number) === undefined);
      const lookUpAll = async (): Promise<unknown> => {
        const picked = await pick(missing, options);
        const asked = picked.flatMap((number) => {
          const answer = lookUp(number, accountId);
          return answer === null || uses.get(number) === 'cost'
            ? []
            : [answer.then((got) => void networks.set(number, got.kind === 'answered' ? got.network : null))];
        });
        return Promise.all(asked);
      };
      if (missing.length > 0) {
        const answered = lookUpAll().catch((err: unknown) =>
          log.error({ err }, 'look-ups could not be counted; messages are routed without a network'),
        );
        if (wait && missing.some((number) => uses.get(number) === 'choice')) await within(waitMs, answered);
      }
      return (number) => networks.get(number) ?? null;
    },
    async reload() {
      const [services, isNamed] = await Promise.all([db.listServices(pool), db.hasNamedNetwork(pool)]);
      const [first] = services;
      if (first?.id !== service?.id || first?.version !== service?.version) {
        const former = service;
        service = first ? opened(first) : null;
        pausedUntil = 0;
        await former?.lookup.close();
      }
      isNeeded = service !== null && isNamed;
    },
    close: async () => service?.lookup.close(),
  };

  function opened(stored: db.LookupService): ServiceInUse | null {
    try {
      const asked = openStored(stored);
      const { concurrency } = asked.settings;
      // One slot is left to others, so that an account with many look-ups does not keep them waiting for its slowest.
      const perAccount = Math.max(1, concurrency - 1);
      return { ...asked, slots: createFairQueue({ size: concurrency, perAccount, maxWaiting: MAX_WAITING.account }) };
    } catch (err) {
      log.error({ err, connection: stored.name }, 'the look-up service cannot be opened');
      return null;
    }
  }
}

type Answered = { readonly service: OpenService; readonly number: string; readonly found: Found; readonly at: number };

async function storeAll(pool: Pool, all: readonly Answered[]): Promise<void[]> {
  const rows = all.flatMap(({ service, number, found, at }): db.NewKnown[] => {
    if (found.kind === 'failed') return [];
    const { maxAgeHours, maxUnknownHours } = service.settings;
    const hours = found.network === null ? maxUnknownHours : maxAgeHours;
    return [{ number, network: found.network, ported: found.ported, validUntil: new Date(at + hours * HOUR_MS) }];
  });
  await db.insertKnown(pool, rows);
  for (const [service, own] of Map.groupBy(all, (each) => each.service)) {
    const answered = own.filter(({ found }) => found.kind === 'answered').length;
    const costMicros = answered * (toMicros(service.settings.price) ?? 0);
    await db.insertLookups(pool, { serviceId: service.id, answered, failed: own.length - answered, costMicros });
  }
  return all.map(() => undefined);
}

/** Waits for work, but no longer than this; the work goes on. */
async function within(waitMs: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, waitMs);
  await Promise.race([promise, work]);
  clearTimeout(timer);
}

/** Number of look-ups that an account requests. */
type Wanted = { readonly accountId: number; readonly lookups: number };

/**
 * Counts look-ups against the budgets of their accounts and of the installation for today, and returns how many each
 * may have. Rejected ones count too, so that the rows show the demand.
 */
async function takeLookups(db: Db, perDay: number, wanted: readonly Wanted[]): Promise<number[]> {
  const sums = new Map<number, number>();
  for (const { accountId, lookups } of wanted) sums.set(accountId, (sums.get(accountId) ?? 0) + lookups);
  const own = await take(
    db,
    [...sums].map(([accountId, asked]) => ({ accountId, asked, allowed: null })),
  );
  const total = own.values().reduce((sum, granted) => sum + granted, 0);
  const all =
    total === 0 ? new Map() : await take(db, [{ accountId: GATEWAY_ACCOUNT_ID, asked: total, allowed: perDay }]);
  let left = all.get(GATEWAY_ACCOUNT_ID) ?? 0;
  return wanted.map(({ accountId, lookups }) => {
    const ownLeft = own.get(accountId) ?? 0;
    const granted = Math.min(lookups, ownLeft, left);
    own.set(accountId, ownLeft - granted);
    left -= granted;
    return granted;
  });
}

type Asked = Parameters<typeof insertAsked>[1][number];

/** Counts the look-ups that accounts request; returns how many of them each may have. */
async function take(db: Db, rows: readonly Asked[]): Promise<Map<number, number>> {
  const now = new Map(rows.map(({ accountId, asked }) => [accountId, asked]));
  return new Map(
    (await insertAsked(db, rows)).map(({ accountId, asked, allowed }) => {
      const wanted = now.get(accountId) ?? 0;
      return [accountId, allowed === null ? wanted : Math.max(0, Math.min(wanted, allowed - (asked - wanted)))];
    }),
  );
}

/** Finds the look-ups of the installation if those of today are used up. */
export const findInstallationUsedUp = async (db: Db) =>
  (await listUsedUp(db)).find(({ accountId }) => accountId === GATEWAY_ACCOUNT_ID);

/** Counts the accounts whose look-ups of today are used up. */
export const countUsedUp = async (db: Db): Promise<number> =>
  (await listUsedUp(db)).filter(({ accountId }) => accountId !== GATEWAY_ACCOUNT_ID).length;

const placeOf = (id: number): string => `lookup_service.secret/${id}`;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/;

type NewService = { readonly name: string; readonly settings: unknown; readonly apiKey: string };

/**
 * Adds a service that knows the networks of numbers; running processes use it immediately. The oldest service is asked.
 * Call it in a transaction. Errors: 400 naming the invalid fields, 409 when the name is taken.
 */
export async function addService(
  tx: Db,
  key: SecretKey,
  { by, name, settings: given, apiKey }: NewService & { readonly by: string },
): Promise<{ id: number }> {
  if (!NAME.test(name))
    throw invalidFields([
      { field: 'name', message: 'must have 1 to 63 letters, digits, dots, hyphens and underscores' },
    ]);
  const settings = parse(given);
  const row = await db.insertService(tx, { name, settings });
  if (!row) throw new AppError('conflict', { message: `A look-up service named ${name} exists` });
  await db.updateServiceSecret(tx, { id: row.id, secret: seal(key, apiKey, placeOf(row.id)) });
  await record(tx, { by, action: 'lookup.add', name });
  return row;
}

function parse(given: unknown): object {
  try {
    return parseLookupSettings(given);
  } catch (error) {
    throw invalidFields(faultsIn(error).map(({ field, message }) => ({ field: `settings.${field}`, message })));
  }
}

/** Removes a service. Its cached results are kept until they expire. Call it in a transaction. Errors: 404. */
export async function removeService(
  tx: Db,
  { name, by }: { readonly name: string; readonly by: string },
): Promise<void> {
  if ((await db.deleteService(tx, { name })) === 0)
    throw new AppError('not_found', { message: `There is no look-up service ${name}` });
  await record(tx, { by, action: 'lookup.remove', name });
}

async function record(tx: Db, { by, action, name }: { by: string; action: string; name: string }): Promise<void> {
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), { action, subject: `lookup:${name}` });
  await notifyRoutingChange(tx);
}

type Outside = { readonly secretKey: SecretKey; readonly guard: Guard };

/**
 * Opens a stored service; it dials only addresses that webhooks may be posted to. Throws when it was sealed with
 * another SECRET_KEY.
 */
export function openService(
  { id, name, version, ...stored }: db.LookupService,
  { secretKey, guard }: Outside,
): OpenService {
  const settings = parseLookupSettings(stored.settings);
  const apiKey = open(secretKey, stored.secret, placeOf(id)).toString();
  const lookup = createNumberLookup(settings, apiKey, { lookup: guardedLookup(guard), isAllowed: guard.isAllowed });
  return { id, name, version, settings, lookup };
}

/** Asks a service for a number once, without storing anything. Errors: 404. */
export async function testService(tx: Db, outside: Outside, asked: { name: string; number: string }): Promise<Found> {
  const stored = (await db.listServices(tx)).find(({ name }) => name === asked.name);
  if (!stored) throw new AppError('not_found', { message: `There is no look-up service ${asked.name}` });
  const { lookup } = openService(stored, outside);
  try {
    return await lookup.find(asked.number);
  } finally {
    await lookup.close();
  }
}
