import { findConnection } from '../connections/sql.ts';
import { AppError } from '../../platform/errors.ts';
import type { NetworkDeps } from './network.ts';
import { syncConnection, type Synced } from './sync.ts';

/** `syncConnection`, of a connection that somebody names. Errors: 404 when there is none of this name to WhatsApp. */
export async function syncNamed(deps: NetworkDeps, name: string): Promise<Synced> {
  const connection = await findConnection(deps.pool, { name });
  if (connection?.kind !== 'whatsapp')
    throw new AppError('not_found', { message: `There is no connection ${name} to WhatsApp` });
  return syncConnection(deps, connection);
}
