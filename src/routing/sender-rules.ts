import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../accounts/audit.ts';
import { isSmsSender } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { groupCommit, transaction } from '../core/db/transaction.ts';
import { AppError, type FieldError, invalidFields } from '../core/errors.ts';
import { type PrefixTable, prefixTable } from '../core/phone.ts';
import { notifyRoutingChange } from './connection-store.ts';
import {
  listRegistered,
  type Registrations,
  type RegisteredSender,
  registrationsOf,
  type SenderUse,
} from './registered-senders.ts';
import * as db from './sender-rule-store.ts';
import {
  listPools,
  listRules,
  listSticky,
  listStickyPools,
  lockPool,
  type NumberPool,
  type SenderRule,
  type StickySender,
  updatePoolNotSticky,
} from './sender-rule-store.ts';

type By = { readonly by: string };

const BAD_PREFIX = { field: 'prefix', message: 'must be up to 15 digits' };
const PREFIX = /^\d{0,15}$/;

/**
 * Sets the senders that SMS to numbers with a prefix may have; running processes follow immediately. Call it in a
 * transaction. Errors: 400 naming the invalid fields.
 */
export async function setSenderRule(tx: Db, { by, ...rule }: Omit<db.SenderRule, 'id'> & By): Promise<db.SenderRule> {
  const errors = faultsOfRule(rule);
  if (errors.length > 0) throw invalidFields(errors);
  const made = await db.insertRule(tx, rule);
  const { prefix, ...detail } = rule;
  await record(tx, { by, action: 'sender-rule.set', subject: `sender-rule:${prefix}`, detail });
  return made;
}

function faultsOfRule({ prefix, alphanumeric, replacement, ...pattern }: Omit<db.SenderRule, 'id'>): FieldError[] {
  const missing = replacement === null && alphanumeric === 'replaced';
  const isSender = replacement === null || poolNameOf(replacement) !== null || isSmsSender(replacement);
  const { characters, minLength, maxLength } = pattern;
  const isClass = characters === null || charactersIn(characters) !== null;
  const areInOrder = minLength === null || maxLength === null || minLength <= maxLength;
  return [
    ...(PREFIX.test(prefix) ? [] : [BAD_PREFIX]),
    ...(missing ? [{ field: 'replacement', message: 'is required where senders are replaced' }] : []),
    ...(isSender ? [] : [{ field: 'replacement', message: 'must be a sender or pool:NAME' }]),
    ...(isClass ? [] : [{ field: 'characters', message: 'must be characters and ranges, such as A-Za-z0-9' }]),
    ...(areInOrder ? [] : [{ field: 'maxLength', message: 'must not be less than minLength' }]),
  ];
}

/** Returns the characters of a class such as `A-Za-z0-9 -`, whose last hyphen stands for itself; null if a range is wrong. */
function charactersIn(text: string): ReadonlySet<string> | null {
  const all = new Set<string>();
  for (const [, from, to, single = ''] of text.matchAll(/(.)-(.)|(.)/gs)) {
    const [first, last] = [(from ?? single).charCodeAt(0), (to ?? single).charCodeAt(0)];
    if (first > last || last > MAX_CHARACTER) return null;
    for (let code = first; code <= last; code++) all.add(String.fromCharCode(code));
  }
  return all.size === 0 ? null : all;
}

/** The last character of ASCII: senders have no others. */
const MAX_CHARACTER = 0x7e;

/** Removes a rule: every sender is allowed there again, or the rule of a shorter prefix applies. Errors: 404. */
export async function removeSenderRule(tx: Db, { by, id }: { readonly id: number } & By): Promise<void> {
  const rule = Number.isSafeInteger(id) ? await db.deleteRule(tx, { id }) : undefined;
  if (!rule) throw new AppError('not_found', { message: 'There is no such rule' });
  await record(tx, { by, action: 'sender-rule.remove', subject: `sender-rule:${rule.prefix}`, detail: {} });
}

type NewPool = Pick<db.NumberPool, 'name' | 'ownerId' | 'numbers'>;

