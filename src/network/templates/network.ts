import type { Pool } from 'pg';
import { createGraphClient, type GraphClient, type GraphResult } from '../../carriers/whatsapp/client.ts';
import { parseWhatsappSecrets, parseWhatsappSettings } from '../../carriers/whatsapp/settings.ts';
import { secretOf } from '../connections/save.ts';
import { type Connection, listConnections } from '../connections/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';

export type NetworkDeps = { readonly pool: Pool; readonly secretKey: SecretKey };

/** A template by its channel and our id. */
export type TemplateKey = { readonly channel: 'RCS' | 'WHATSAPP'; readonly id: string };

/**
 * Called inside the transaction that changes templates or removes them, with all that changed. The composition passes in
 * who has to follow: campaigns that send one of them.
 */
export type OnTemplatesChange = (tx: Db, templates: readonly TemplateKey[]) => Promise<void>;

/** What changes templates: it asks the network, and reports what changed. */
export type ChangeDeps = NetworkDeps & { readonly onTemplatesChange: OnTemplatesChange };

/** A caller waits for the answer, and a transaction with him. */
const TIMEOUT_SECONDS = 10;

/** Asks the business account of a connection something. */
export async function askNetwork<T>(
  { secretKey }: Pick<NetworkDeps, 'secretKey'>,
  connection: Connection,
  ask: (client: GraphClient) => Promise<GraphResult<T>>,
): Promise<GraphResult<T>> {
  const settings = parseWhatsappSettings(connection.settings);
  const secrets = parseWhatsappSecrets(JSON.parse(secretOf(connection, secretKey)));
  const client = createGraphClient({ ...settings, submitTimeoutSeconds: TIMEOUT_SECONDS }, secrets);
  try {
    return await ask(client);
  } finally {
    await client.close();
  }
}

/** The same for a caller. Errors: 400 with the network's words when it refuses, 502 when it cannot be asked. */
export async function askFor<T>(
  deps: NetworkDeps,
  connectionId: number,
  ask: (client: GraphClient) => Promise<GraphResult<T>>,
): Promise<T> {
  const connection = (await listConnections(deps.pool)).find(({ id }) => id === connectionId);
  if (!connection) throw new AppError('unavailable', { message: 'The connection of this template is gone' });
  const result = await askNetwork(deps, connection, ask);
  if (result.ok) return result.value;
  const { retry, status, code, text } = result.fault;
  const refused = !retry && status !== null && status >= 400 && status < 500 && status !== 401;
  if (refused) throw invalidFields([{ field: 'template', message: `the network refuses it: ${text} (${code})` }]);
  throw new AppError('bad_gateway', { message: `WhatsApp cannot be asked now: ${text}` });
}
