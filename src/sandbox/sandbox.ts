import { hkdfSync, randomBytes } from 'node:crypto';
import http, { type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Pool } from 'pg';
import { getMember, getText, parseJson } from '../channels/settings.ts';
import { CHANNELS, type Channel, PLATFORMS, type Platform } from '../core/channels.ts';
import type { Config, SocialApp } from '../core/config.ts';
import type { Db } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { firstIdAt } from '../core/ids.ts';
import type { SecretKey } from '../core/secrets.ts';
import { listOpenSubmits, type OpenSubmit } from '../messages/receipt-store.ts';
import { type Connection, findConnection, notifyRoutingChange } from '../routing/connection-store.ts';
import { callbackUrlOf, createConnection, secretOf, updateConnection } from '../routing/connections.ts';
import type { ConnectionKind } from '../routing/kinds.ts';
import { deleteRoutesOf, insertRoute } from '../routing/routes.ts';
import { deleteSendersOf } from '../routing/senders.ts';
import { deleteSandboxProfiles } from '../social/profiles.ts';
import { assignSender } from '../templates/assignments.ts';
import { type RcsBody, toContentMessage } from '../templates/schema.ts';
import {
  deleteCommonTemplates,
  insertTemplate,
  listTemplatesOfConnection,
  type NewTemplate,
  type Template,
} from '../templates/store.ts';
import { type SandboxGraph, startSandboxGraph } from './graph-server.ts';
import { type SandboxRbm, startSandboxRbm } from './rbm-server.ts';
import { type SandboxSmsc, startSandboxSmsc } from './smsc.ts';
import { type SandboxSocial, startSandboxSocial } from './social-server.ts';

/** The name of the sandbox's WhatsApp connection. */
export const WHATSAPP_NAME = 'sandbox-whatsapp';
export const RCS_NAME = 'sandbox-rcs';
const AGENT = 'sandbox';
const CONCURRENCY = 200;