const NUMBER = /^\+?\d{3,16}$/;
const BAD_NUMBER = 'must be a number in E.164 form, or a short code';

/** Makes a pool of numbers. Errors: 400 naming the invalid fields, 409 when a pool of that name exists. */
export async function addPool(tx: Db, { by, ...input }: NewPool & By): Promise<{ id: number }> {
  const { name, ownerId } = input;
  const numbers = [...new Set(input.numbers)];
  const errors = [
    ...(poolNameOf(`pool:${name}`) === null
      ? [{ field: 'name', message: 'must have 1 to 20 lower-case letters, digits or hyphens' }]
      : []),
    ...numbers.flatMap((number, n) => (NUMBER.test(number) ? [] : [{ field: `numbers.${n}`, message: BAD_NUMBER }])),
  ];
  if (errors.length > 0) throw invalidFields(errors);
  const made = await db.insertPool(tx, { name, ownerId });
  if (!made) throw new AppError('conflict', { message: `A pool named ${name} already exists` });
  for (const number of numbers) await db.insertPoolNumber(tx, { poolId: made.id, number });
  await record(tx, { by, ownerId, action: 'number-pool.add', subject: `number-pool:${name}`, detail: { numbers } });
  return made;
}

type PoolChange = { readonly id: number; readonly number: string } & By;

/**
 * Adds a number to a pool. Recipients who know another number of the pool keep it. Returns how many of them would have
 * changed. Errors: 400, 404, 409 when the number is in the pool already.
 */
export async function addPoolNumber(tx: Db, { by, id, number }: PoolChange): Promise<{ kept: number }> {
  const pool = await lockedPool(tx, id);
  if (!NUMBER.test(number)) throw invalidFields([{ field: 'number', message: BAD_NUMBER }]);
  if (pool.numbers.includes(number)) throw new AppError('conflict', { message: `${number} is in the pool already` });
  const kept = pool.numbers.length === 0 ? 0 : await db.insertSticky(tx, { pool, added: number });
  if (kept > 0) await db.updatePoolSticky(tx, { id });
  await db.insertPoolNumber(tx, { poolId: id, number });
  await recordPool(tx, { by, action: 'number-pool.add-number' }, pool, { number, kept });
  return { kept };
}

/** Removes a number from a pool; its recipients get another one from now on. Errors: 404. */
export async function removePoolNumber(tx: Db, { by, id, number }: PoolChange): Promise<void> {
  const pool = await lockedPool(tx, id);
  if ((await db.deletePoolNumber(tx, { poolId: id, number })) === 0)
    throw new AppError('not_found', { message: `${number} is not in the pool` });
  await db.deleteSticky(tx, { ...pool, number });
  await recordPool(tx, { by, action: 'number-pool.remove-number' }, pool, { number });
}

/** Removes a pool: messages from it are rejected. Errors: 404. */
export async function removePool(tx: Db, { by, id }: { readonly id: number } & By): Promise<void> {
  const pool = await lockedPool(tx, id);
  await db.deleteSticky(tx, { ...pool, number: null });
  await db.deletePool(tx, { id });
  await recordPool(tx, { by, action: 'number-pool.remove' }, pool, {});
}

async function lockedPool(tx: Db, id: number): Promise<db.NumberPool> {
  const pool = Number.isSafeInteger(id) ? await db.lockPool(tx, { id }) : undefined;
  if (!pool) throw new AppError('not_found', { message: 'There is no such pool' });
  return pool;
}

const recordPool = (tx: Db, change: By & { action: string }, pool: db.NumberPool, detail: object) =>
  record(tx, { ...change, ownerId: pool.ownerId, subject: `number-pool:${pool.name}`, detail });

type Change = By & {
  readonly action: string;
  readonly subject: string;
  readonly ownerId?: number | null;
  readonly detail: object;
};

/** Records a change in the audit log of its account, or of the gateway, and notifies running processes. */
async function record(tx: Db, { by, action, subject, ownerId = null, detail }: Change): Promise<void> {
  const author = operatorAuthor(ownerId ?? GATEWAY_ACCOUNT_ID, by);
  await recordAudit(tx, author, { action, subject, detail: { ...detail } });
  await notifyRoutingChange(tx);
}

