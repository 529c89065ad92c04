import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Pool as HttpPool } from 'undici';
import { createHttpClient } from '../src/channels/http-client.ts';
import { createTokenSource } from '../src/channels/rcs/client.ts';
import type { RcsSecrets } from '../src/channels/rcs/settings.ts';
import { signatureOf } from '../src/channels/whatsapp/client.ts';
import { loadConfig } from '../src/core/config.ts';
import { newId } from '../src/core/ids.ts';
import { STATUS } from '../src/core/message-state.ts';
import { loadSecretKey } from '../src/core/secrets.ts';
import { notifyRoutingChange } from '../src/routing/connection-store.ts';
import { createConnection } from '../src/routing/connections.ts';
import { insertRoute } from '../src/routing/routes.ts';
import { HTTP_SMS_PROTOCOL, HTTP_SMS_SECRETS } from '../test/support/carriers/http-sms-server.ts';
import { RCS_TEMPLATES, WHATSAPP_TEMPLATES } from '../src/sandbox/sandbox.ts';
import { assignSender } from '../src/templates/assignments.ts';
import { insertTemplate } from '../src/templates/store.ts';
import { type Costs, costFigures, countCosts, memoryFigures, ownCpuMicros } from './lib/costs.ts';
import { startEmptyRoute } from './lib/empty-route.ts';
import type { Report } from './lib/report.ts';
import { openStage, type Stage, until } from './lib/stage.ts';
import { BODY, destinationOf } from './lib/traffic.ts';

const MESSAGES = Number(process.argv[3] ?? 20_000);
const CONNECTIONS = 64;
const DEMO = 1;
const AGENT = 'bench';
const WELCOME = WHATSAPP_TEMPLATES[0];
const TEXT = RCS_TEMPLATES[0];
const SENDER = 'Heliograph';
const MESSAGES_TARGET = 0.6;
const SMS_TARGET = 0.5;
const CALLBACKS_TARGET = 0.4;

type Networks = {
  readonly graph: { baseUrl: string; wabaId: string; accessToken: string; appSecret: string; number: string };
  readonly rbm: { baseUrl: string; secrets: RcsSecrets };
  /** The address of a web service for SMS. */
  readonly sms: { baseUrl: string };
};

/**
 * Sends a WhatsApp, an RCS and an SMS campaign through simulated networks and a carrier over HTTP, from the confirmation to the last outcome,
 * compared with bare requests with the same bodies to the same networks, by the CPU time of the process that sends: of
 * this one, and of the gateway; PostgreSQL is reported separately. Then posts signed callbacks, each settled before it
 * gets a response, compared with an empty route. Everything runs warm. The report's ratio is that of the part furthest from
 * its target.
 */
export async function benchChannels(): Promise<Report> {
  const { networks, stop } = await startNetworks();
  try {
    await using stage = await openStage({ WEBHOOK_ALLOW_CIDRS: '127.0.0.1/32' });
    await connect(stage, networks);
    const overWhatsapp = {
      sendingMode: 'WHATSAPP',
      whatsappPhoneNumberId: networks.graph.number,
      whatsappTemplateId: WELCOME.id,
    };
    const overRcs = { sendingMode: 'RCS', rcsAgentId: AGENT, rcsTemplateId: TEXT?.id };
    const compareWhatsapp = () => compare(stage, overWhatsapp, (count) => bareWhatsapp(networks, count));
    const compareRcs = () => compare(stage, overRcs, (count) => bareRcs(networks, count));
    const overSms = { sendingMode: 'SMS', smsSender: SENDER, smsBody: BODY };
    const compareSms = () => compare(stage, overSms, (count) => bareSms(networks, count));
    // All before any is measured: they share most of the code, which would be warmer for the last one.
    await compareWhatsapp();
    await compareRcs();
    await compareSms();
    const whatsapp = await compareWhatsapp();
    const rcs = await compareRcs();
    const sms = await compareSms();
    const { callbacks, costs, empty } = await compareCallbacks(stage, networks);
    const ofCallbacks = callbacks / empty;
    return {
      name: 'channels',
      ratio: Math.min(
        whatsapp.cpuRatio / MESSAGES_TARGET,
        rcs.cpuRatio / MESSAGES_TARGET,
        sms.cpuRatio / SMS_TARGET,
        ofCallbacks / CALLBACKS_TARGET,
      ),
      target: 1,
      figures: {
        messages: MESSAGES,
        ...figuresOf('whatsapp', whatsapp),
        ...figuresOf('rcs', rcs),
        ...figuresOf('http', sms),
        messagesTarget: MESSAGES_TARGET,
        httpTarget: SMS_TARGET,
        ...memoryFigures(stage),
        callbacksRatio: ofCallbacks,
        callbacksPerSecond: callbacks,
        emptyRoutePerSecond: empty,
        ...costFigures('callbacks', costs),
        callbacksTarget: CALLBACKS_TARGET,
      },
    };
  } finally {
    await stop();
  }
}