/** The sandbox's WhatsApp and RCS networks. */
type SandboxNetworks = {
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

/** Older messages get no receipt: carriers keep a message for 48 hours by default. */
const MAX_OWED_AGE_MS = 48 * 3_600_000;
const MAX_OWED = 10_000;

/**
 * Lists the messages for which the sandbox still owes receipts. Real carriers outlive their clients, but the sandbox
 * ended with the program, and so did the receipts that it had scheduled.
 */
const listOwed = (db: Db, connectionId: number): Promise<OpenSubmit[]> =>
  listOpenSubmits(db, { connectionId, firstId: firstIdAt(new Date(Date.now() - MAX_OWED_AGE_MS)), limit: MAX_OWED });

/**
 * Starts a loopback server for the callbacks: HOST may be an address that is not reachable from here, a certificate is
 * for another name than this machine's, and a proxy on this machine (TRUST_PROXY) must state that its clients use
 * HTTPS, which is assumed here for the sandbox. For that reason this server accepts nothing but callbacks, and no claim
 * about who sends them.
 */
export async function startCallbackServer(
  program: RequestListener,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = http.createServer((request, response) => {
    if (!request.url?.startsWith('/api/callbacks/')) return void response.writeHead(404).end();
    delete request.headers['x-forwarded-for'];
    request.headers['x-forwarded-proto'] = 'https';
    program(request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** An inbound message to simulate. */
export type SandboxInbound = {
  readonly channel: Channel;
  /** The sender in E.164 with the plus sign. */
  readonly from: string;
  /** The recipient: any number on SMS; ignored on WhatsApp and RCS, which have only one. */
  readonly to: string;
  readonly text: string;
};

/** Reads the payload of a notification; null when it is invalid. */
export function readSandboxInbound(payload: string): SandboxInbound | null {
  const json = parseJson(payload);
  const channel = CHANNELS.find((one) => one === getMember(json, 'channel'));
  const [from, to, text] = [getText(json, 'from'), getText(json, 'to'), getText(json, 'text')];
  return channel === undefined || from === '' ? null : { channel, from, to, text };
}

/** Sends the message through the sandbox's network of that channel, like any other inbound message. */
export async function injectInbound(
  { smsc, networks }: { readonly smsc: SandboxSmsc; readonly networks: SandboxNetworks },
  { channel, from, to, text }: SandboxInbound,
): Promise<void> {
  if (channel === 'WHATSAPP') await networks.graph.injectInbound({ from, text });
  else if (channel === 'RCS') await networks.rbm.injectUser({ from, text });
  else await smsc.injectMo({ source: from.replace('+', ''), destination: to.replace('+', ''), text });
}

/** The name of the sandbox's SMS connection. */
export const SMSC_NAME = 'sandbox';
const SYSTEM_ID = 'heliograph';
const PASSWORD = 'sandbox';
/** Lower precedence than every route of an operator, whose default is 100. */
const PRIORITY = 1000;
const WINDOW = 500;

/**
 * Starts the sandbox SMSC on a free loopback port, and creates or updates the connection `sandbox` and a route for all
 * SMS to it. It is a carrier like any other: real PDUs over a real socket.
 */
export async function startSmsc(pool: Pool, key: SecretKey): Promise<SandboxSmsc> {
  const smsc = await startSandboxSmsc({
    systemId: SYSTEM_ID,
    password: PASSWORD,
    ledger: 'counts',
    receiptDelayMs: 500,
  });
  const settings = { host: '127.0.0.1', port: smsc.port, systemId: SYSTEM_ID, window: WINDOW, binds: 2 };
  const known = await findConnection(pool, { name: SMSC_NAME });
  const secret = { password: PASSWORD };
  if (known) await updateConnection(pool, key, known, { settings, secret });
  const { id } =
    known ?? (await createConnection(pool, key, { name: SMSC_NAME, kind: 'smpp', settings, secret, sandbox: true }));
  await insertRoute(pool, { channel: 'SMS', prefix: '', connectionId: id, priority: PRIORITY });
  await resumeOwed(smsc, pool, id);
  return smsc;
}

async function resumeOwed(smsc: SandboxSmsc, pool: Pool, connectionId: number): Promise<void> {
  const owed = await listOwed(pool, connectionId);
  smsc.resume(
    owed.map(({ carrierId, sender, destination, submittedAt }) => ({
      systemId: SYSTEM_ID,
      id: carrierId,
      source: sender.replace('+', ''),
      destination: destination.replace('+', ''),
      acceptedAt: submittedAt,
    })),
  );
}

/** Deletes the sandbox's routes: messages over them would wait for a carrier that never starts. */
export async function retireSmsc(pool: Pool): Promise<void> {
  const known = await findConnection(pool, { name: SMSC_NAME });
  if (!known?.sandbox) return;
  await transaction(pool, async (tx) => {
    await deleteRoutesOf(tx, { connectionId: known.id });
    await notifyRoutingChange(tx);
  });
}

/** Below this path, the program itself serves the consent pages: browsers reach no other address of it. */
export const SOCIAL_PAGES_PATH = '/sandbox/social';

export type SandboxSocialNetworks = Pick<SandboxSocial, 'page' | 'url' | 'close'> & {
  /** Our apps at the networks: those of the settings and, for networks without one, those of the sandbox. */
  readonly apps: Config['social'];
};

type SocialDeps = {
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly config: Pick<Config, 'social' | 'publicUrl'>;
};

/**
 * Starts the sandbox's social networks. They stand in for each network without an app in the settings. Profiles that were
 * connected to the sandbox are deleted where there is an app now: their tokens are worthless there.
 */
export async function startSocial({ pool, secretKey, config }: SocialDeps): Promise<SandboxSocialNetworks> {
  const { publicUrl } = config;
  const key = Buffer.from(hkdfSync('sha256', secretKey.bytes, '', 'heliograph sandbox social networks v1', 32));
  const social = await startSandboxSocial({ publicUrl: () => publicUrl, key });
  const simulated = { apiUrl: social.url, pagesUrl: `${publicUrl}${SOCIAL_PAGES_PATH}` };
  const appOf = (platform: Platform): SocialApp =>
    isSetUp(config.social[platform])
      ? config.social[platform]
      : { ...config.social[platform], ...social.clients[platform], simulated };
  const apps: Config['social'] = {
    facebook: appOf('facebook'),
    instagram: appOf('instagram'),
    linkedin: appOf('linkedin'),
    google: appOf('google'),
    tiktok: appOf('tiktok'),
  };
  await deleteSandboxProfiles(pool, { platforms: PLATFORMS.filter((platform) => apps[platform].simulated === null) });
  return { apps, page: social.page, url: social.url, close: social.close };
}

/**
 * Returns true if the settings have an app, even if only a part of it: missing settings are named when a profile is
 * connected.
 */
const isSetUp = ({ clientId, clientSecret, simulated }: SocialApp): boolean =>
  clientId !== '' || clientSecret !== '' || simulated !== null;

/** Deletes the profiles that were connected to the sandbox: no network serves them any more. */
export const retireSocial = async (pool: Pool): Promise<void> =>
  void (await deleteSandboxProfiles(pool, { platforms: PLATFORMS }));

/** The sandbox's WhatsApp templates, which are available to every account, in the format that creates templates. */
export const WHATSAPP_TEMPLATES = [
  {
    id: '900000000000001',
    name: 'sandbox_welcome',
    language: 'en',
    category: 'UTILITY',
    parameter_format: 'POSITIONAL',
    components: [
      { type: 'BODY', text: 'Hello {{1}}, this message came through the sandbox.', example: { body_text: [['Ana']] } },
      { type: 'FOOTER', text: 'Heliograph sandbox' },
    ],
    variables: ['firstName|there'],
  },
  {
    id: '900000000000002',
    name: 'sandbox_hello',
    language: 'en',
    category: 'MARKETING',
    parameter_format: 'POSITIONAL',
    components: [{ type: 'BODY', text: 'Hello from the sandbox.' }],
    variables: [],
  },
] as const;

const TEXT: RcsBody = {
  type: 'TEXT',
  text: 'Hello {{firstName}}, this message came through the sandbox.',
  suggestions: [{ reply: { text: 'Thank you', postbackData: 'thanks' } }],
};

const CARD: RcsBody = {
  type: 'CARD',
  card: {
    title: 'A card for {{firstName}}',
    description: 'Cards have a title, a text, a picture and buttons.',
    suggestions: [
      {
        action: {
          text: 'Open',
          postbackData: 'open',
          openUrlAction: { url: 'https://example.com/' },
        },
      },
    ],
  },
};

/** The sandbox's RCS templates, which are available to every account while the sandbox is on. */
export const RCS_TEMPLATES = [
  { id: '01900000-0000-7000-8000-000000000001', name: 'Sandbox text', content: toContentMessage(TEXT) },
  { id: '01900000-0000-7000-8000-000000000002', name: 'Sandbox card', content: toContentMessage(CARD) },
].map((template) => ({ ...template, variables: ['firstName|there'] }));
