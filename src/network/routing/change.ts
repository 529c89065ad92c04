import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import { findConnection, notifyRoutingChange } from '../connections/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import type { OnUnknown } from '../dispatch/sql.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { deleteRoute, insertRoute } from './sql.ts';

export type RouteInput = {
  readonly channel: Channel;
  /** Leading digits without the plus; empty for all numbers. */
  readonly prefix: string;
  /** Name of the connection. */
  readonly connection: string;
  /** Lower goes first among equal prefixes. */
  readonly priority: number;
  readonly onUnknown: OnUnknown;
};

/** The largest number that the column holds. */
const MAX_PRIORITY = 2 ** 31 - 1;

/**
 * Routes the numbers with a prefix to a connection, or changes priority and policy of the route that exists; running
 * processes follow at once. Call it in a transaction. Errors: 400 naming the invalid fields, 404 for the connection.
 */
export async function addRoute(
  tx: Db,
  { by, ...input }: RouteInput & { readonly by: string },
): Promise<{ id: number }> {
  const { connection: name, prefix, priority, ...rest } = input;
  const errors = [
    ...(/^\d{0,15}$/.test(prefix) ? [] : [{ field: 'prefix', message: 'must be up to 15 digits' }]),
    ...(Math.abs(priority) <= MAX_PRIORITY && Number.isInteger(priority) ? [] : [BAD_PRIORITY]),
  ];
  if (errors.length > 0) throw invalidFields(errors);
  const connection = await findConnection(tx, { name });
  if (!connection) throw new AppError('not_found', { message: `There is no connection ${name}` });
  const route = await insertRoute(tx, { ...rest, prefix, priority, connectionId: connection.id });
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), {
    action: 'route.add',
    subject: `route:${route.id}`,
    detail: input,
  });
  await notifyRoutingChange(tx);
  return route;
}

const BAD_PRIORITY = { field: 'priority', message: 'must be a whole number' };

/** Removes a route, and records in the audit log what it was. Call it in a transaction. Errors: 404. */
export async function removeRoute(tx: Db, { id, by }: { readonly id: number; readonly by: string }): Promise<void> {
  const detail = Number.isSafeInteger(id) ? await deleteRoute(tx, { id }) : undefined;
  if (!detail) throw new AppError('not_found', { message: 'There is no such route' });
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), {
    action: 'route.remove',
    subject: `route:${id}`,
    detail,
  });
  await notifyRoutingChange(tx);
}
