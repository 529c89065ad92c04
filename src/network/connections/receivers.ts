import type { Pool } from 'pg';
import type { Log } from '../../platform/lib/log.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import type { ReadCallback } from './kinds/callback.ts';
import { kindOf } from './kinds/kinds.ts';
import { secretOf } from './save.ts';
import { type Connection, type ConnectionKind, listConnections } from './sql.ts';

/** A connection whose carrier posts to us. */
export type Receiver = { readonly connectionId: number; readonly read: ReadCallback };

export type Receivers = {
  find(kind: ConnectionKind, name: string): Receiver | undefined;
  reload(): Promise<void>;
};

type Known = Receiver & { readonly version: number; readonly kind: ConnectionKind };

/**
 * The connections whose carriers post to us, in memory with their secrets: a signature is checked without asking the
 * database. Paused ones are among them, since their receipts still come.
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
      const { createReader } = kindOf(connection);
      if (!createReader) return [];
      return [{ connectionId, kind, version, read: createReader(settings, secretOf(connection, deps.secretKey)) }];
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
