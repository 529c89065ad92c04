import { loadConfig } from '../../src/core/config.ts';
import { loadSecretKey } from '../../src/core/secrets.ts';
import { createConnection } from '../../src/routing/connections.ts';
import { type SandboxGraph, type SandboxGraphOptions, startSandboxGraph } from '../../src/sandbox/graph-server.ts';
import { type SandboxRbm, startSandboxRbm } from '../../src/sandbox/rbm-server.ts';
import { assignSender } from '../../src/templates/assignments.ts';
import type { TestProgram } from './program.ts';

/** A WhatsApp network of one test, with the id of the program's connection to it. */
export type TestGraph = { readonly graph: SandboxGraph; readonly connectionId: number; readonly number: string };

/**
 * Starts a sandbox Graph API, connects a program to it and assigns its number to the program's account. The caller
 * closes it.
 */
export async function connectGraph(
  { pool, environment, account }: Pick<TestProgram, 'pool' | 'environment' | 'account'>,
  options: SandboxGraphOptions = {},
): Promise<TestGraph> {
  const graph = await startSandboxGraph(options);
  const key = await loadSecretKey(loadConfig(environment));
  const phoneNumberIds = graph.numbers.map(({ id }) => id);
  const { id: connectionId } = await createConnection(pool, key, {
    name: 'meta',
    kind: 'whatsapp',
    sandbox: false,
    settings: { baseUrl: graph.baseUrl, wabaId: graph.wabaId, appId: graph.appId, phoneNumberIds },
    secret: { accessToken: graph.accessToken, appSecret: graph.appSecret, verifyToken: 'verify-me' },
  });
  const [number = ''] = phoneNumberIds;
  const owned = { connectionId, ownerId: account.accountId, name: 'Acme' };
  await assignSender(pool, { ...owned, channel: 'WHATSAPP', identity: number });
  return { graph, connectionId, number };
}

/** Starts a sandbox RBM API with the agent `acme`, and connects a program to it. The caller closes it. */
export async function connectRbm({
  pool,
  environment,
  account,
}: Pick<TestProgram, 'pool' | 'environment' | 'account'>): Promise<{ rbm: SandboxRbm; connectionId: number }> {
  const rbm = await startSandboxRbm({ agents: ['acme'] });
  const key = await loadSecretKey(loadConfig(environment));
  const { id: connectionId } = await createConnection(pool, key, {
    name: 'google',
    kind: 'rcs',
    sandbox: false,
    settings: { baseUrl: rbm.baseUrl },
    secret: rbm.secrets,
  });
  const owned = { connectionId, ownerId: account.accountId, name: 'Acme' };
  await assignSender(pool, { ...owned, channel: 'RCS', identity: 'acme' });
  return { rbm, connectionId };
}