/** The sender to use in the country of a recipient, or an error. */
type ChosenSender =
  | { readonly sender: string }
  /** The sender is not allowed there, or the pool does not exist or has no numbers. */
  | { readonly fault: 'sender_not_allowed' | 'no_pool' };

/** The requested sender of a message; '' lets the carrier choose. */
type AskedSender = SenderUse;

/** Returns the number that a recipient keeps in a pool; undefined if the hash decides (`createStickyLookup`). */
export type FindSticky = (pool: string, destination: string) => string | undefined;

export type SenderRules = {
  /**
   * Returns the sender of an SMS: the requested one, the replacement by the rule of the country, or the recipient's
   * number of a pool.
   */
  choose(asked: AskedSender, findSticky: FindSticky): ChosenSender;
  /**
   * Returns the name of the pool whose recipients may keep other numbers, if `choose` would pick from it; else null.
   */
  stickyPoolOf(asked: AskedSender): string | null;
  /** Returns true if there is any such pool. */
  anySticky(): boolean;
  /**
   * Returns the prefix of the rule that lets a chosen sender pass only over the connections where it is registered; null
   * if it may go over any.
   */
  registeredOnlyBy(use: SenderUse): string | null;
  /** Returns true if anything is registered, or a rule requires it; otherwise the functions above find nothing. */
  usesRegistrations(): boolean;
  /** Returns the registration that holds over a connection now, if there is one. */
  registrationOver(use: SenderUse, connectionId: number): RegisteredSender | undefined;
  /** Returns true if a registration of the sender has a rate or a daily cap. */
  isPaced(sender: string): boolean;
};

/**
 * Returns the test of the connections that a message may take by the registrations of its sender; null if it may take
 * any.
 */
export function registeredOver(
  rules: Pick<SenderRules, 'registeredOnlyBy' | 'registrationOver'>,
  use: SenderUse,
): ((connectionId: number) => boolean) | null {
  if (rules.registeredOnlyBy(use) === null) return null;
  return (connectionId) => rules.registrationOver(use, connectionId) !== undefined;
}

/** Finder for recipients without a kept number. */
export const NO_STICKY: FindSticky = () => undefined;

/** Rules that allow every sender everywhere, without pools. */
export const NO_SENDER_RULES: SenderRules = {
  choose: ({ sender }) => (poolNameOf(sender) === null ? { sender } : { fault: 'no_pool' }),
  stickyPoolOf: () => null,
  anySticky: () => false,
  registeredOnlyBy: () => null,
  usesRegistrations: () => false,
  registrationOver: () => undefined,
  isPaced: () => false,
};

type Tables = {
  readonly rules: PrefixTable<Rule>;
  readonly registered: Registrations;
  readonly pools: ReadonlyMap<string, NumberPool>;
  readonly isEmpty: boolean;
  readonly anySticky: boolean;
  readonly usesRegistrations: boolean;
};

const EMPTY: Tables = {
  rules: prefixTable([]),
  registered: registrationsOf([]),
  pools: new Map(),
  isEmpty: true,
  anySticky: false,
  usesRegistrations: false,
};

