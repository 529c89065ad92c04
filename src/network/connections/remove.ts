import { GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { countQueued, deleteAlternate } from '../dispatch/sql.ts';
import { AppError } from '../../platform/errors.ts';
import { unknownConnection } from './find.ts';
import * as db from './sql.ts';

/**
 * Removes a connection; running workers disconnect. Messages that were sent over it keep their states. Call it in a
 * transaction. Errors: 404; 409 naming the steps to take first, while routes lead to it, messages wait for it, or
 * senders or numbers belong to it.
 */
export async function removeConnection(tx: Db, { name, by }: { name: string; by: string }): Promise<void> {
  const connection = await db.findConnection(tx, { name });
  if (!connection) throw unknownConnection(name);
  await refuseWhileInUse(tx, connection);
  await deleteAlternate(tx, { connectionId: connection.id });
  await db.deleteConnection(tx, connection).catch(explainNumbers(name));
  await recordAudit(tx, operatorAuthor(GATEWAY_ACCOUNT_ID, by), {
    action: 'connection.remove',
    subject: `connection:${name}`,
  });
  await db.notifyRoutingChange(tx);
}

async function refuseWhileInUse(tx: Db, { id: connectionId, name }: db.Connection): Promise<void> {
  const { routes, senders } = await db.countUses(tx, { connectionId });
  if (routes > 0)
    throw inUse(
      `${routes} routes lead to connection ${name}: remove them with "route remove" ("route list" shows them)`,
    );
  if (senders > 0)
    throw inUse(
      `${senders} senders belong to connection ${name}: remove them with "sender remove" ("sender list" shows them)`,
    );
  const messages = await countQueued(tx, { connectionId });
  if (messages > 0)
    throw inUse(
      `${messages} messages wait for connection ${name}: let them be sent ("connection resume ${name}"), or pause it, so that they go over the other connections of their route`,
    );
}

const inUse = (message: string): AppError => new AppError('conflict', { message });

const explainNumbers =
  (name: string) =>
  (cause: unknown): never => {
    const isForeignKey = cause instanceof Error && 'code' in cause && cause.code === '23503';
    if (!isForeignKey) throw cause;
    throw inUse(
      `Numbers are assigned to connection ${name}: remove them with "number remove" ("number list" shows them)`,
    );
  };
