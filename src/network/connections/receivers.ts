import type { Pool } from 'pg';
import type { Log } from '../../platform/lib/log.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import type { ReadCallback } from './kinds/callback.ts';
import { type ConnectionKind, kindOf } from './kinds/kinds.ts';
import { secretOf } from './save.ts';
import { type Connection, listConnections } from './sql.ts';

/** A connection whose carrier posts callbacks to us. */
export type Receiver = { readonly connectionId: number; readonly read: ReadCallback };

export type Receivers = {
  /** Returns the receiver of a callback URL; undefined when there is no such connection. */
  find(kind: ConnectionKind, name: string): Receiver | undefined;
  /** Reads the connections again. */
  reload(): Promise<void>;
};

type Known = Receiver & { readonly version: number; readonly kind: ConnectionKind };

/**
 * Keeps the connections whose carriers post callbacks in memory, with their secrets, so that a signature is checked
 * without a query. Paused connections are included, because their receipts still arrive.
 */
export function createReceivers(deps: {
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly log: Log;
}): Receivers {
  let byName: ReadonlyMap<string, Known> = new Map();

  function know(connection: Connection): Known[] {
    const { id: connectionId, name, kind, version, settings } = connection;
    const known = byName.get(name);
    if (known?.connectionId === connectionId && known.version === version) return [known];
    try {
      const { callbacks } = kindOf(connection);
      if (!callbacks) return [];
      const read = callbacks.createReader(settings, secretOf(connection, deps.secretKey));
      return [{ connectionId, kind, version, read }];
    } catch (err) {
      deps.log.error({ err, connection: name }, 'callbacks of the connection cannot be read');
      return [];
    }
  }

  return {
    find(kind, name) {
      const known = byName.get(name);
      return known?.kind === kind ? known : undefined;
    },
    async reload() {
      const connections = await listConnections(deps.pool);
      byName = new Map(connections.flatMap((c) => know(c).map((known) => [c.name, known] as const)));
    },
  };
}