/** Creates the rules in memory, because they are needed for every SMS; `reload` them after each change. */
export function createSenderRules(pool: Pool): SenderRules & { reload(): Promise<void> } {
  let tables = EMPTY;
  const target = (asked: AskedSender) => targetOf(asked, tables);
  return {
    choose(asked, findSticky) {
      if (tables.isEmpty) return NO_SENDER_RULES.choose(asked, findSticky);
      const found = target(asked);
      if (!('pool' in found)) return found;
      const { name, numbers } = found.pool;
      const kept = found.pool.sticky ? findSticky(name, asked.destination) : undefined;
      const sender = kept ?? pickNumber(numbers, asked.destination);
      return sender === undefined ? { fault: 'no_pool' } : { sender };
    },
    stickyPoolOf(asked) {
      if (tables.isEmpty) return null;
      const found = target(asked);
      return 'pool' in found && found.pool.sticky ? found.pool.name : null;
    },
    anySticky: () => tables.anySticky,
    usesRegistrations: () => tables.usesRegistrations,
    registeredOnlyBy: (use) => ruleRequiringRegistration(use, tables)?.prefix ?? null,
    registrationOver: (use, connectionId) => tables.registered.find(use, connectionId),
    isPaced: (sender) => tables.registered.isPaced(sender),
    async reload() {
      const [rules, registered, pools] = await Promise.all([listRules(pool), listRegistered(pool), listPools(pool)]);
      tables = {
        rules: prefixTable(rules.map((rule) => ({ group: '', prefix: rule.prefix, value: ruleOf(rule) }))),
        registered: registrationsOf(registered),
        pools: new Map(pools.map((each) => [poolKey(each.name, each.ownerId), each])),
        isEmpty: rules.length === 0 && pools.length === 0,
        anySticky: pools.some(({ sticky }) => sticky),
        usesRegistrations: registered.length > 0 || rules.some(({ registeredOnly }) => registeredOnly),
      };
    },
  };
}

const poolKey = (name: string, ownerId: number | null): string => `${name}/${ownerId ?? ''}`;

type Target = ChosenSender | { readonly pool: NumberPool };

/** Applies the rules to a sender, before a pool picks a number. */
function targetOf(asked: AskedSender, tables: Tables): Target {
  const { accountId, destination, sender } = asked;
  const name = poolNameOf(sender);
  if (name !== null) return poolNamed(name, accountId, tables);
  const rule = sender === '' ? undefined : tables.rules.find('', destination);
  if (rule === undefined || passes(asked, rule, tables)) return { sender };
  if (rule.replacement === null) return { fault: 'sender_not_allowed' };
  const replacing = poolNameOf(rule.replacement);
  return replacing === null ? { sender: rule.replacement } : poolNamed(replacing, accountId, tables);
}

/** Finds a pool; the account's own goes before one of all accounts. */
function poolNamed(name: string, accountId: number, { pools }: Tables): Target {
  const pool = pools.get(poolKey(name, accountId)) ?? pools.get(poolKey(name, null));
  return pool ? { pool } : { fault: 'no_pool' };
}

const HAS_LETTERS = /[^+0-9]/;

function isFree({ registeredOnly, alphanumeric, hasForm }: Rule, sender: string): boolean {
  return !registeredOnly && (!HAS_LETTERS.test(sender) || (alphanumeric === 'allowed' && hasForm(sender)));
}

/** A rule with the test of the form that senders with letters must have. */
type Rule = SenderRule & { readonly hasForm: (sender: string) => boolean };

function ruleOf(rule: SenderRule): Rule {
  const allowed = rule.characters === null ? null : charactersIn(rule.characters);
  const words = rule.forbiddenWords.map((word) => word.toLowerCase());
  const { minLength, maxLength } = rule;
  return {
    ...rule,
    hasForm(sender) {
      const isWithin =
        (minLength === null || sender.length >= minLength) && (maxLength === null || sender.length <= maxLength);
      const folded = sender.toLowerCase();
      return (
        isWithin &&
        Array.from(sender).every((c) => allowed?.has(c) ?? true) &&
        !words.some((word) => folded.includes(word))
      );
    },
  };
}

const passes = (asked: AskedSender, rule: Rule, { registered }: Tables): boolean =>
  isFree(rule, asked.sender) || registered.holds(asked);

/**
 * Finds the rule that lets a sender pass only where it is registered. The replacement that a rule names is the
 * operator's decision: it needs a registration only if it has been registered at all.
 */
function ruleRequiringRegistration(use: SenderUse, tables: Tables): Rule | undefined {
  const rule = use.sender === '' ? undefined : tables.rules.find('', use.destination);
  if (rule === undefined || isFree(rule, use.sender)) return undefined;
  return isReplacement(rule, use, tables) && !tables.registered.isListed(use) ? undefined : rule;
}

