import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { parseJson, getText } from '../../carriers/json.ts';
import { type SandboxGraph, startSandboxGraph } from '../graph/server.ts';
import { type SandboxRbm, startSandboxRbm } from '../rbm/server.ts';
import { createConnection, secretOf, updateConnection } from '../../network/connections/save.ts';
import { callbackUrlOf } from '../../network/connections/add.ts';
import type { ConnectionKind } from '../../network/connections/kinds/kinds.ts';
import { type Connection, findConnection, notifyRoutingChange } from '../../network/connections/sql.ts';
import { transaction } from '../../platform/db/transaction.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { assignSender } from '../../network/assignments/assign.ts';
import { deleteSendersOf } from '../../network/senders/sql.ts';
import {
  deleteCommonTemplates,
  insertTemplate,
  listTemplatesOfConnection,
  type NewTemplate,
  type Template,
} from '../../network/templates/sql.ts';
import { listOwed } from './owed.ts';
import { RCS_TEMPLATES, WHATSAPP_TEMPLATES } from './templates.ts';

/** The name of the sandbox's WhatsApp connection. */
export const WHATSAPP_NAME = 'sandbox-whatsapp';
/** The name of the sandbox's RCS connection. */
export const RCS_NAME = 'sandbox-rcs';
const AGENT = 'sandbox';
const CONCURRENCY = 200;

/** The sandbox's WhatsApp and RCS networks. */
export type SandboxNetworks = {
  readonly graph: SandboxGraph;
  readonly rbm: SandboxRbm;
  /**
   * Directs the callbacks to a program that listens at this origin, and continues with the messages that an earlier run
   * left open.
   */
  startCallbacks(origin: string): Promise<void>;
  close(): Promise<void>;
};

type Deps = { readonly pool: Pool; readonly key: SecretKey };

/**
 * Starts the sandbox's WhatsApp and RCS networks on free loopback ports, and creates or updates the connections
 * `sandbox-whatsapp` and `sandbox-rcs`, with a number, an agent and approved templates for every account. They are
 * networks like any other, reached over HTTP, and their callbacks are signed with secrets that only this database has.
 */
export async function startSandboxNetworks(pool: Pool, key: SecretKey): Promise<SandboxNetworks> {
  const deps = { pool, key };
  const { graph, verifyToken, resumeOwed: resumeWhatsapp } = await startWhatsapp(deps);
  const { rbm, resumeOwed: resumeRcs } = await startRcs(deps).catch(async (error: unknown) => {
    await graph.close();
    throw error;
  });
  await notifyRoutingChange(pool);
  return {
    graph,
    rbm,
    async startCallbacks(origin) {
      const urlOf = (kind: ConnectionKind, name: string): string => callbackUrlOf(origin, { kind, name }) ?? '';
      await graph.verifyCallback(urlOf('whatsapp', WHATSAPP_NAME), verifyToken);
      await rbm.setCallback(urlOf('rcs', RCS_NAME));
      // Not earlier: without a callback URL, events are lost.
      resumeWhatsapp();
      resumeRcs();
    },
    async close() {
      await Promise.all([graph.close(), rbm.close()]);
    },
  };
}

type Whatsapp = { readonly graph: SandboxGraph; readonly verifyToken: string; readonly resumeOwed: () => void };

