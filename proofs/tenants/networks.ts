import type { Pool } from 'pg';
import { loadConfig } from '../../src/core/config.ts';
import { loadSecretKey } from '../../src/core/secrets.ts';
import { findConnection } from '../../src/routing/connection-store.ts';
import { createConnection } from '../../src/routing/connections.ts';
import { startSandboxGraph } from '../../src/sandbox/graph-server.ts';
import { assignSender } from '../../src/templates/assignments.ts';
import type { Stage } from '../lib/stage.ts';

/** The part of a party that is needed here. */
type Owner = { readonly accountId: number; readonly token: string };

const SECRETS = { accessToken: 'proof-token', appSecret: 'proof-secret' };

/**
 * Opens a WhatsApp network on which each party has a connection and a number, both named by its token. Each also has an
 * RCS agent there, through which nothing is sent.
 */
export async function openNetworks(stage: Stage, parties: readonly Owner[]): Promise<AsyncDisposable> {
  const numbers = parties.map((party) => ({ id: numberOf(party), displayNumber: '', verifiedName: party.token }));
  const graph = await startSandboxGraph({ ...SECRETS, numbers, ledger: 'counts' });
  const key = await loadSecretKey(loadConfig(stage.environment));
  for (const party of parties) {
    const { token, accountId: ownerId } = party;
    const settings = { baseUrl: graph.baseUrl, wabaId: graph.wabaId, phoneNumberIds: [numberOf(party)] };
    const secret = { ...SECRETS, verifyToken: token };
    const { id: connectionId } = await createConnection(stage.pool, key, {
      name: token,
      kind: 'whatsapp',
      settings,
      secret,
      sandbox: false,
    });
    const named = { connectionId, ownerId, name: token };
    await assignSender(stage.pool, { ...named, channel: 'WHATSAPP', identity: numberOf(party) });
    await assignSender(stage.pool, { ...named, channel: 'RCS', identity: agentOf(party) });
  }
  return { [Symbol.asyncDispose]: graph.close };
}

/** Returns a number of ten digits, like the ids that responses are searched for. */
export const numberOf = ({ accountId }: Pick<Owner, 'accountId'>): string =>
  `8${String(accountId).slice(-9).padStart(9, '0')}`;
/** Returns the RCS agent of a party. */
export const agentOf = ({ token }: Pick<Owner, 'token'>): string => `${token}-agent`;

/** Returns the id of a party's connection. */
export async function connectionOf({ pool, token }: { pool: Pool; token: string }): Promise<number> {
  const connection = await findConnection(pool, { name: token });
  if (!connection) throw new Error(`no connection ${token}`);
  return connection.id;
}