type Bare = { readonly perSecond: number; readonly cpuMicros: number };
type Compared = { readonly cpuRatio: number; readonly perSecond: number; readonly costs: Costs; readonly bare: Bare };

/** Compares a campaign of a channel with bare requests. */
async function compare(stage: Stage, fields: object, sendBare: (count: number) => Promise<Bare>): Promise<Compared> {
  const bare = await sendBare(MESSAGES);
  await fill(stage, MESSAGES);
  const own = await campaign(stage, fields, MESSAGES);
  return { cpuRatio: bare.cpuMicros / own.costs.gatewayCpuMicrosPerMessage, ...own, bare };
}

const figuresOf = (name: string, { cpuRatio, perSecond, costs, bare }: Compared): Record<string, number> => ({
  [`${name}.cpuToBare`]: cpuRatio,
  [`${name}.bareCpuMicros`]: bare.cpuMicros,
  ...costFigures(name, costs),
  [`${name}.perSecond`]: Math.round(perSecond),
  [`${name}.barePerSecond`]: Math.round(bare.perSecond),
});

async function startNetworks(): Promise<{ networks: Networks; stop(): Promise<void> }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'lib', 'networks-process.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const networks: Networks = JSON.parse(String(line));
  return {
    networks,
    async stop() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

async function connect({ pool, dataDir }: Stage, { graph, rbm, sms }: Networks): Promise<void> {
  const key = await loadSecretKey(loadConfig({ DATA_DIR: dataDir }));
  const meta = await createConnection(pool, key, {
    name: 'meta',
    kind: 'whatsapp',
    sandbox: false,
    settings: {
      baseUrl: graph.baseUrl,
      wabaId: graph.wabaId,
      phoneNumberIds: [graph.number],
      tps: 0,
      concurrency: CONNECTIONS,
    },
    secret: { accessToken: graph.accessToken, appSecret: graph.appSecret, verifyToken: 'bench' },
  });
  const google = await createConnection(pool, key, {
    name: 'google',
    kind: 'rcs',
    sandbox: false,
    settings: { baseUrl: rbm.baseUrl, concurrency: CONNECTIONS },
    secret: rbm.secrets,
  });
  const web = await createConnection(pool, key, {
    name: 'web',
    kind: 'http',
    sandbox: false,
    settings: { baseUrl: sms.baseUrl, concurrency: CONNECTIONS, ...HTTP_SMS_PROTOCOL },
    secret: { ...HTTP_SMS_SECRETS, callbackToken: 'not-used-here' },
  });
  // Before the route of the stage, whose carrier speaks SMPP.
  await insertRoute(pool, { channel: 'SMS', prefix: '39', connectionId: web.id, priority: 1, onUnknown: 'hold' });
  const owned = { ownerId: DEMO, name: 'Bench' };
  await assignSender(pool, { ...owned, channel: 'WHATSAPP', identity: graph.number, connectionId: meta.id });
  await assignSender(pool, { ...owned, channel: 'RCS', identity: AGENT, connectionId: google.id });
  const common = { ownerId: null, status: 'APPROVED', headerLink: null } as const;
  const { id, name, language, category, components: content, variables } = WELCOME;
  const known = { id, name, language, category, content, variables, connectionId: meta.id, named: false };
  await insertTemplate(pool, { ...common, ...known, channel: 'WHATSAPP' });
  const own = { channel: 'RCS', connectionId: null, language: '', category: '', named: true } as const;
  if (TEXT) await insertTemplate(pool, { ...common, ...TEXT, ...own });
  await notifyRoutingChange(pool);
}

async function fill({ pool }: Stage, count: number): Promise<void> {
  await pool.query('DELETE FROM contact_list_member');
  await pool.query('DELETE FROM contact_list');
  await pool.query('DELETE FROM contact');
  const numbers = Array.from({ length: count }, (_, n) => destinationOf(n));
  await pool.query(
    `INSERT INTO contact (account_id, first_name, phone_number, country, is_valid, channels)
     SELECT $1, 'Name', number, 'IT', true, 7 FROM unnest($2::text[]) AS number`,
    [DEMO, numbers],
  );
  await pool.query(`INSERT INTO contact_list (account_id, name, contact_count) VALUES ($1, 'All', $2)`, [DEMO, count]);
  await pool.query(
    `INSERT INTO contact_list_member (account_id, list_id, contact_id, name_key)
     SELECT c.account_id, (SELECT max(id) FROM contact_list), c.id, lower(c.full_name) FROM contact c`,
  );
  await pool.query('UPDATE contact_book SET contacts = $1', [count]);
}

/** Runs a campaign; returns how many messages per second the network took, and what they cost. */
async function campaign(stage: Stage, fields: object, count: number): Promise<{ perSecond: number; costs: Costs }> {
  const { rows } = await stage.pool.query<{ id: number }>('SELECT max(id)::int AS id FROM contact_list');
  const body = { name: 'Bench', contactListIds: [rows[0]?.id], readyToSend: true, ...fields };
  const { id } = await stage.call<{ id: number }>('POST', '/campaigns', body);
  await stage.call('POST', `/campaigns/${id}/calculateGoal`);
  const costsOf = await countCosts(stage);
  const start = performance.now();
  await stage.call('PUT', `/campaigns/${id}/confirm`);
  await until(async () => {
    const taken = await stage.pool.query<{ sent: number; failed: number }>(
      'SELECT coalesce(sum(sent), 0)::int AS sent, coalesce(sum(failed), 0)::int AS failed FROM traffic_hour WHERE campaign_id = $1',
      [id],
    );
    if ((taken.rows[0]?.failed ?? 0) > 0) throw new Error(`${taken.rows[0]?.failed} messages failed`);
    return taken.rows[0]?.sent === count;
  });
  const perSecond = count / ((performance.now() - start) / 1000);
  return { perSecond, costs: await costsOf(count) };
}

type Request = { readonly path: string; readonly headers: Record<string, string>; readonly body: string };

/** Sends requests over as many connections as the gateway has. */
async function post(origin: string, count: number, requestOf: (n: number) => Request): Promise<Bare> {
  const pool = new HttpPool(origin, { connections: CONNECTIONS, pipelining: 1 });
  let next = 0;
  const start = performance.now();
  const sendRequests = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) {
      const { statusCode, body } = await pool.request({ method: 'POST', ...requestOf(n) });
      const text = await body.text();
      if (statusCode !== 200 && statusCode !== 201) throw new Error(`returned ${statusCode}: ${text}`);
    }
  };
  const { cpuMicros } = await ownCpuMicros(count, () => Promise.all(Array.from({ length: CONNECTIONS }, sendRequests)));
  const perSecond = count / ((performance.now() - start) / 1000);
  await pool.close();
  return { perSecond, cpuMicros };
}