async function startWhatsapp(deps: Deps): Promise<Whatsapp> {
  const { pool } = deps;
  const known = await findConnection(pool, { name: WHATSAPP_NAME });
  const [accessToken, appSecret, verifyToken] = [newSecret(), newSecret(), newSecret()];
  const kept = known ? await listTemplatesOfConnection(pool, { connectionId: known.id }) : [];
  const templates = [...WHATSAPP_TEMPLATES, ...kept.map(toDraft)];
  const graph = await startSandboxGraph({ accessToken, appSecret, templates, ledger: 'counts' });
  const numbers = graph.numbers.map(({ id }) => id);
  const connectionId = await connect(deps, {
    known,
    name: WHATSAPP_NAME,
    kind: 'whatsapp',
    settings: {
      baseUrl: graph.baseUrl,
      wabaId: graph.wabaId,
      appId: graph.appId,
      phoneNumberIds: numbers,
      tps: 0,
      concurrency: CONCURRENCY,
      mediaHosts: ['127.0.0.1'],
    },
    secret: { accessToken, appSecret, verifyToken },
  });
  for (const { id: identity, verifiedName: name } of graph.numbers)
    await assignSender(pool, { channel: 'WHATSAPP', identity, connectionId, ownerId: null, name });
  await replaceTemplates(
    pool,
    WHATSAPP_TEMPLATES.map(({ id, name, language, category, components: content, variables }) => ({
      channel: 'WHATSAPP',
      id,
      name,
      language,
      category,
      content,
      variables,
      connectionId,
      ...COMMON,
    })),
  );
  const owed = (await listOwed(pool, connectionId)).map(({ carrierId: id, sender, destination }) => ({
    id,
    phoneNumberId: sender,
    to: destination.replace('+', ''),
    opaque: null,
  }));
  return { graph, verifyToken, resumeOwed: () => graph.resume(owed) };
}

/** The fields of an approved template for every account. */
const COMMON = { ownerId: null, status: 'APPROVED', headerLink: null, named: false } as const;

async function startRcs(deps: Deps): Promise<{ rbm: SandboxRbm; resumeOwed: () => void }> {
  const { pool, key } = deps;
  const known = await findConnection(pool, { name: RCS_NAME });
  // Generating an RSA key takes up to a second of CPU time.
  const privateKey = known && getText(parseJson(secretOf(known, key)), 'privateKey');
  const rbm = await startSandboxRbm({
    agents: [AGENT],
    clientToken: newSecret(),
    ledger: 'counts',
    ...(privateKey ? { privateKey } : {}),
  });
  const connectionId = await connect(deps, {
    known,
    name: RCS_NAME,
    kind: 'rcs',
    settings: { baseUrl: rbm.baseUrl, concurrency: CONCURRENCY },
    secret: rbm.secrets,
  });
  const owed = (await listOwed(pool, connectionId)).map(({ carrierId: messageId, sender: agentId, destination }) => ({
    messageId,
    agentId,
    destination,
  }));
  const name = 'Heliograph sandbox';
  await assignSender(pool, { channel: 'RCS', identity: AGENT, connectionId, ownerId: null, name });
  await replaceTemplates(
    pool,
    RCS_TEMPLATES.map((template) => ({
      ...template,
      ...COMMON,
      channel: 'RCS',
      connectionId: null,
      language: '',
      category: '',
      named: true,
    })),
  );
  return { rbm, resumeOwed: () => rbm.resume(owed) };
}

const replaceTemplates = (pool: Pool, templates: readonly NewTemplate[]): Promise<void> =>
  transaction(pool, async (tx) => {
    await deleteCommonTemplates(tx, { ids: templates.map(({ id }) => id) });
    for (const template of templates) await insertTemplate(tx, template);
  });

const newSecret = (): string => randomBytes(24).toString('hex');

type Link = {
  readonly known: Connection | undefined;
  readonly name: string;
  readonly kind: ConnectionKind;
  readonly settings: object;
  readonly secret: Readonly<Record<string, unknown>>;
};

async function connect({ pool, key }: Deps, { known, ...link }: Link): Promise<number> {
  if (!known) return (await createConnection(pool, key, { ...link, sandbox: true })).id;
  await updateConnection(pool, key, known, link);
  return known.id;
}

/** Converts a stored template to the network's format. */
const toDraft = ({ id, name, language, category, status, named, content }: Template): object => ({
  id,
  name,
  language,
  category,
  status,
  components: content,
  parameter_format: named ? 'NAMED' : 'POSITIONAL',
});

/** Removes the sandbox's number, agent and templates: messages sent with them would wait forever. */
export async function retireSandboxNetworks(pool: Pool): Promise<void> {
  for (const name of [WHATSAPP_NAME, RCS_NAME]) {
    const known = await findConnection(pool, { name });
    if (!known?.sandbox) continue;
    await deleteSendersOf(pool, { connectionId: known.id });
    await deleteCommonTemplates(pool, { ids: [...WHATSAPP_TEMPLATES, ...RCS_TEMPLATES].map(({ id }) => id) });
    await notifyRoutingChange(pool);
  }
}
