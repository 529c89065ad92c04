import type { Pool } from 'pg';
import type { GraphClient, GraphResult } from '../../carriers/whatsapp/client.ts';
import { kindOf } from '../connections/kinds/kinds.ts';
import { secretOf } from '../connections/save.ts';
import { type Connection, listConnections } from '../connections/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';

export type NetworkDeps = { readonly pool: Pool; readonly secretKey: SecretKey };

/** The key of a template: its channel and its id. */
export type TemplateKey = { readonly channel: 'RCS' | 'WHATSAPP'; readonly id: string };

/**
 * Called inside the transaction that changes or removes templates, with the keys of all of them. The application passes
 * it in, so that campaigns which send one of them can react.
 */
export type OnTemplatesChange = (tx: Db, templates: readonly TemplateKey[]) => Promise<void>;

/** The dependencies of functions that change templates. */
export type ChangeDeps = NetworkDeps & { readonly onTemplatesChange: OnTemplatesChange };

/** A client waits for the response, with a transaction open. */
const TIMEOUT_SECONDS = 10;

/** Calls the template API of a connection. */
export async function callNetwork<T>(
  { secretKey }: Pick<NetworkDeps, 'secretKey'>,
  connection: Connection,
  call: (client: GraphClient) => Promise<GraphResult<T>>,
): Promise<GraphResult<T>> {
  const client = kindOf(connection).createTemplateClient?.(
    connection.settings,
    secretOf(connection, secretKey),
    TIMEOUT_SECONDS,
  );
  if (!client) throw new Error(`connection ${connection.name} has no templates`);
  try {
    return await call(client);
  } finally {
    await client.close();
  }
}

/**
 * Runs `callNetwork` for a request of a client. Errors: 400 with the network's own text when it rejects the request,
 * 502 when it cannot be reached.
 */
export async function callNetworkOrThrow<T>(
  deps: NetworkDeps,
  connectionId: number,
  call: (client: GraphClient) => Promise<GraphResult<T>>,
): Promise<T> {
  const connection = (await listConnections(deps.pool)).find(({ id }) => id === connectionId);
  if (!connection) throw new AppError('unavailable', { message: 'The connection of this template is gone' });
  const result = await callNetwork(deps, connection, call);
  if (result.ok) return result.value;
  const { retry, status, code, text } = result.fault;
  const refused = !retry && status !== null && status >= 400 && status < 500 && status !== 401;
  if (refused) throw invalidFields([{ field: 'template', message: `the network rejects it: ${text} (${code})` }]);
  throw new AppError('bad_gateway', { message: `WhatsApp cannot be reached now: ${text}` });
}
