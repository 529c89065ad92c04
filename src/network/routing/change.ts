import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import { connectionNamed } from '../connections/find.ts';
import { notifyRoutingChange } from '../connections/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import type { OnUnknown } from '../dispatch/sql.ts';
import { AppError, type FieldError, invalidFields } from '../../platform/errors.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import type { Conditions } from './conditions/conditions.ts';
import { faultOfHours } from './conditions/hours.ts';
import { deleteConditionalRoute, deleteRoute, insertConditionalRoute, insertRoute } from './sql.ts';

export type RouteInput = {
  readonly channel: Channel;
  /** Leading digits without the plus; empty for all numbers. */
  readonly prefix: string;
  /** Name of the connection. */
  readonly connection: string;
  /** Lower goes first among equal prefixes. */
  readonly priority: number;
  readonly onUnknown: OnUnknown;
  /** Its part of the traffic of the routes with the same priority, from 1 to 1,000; null: it does not share. */
  readonly weight?: number | null;
} & Partial<Conditions>;

/** The largest number that the column holds. */
const MAX_PRIORITY = 2 ** 31 - 1;
const MAX_WEIGHT = 1000;

/**
 * Routes the numbers with a prefix to a connection, for all messages or for those that meet the conditions, or changes
 * priority, policy and weight of the route that exists with the same conditions; running processes follow immediately.
 * Call it in a transaction. Errors: 400 naming the invalid fields, 404 for the connection.
 */
export async function addRoute(
  tx: Db,
  { by, ...input }: RouteInput & { readonly by: string },
): Promise<{ id: number }> {
  const {
    connection: name,
    network = null,
    accountId = null,
    sender = null,
    hours = null,
    weight = null,
    ...rest
  } = input;
  const conditions = { network, accountId, sender, hours };
  const errors = [...faultsOf(input), ...faultsOfConditions(conditions)];
  if (errors.length > 0) throw invalidFields(errors);
  const { id: connectionId } = await connectionNamed(tx, name);
  const values = { ...rest, weight, connectionId };
  const isConditional = Object.values(conditions).some((condition) => condition !== null);
  const route = isConditional
    ? await insertConditionalRoute(tx, { ...values, ...conditions })
    : await insertRoute(tx, values);
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), {
    action: 'route.add',
    subject: `route:${route.id}`,
    detail: input,
  });
  await notifyRoutingChange(tx);
  return route;
}

function faultsOf({ prefix, priority, weight = null }: RouteInput): FieldError[] {
  const isPriority = Number.isInteger(priority) && Math.abs(priority) <= MAX_PRIORITY;
  const isWeight = weight === null || (Number.isInteger(weight) && weight >= 1 && weight <= MAX_WEIGHT);
  return [
    ...(/^\d{0,15}$/.test(prefix) ? [] : [{ field: 'prefix', message: 'must be up to 15 digits' }]),
    ...(isPriority ? [] : [{ field: 'priority', message: 'must be a whole number' }]),
    ...(isWeight ? [] : [{ field: 'weight', message: `must be a whole number from 1 to ${MAX_WEIGHT}` }]),
  ];
}

function faultsOfConditions({ network, accountId, sender, hours }: Conditions): FieldError[] {
  const isAccount = accountId === null || (Number.isSafeInteger(accountId) && accountId > 0);
  const isSender = sender === null || /^[^\p{Cc}]{1,20}$/u.test(sender);
  const fault = hours === null ? undefined : faultOfHours(hours);
  return [
    ...(network === null || NETWORK.test(network)
      ? []
      : [{ field: 'network', message: 'must be MCC and MNC: 5 or 6 digits, such as 22201' }]),
    ...(isAccount ? [] : [{ field: 'accountId', message: 'must be the id of an account' }]),
    ...(isSender ? [] : [{ field: 'sender', message: 'must have 1 to 20 characters' }]),
    ...(fault === undefined ? [] : [{ field: 'hours', message: fault }]),
  ];
}

const NETWORK = /^\d{5,6}$/;

/** Removes a route, and records it in the audit log. Call it in a transaction. Errors: 404. */
export async function removeRoute(tx: Db, { id, by }: { readonly id: number; readonly by: string }): Promise<void> {
  const detail = Number.isSafeInteger(id)
    ? ((await deleteRoute(tx, { id })) ?? (await deleteConditionalRoute(tx, { id })))
    : undefined;
  if (!detail) throw new AppError('not_found', { message: 'There is no such route' });
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), {
    action: 'route.remove',
    subject: `route:${id}`,
    detail,
  });
  await notifyRoutingChange(tx);
}
