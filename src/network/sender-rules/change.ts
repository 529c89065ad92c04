import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, type FieldError, invalidFields } from '../../platform/errors.ts';
import { isSmsSender } from '../../platform/lib/sms-sender.ts';
import { notifyRoutingChange } from '../connections/sql.ts';
import { poolNameOf } from './pick-number.ts';
import * as db from './sql.ts';

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

function faultsOfRule({ prefix, alphanumeric, replacement }: Omit<db.SenderRule, 'id'>): FieldError[] {
  const missing = replacement === null && alphanumeric === 'replaced';
  const isSender = replacement === null || poolNameOf(replacement) !== null || isSmsSender(replacement);
  return [
    ...(PREFIX.test(prefix) ? [] : [BAD_PREFIX]),
    ...(missing ? [{ field: 'replacement', message: 'is required where senders are replaced' }] : []),
    ...(isSender ? [] : [{ field: 'replacement', message: 'must be a sender or pool:NAME' }]),
  ];
}

/** Removes a rule: every sender is allowed there again, or the rule of a shorter prefix applies. Errors: 404. */
export async function removeSenderRule(tx: Db, { by, id }: { readonly id: number } & By): Promise<void> {
  const rule = Number.isSafeInteger(id) ? await db.deleteRule(tx, { id }) : undefined;
  if (!rule) throw new AppError('not_found', { message: 'There is no such rule' });
  await record(tx, { by, action: 'sender-rule.remove', subject: `sender-rule:${rule.prefix}`, detail: {} });
}

/** Records that a sender is registered for the numbers with a prefix. Errors: 400 naming the invalid fields. */
export async function addRegistered(tx: Db, { by, ...entry }: db.NewRegistered & By): Promise<db.RegisteredSender> {
  const errors = [
    ...(PREFIX.test(entry.prefix) ? [] : [BAD_PREFIX]),
    ...(isSmsSender(entry.sender) ? [] : [{ field: 'sender', message: 'must be a sender' }]),
  ];
  if (errors.length > 0) throw invalidFields(errors);
  const made = await db.insertRegistered(tx, entry);
  await recordRegistered(tx, { by, action: 'registered-sender.add' }, made);
  return made;
}

/** Removes a sender from the list of registered ones. Errors: 404. */
export async function removeRegistered(tx: Db, { by, id }: { readonly id: number } & By): Promise<void> {
  const gone = Number.isSafeInteger(id) ? await db.deleteRegistered(tx, { id }) : undefined;
  if (!gone) throw new AppError('not_found', { message: 'There is no such sender' });
  await recordRegistered(tx, { by, action: 'registered-sender.remove' }, gone);
}

const recordRegistered = (tx: Db, change: By & { action: string }, { sender, prefix, ownerId }: db.NewRegistered) =>
  record(tx, { ...change, ownerId, subject: `registered-sender:${sender}`, detail: { prefix } });

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