function bareWhatsapp({ graph }: Networks, count: number): Promise<Bare> {
  const { origin, pathname } = new URL(graph.baseUrl);
  const prefix = pathname === '/' ? '' : pathname;
  const headers = { authorization: `Bearer ${graph.accessToken}`, 'content-type': 'application/json' };
  const parameters = [{ type: 'text', text: 'Name' }];
  return post(origin, count, (n) => ({
    path: `${prefix}/v23.0/${graph.number}/messages`,
    headers,
    body: JSON.stringify({
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: destinationOf(n),
      type: 'template',
      biz_opaque_callback_data: newId(),
      template: {
        name: WELCOME.name,
        language: { code: WELCOME.language },
        components: [{ type: 'body', parameters }],
      },
    }),
  }));
}

function bareSms({ sms }: Networks, count: number): Promise<Bare> {
  const headers = { authorization: `Bearer ${HTTP_SMS_SECRETS.apiKey}`, 'content-type': 'application/json' };
  return post(sms.baseUrl, count, (n) => ({
    path: HTTP_SMS_PROTOCOL.request.path,
    headers,
    body: JSON.stringify({ to: destinationOf(n).slice(1), from: SENDER, text: BODY, ref: newId() }),
  }));
}

async function bareRcs({ rbm }: Networks, count: number): Promise<Bare> {
  const token = await tokenOf(rbm.secrets);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const contentMessage = JSON.parse(JSON.stringify(TEXT?.content).replace('{{firstName}}', 'Name')) as unknown;
  const body = JSON.stringify({ contentMessage, ttl: '1296000s' });
  return post(new URL(rbm.baseUrl).origin, count, (n) => ({
    path: `/v1/phones/${encodeURIComponent(destinationOf(n))}/agentMessages?messageId=${newId()}&agentId=${AGENT}`,
    headers,
    body,
  }));
}