function isReplacement({ replacement }: SenderRule, { accountId, sender }: SenderUse, tables: Tables): boolean {
  const name = replacement === null ? null : poolNameOf(replacement);
  if (name === null) return replacement === sender;
  const found = poolNamed(name, accountId, tables);
  return 'pool' in found && found.pool.numbers.includes(sender);
}

type Key = Omit<StickySender, 'sender'>;
type Rules = Pick<SenderRules, 'stickyPoolOf'>;

/**
 * Looks up which of these recipients of one account keep the number of a pool that they know, in one statement if any.
 */
export async function findStickySenders(db: Db, rules: Rules, asked: readonly AskedSender[]): Promise<FindSticky> {
  const keys = keysOf(rules, asked);
  return keys.length === 0 ? NO_STICKY : finderIn(keys, byKey(await listSticky(db, keys)));
}

/**
 * Creates a function that looks up which of these recipients of one account keep the number of a pool that they know.
 * Concurrent requests share one statement; messages from no pool, or from one in which no recipient keeps a number,
 * need none.
 */
export function createStickyLookup(db: Db, rules: Rules): (asked: readonly AskedSender[]) => Promise<FindSticky> {
  const find = groupCommit<readonly Key[], ReadonlyMap<string, string>>({
    maxItems: 200,
    async flush(lists) {
      const keys = new Map(lists.flat().map((key) => [keyOf(key), key]));
      const found = byKey(await listSticky(db, [...keys.values()]));
      return lists.map(() => found);
    },
  });
  return async (asked) => {
    const keys = keysOf(rules, asked);
    return keys.length === 0 ? NO_STICKY : finderIn(keys, await find(keys));
  };
}

/**
 * Records which pools have no recipients any more who keep a number, so that messages from them need no look-up;
 * running processes follow immediately. Returns how many there were.
 */
export async function endStickyPools(pool: Pool): Promise<number> {
  let ended = 0;
  // The lock comes first: a number that joins meanwhile may bring new recipients.
  for (const { id } of await listStickyPools(pool))
    ended += await transaction(pool, async (tx) => {
      const locked = await lockPool(tx, { id });
      const changed = locked ? await updatePoolNotSticky(tx, locked) : 0;
      if (changed > 0) await notifyRoutingChange(tx);
      return changed;
    });
  return ended;
}

const keysOf = (rules: Rules, asked: readonly AskedSender[]): Key[] =>
  asked.flatMap((each) => {
    const pool = rules.stickyPoolOf(each);
    return pool === null ? [] : [{ accountId: each.accountId, pool, destination: each.destination }];
  });

const byKey = (rows: readonly StickySender[]): ReadonlyMap<string, string> =>
  new Map(rows.map((row) => [keyOf(row), row.sender]));

function finderIn(keys: readonly Key[], found: ReadonlyMap<string, string>): FindSticky {
  const accountId = keys[0]?.accountId ?? 0;
  return (pool, destination) => found.get(keyOf({ accountId, pool, destination }));
}

const keyOf = ({ accountId, pool, destination }: Key): string => `${accountId}/${pool}/${destination}`;

const POOL = /^pool:([a-z0-9-]{1,20})$/;

/** Returns the name of the number pool in `pool:NAME`; null for a sender that names no pool. */
export const poolNameOf = (sender: string): string | null => POOL.exec(sender)?.[1] ?? null;

/**
 * Picks the number of a pool from which a recipient gets messages: the one whose hash with the recipient is the
 * highest. A number that is added or removed changes the choice only of those recipients whose number it becomes or was
 * (`insertSticky` makes the same choice). Undefined if the pool is empty.
 */
export function pickNumber(numbers: readonly string[], destination: string): string | undefined {
  let best: string | undefined;
  let highest = '';
  for (const number of numbers) {
    // For an even spread, not for secrecy: PostgreSQL has the same function.
    const value = hash('md5', `${destination}/${number}`);
    if (value > highest) [best, highest] = [number, value];
  }
  return best;
}