async function tokenOf(secrets: RcsSecrets): Promise<string> {
  const http = createHttpClient({ connections: 1, connectTimeoutMs: 5000, timeoutMs: 5000 });
  const source = createTokenSource({
    account: secrets,
    http,
    changed: () => undefined,
    retryMs: 100,
    faultPauseMs: 100,
  });
  source.start();
  await until(async () => source.state().kind === 'valid');
  const state = source.state();
  source.stop();
  await http.close();
  return state.kind === 'valid' ? state.token : '';
}

/** Compares the rate of callbacks, each of which reports the delivery of one message, with that of an empty route. */
async function compareCallbacks(stage: Stage, { graph }: Networks) {
  const { rows } = await stage.pool.query<{ id: string }>(
    'SELECT carrier_id AS id FROM message_state WHERE channel = 4 AND carrier_id IS NOT NULL',
  );
  const timestamp = String(Math.floor(Date.now() / 1000));
  const requests = rows.map(({ id }, n): Request => {
    const status = { id, status: 'delivered', timestamp, recipient_id: destinationOf(n).replace('+', '') };
    const value = { messaging_product: 'whatsapp', metadata: { phone_number_id: graph.number }, statuses: [status] };
    const entry = [{ id: graph.wabaId, changes: [{ field: 'messages', value }] }];
    const body = JSON.stringify({ object: 'whatsapp_business_account', entry });
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': signatureOf(body, graph.appSecret) };
    return { path: '/api/callbacks/whatsapp/meta', headers, body };
  });
  const half = Math.floor(requests.length / 2);
  await post(stage.address, half, (n) => requests[n] as Request);
  await untilDelivered(stage, half);
  const costsOf = await countCosts(stage);
  const { perSecond: callbacks } = await post(stage.address, half, (n) => requests[half + n] as Request);
  await untilDelivered(stage, 2 * half);
  const costs = await costsOf(half);
  const route = await startEmptyRoute();
  const { origin } = new URL(route.url);
  const body = JSON.stringify({ phoneNumber: '+393331234567', message: 'Your code is 123456' });
  const same = { path: '/', headers: { 'content-type': 'application/json' }, body };
  const { perSecond: empty } = await post(origin, half, () => same);
  await route.stop();
  return { callbacks, costs, empty };
}

/** Waits until this many messages have been reported as delivered. */
async function untilDelivered({ pool }: Stage, count: number): Promise<void> {
  await until(async () => {
    const { rows } = await pool.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM message_state WHERE channel = 4 AND status = $1',
      [STATUS.DELIVERED],
    );
    return (rows[0]?.count ?? 0) >= count;
  });
}
