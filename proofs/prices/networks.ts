import { loadConfig } from '../../src/core/config.ts';
import { loadSecretKey } from '../../src/core/secrets.ts';
import { notifyRoutingChange } from '../../src/routing/connection-store.ts';
import { createConnection } from '../../src/routing/connections.ts';
import { type SandboxGraph, startSandboxGraph } from '../../src/sandbox/graph-server.ts';
import { type SandboxRbm, startSandboxRbm } from '../../src/sandbox/rbm-server.ts';
import { assignSender } from '../../src/templates/assignments.ts';
import { insertTemplate } from '../../src/templates/store.ts';
import { until } from '../../test/support/until.ts';
import type { Run } from '../lib/proof.ts';
import type { Stage } from '../lib/stage.ts';

/** The RCS agent, which is of all accounts. */
export const AGENT = 'acme';
/** Last digits of the numbers to which networks take a message and do not deliver it, and to which they refuse it. */
export const UNDELIVERED = '9901';
export const REFUSED = '9909';

/** Of what is sent to them, networks of this proof report the end soon, and repeat a callback until it is taken. */
const PATIENT = { callbackRetryMs: 200, callbackMaxRetryMs: 2000, callbackMaxTries: 10_000 } as const;
/** The name of a template is its category. */
const TEXT_OF: Readonly<Record<string, readonly object[]>> = {
  marketing: [{ type: 'BODY', text: 'All at half price.' }],
  utility: [{ type: 'BODY', text: 'Your parcel arrives today.' }],
  authentication: [
    { type: 'BODY', text: '*{{1}}* is your code.' },
    {
      type: 'BUTTONS',
      buttons: [{ type: 'URL', text: 'Copy', url: 'https://www.whatsapp.com/otp/code/?code=otp{{1}}' }],
    },
  ],
};

/** Starts an RCS network with one agent, and connects the gateway to it. */
export async function openRcs(run: Run, stage: Stage): Promise<SandboxRbm> {
  const rbm = await startSandboxRbm({
    agents: [AGENT],
    script: {
      ...PATIENT,
      seed: run.seed,
      answerDelayMs: 10,
      keepMessages: 200_000,
      otherwise: { steps: [{ event: 'DELIVERED', afterMs: 100 }] },
      outcomes: {
        [UNDELIVERED]: { steps: [{ event: 'TTL_EXPIRATION_REVOKED', afterMs: 100 }] },
        [REFUSED]: { refuse: 'NOT_FOUND' },
      },
    },
  });
  const settings = { baseUrl: rbm.baseUrl, concurrency: 20, requestTimeoutSeconds: 5 };
  const connectionId = await connect(stage, 'rcs', { name: 'rcs', settings, secret: rbm.secrets });
  await assignSender(stage.pool, { channel: 'RCS', identity: AGENT, connectionId, ownerId: null, name: 'Acme' });
  await notifyRoutingChange(stage.pool);
  await until('the handshake', () => rbm.setCallback(callbackOf(stage, 'rcs/rcs')));
  return rbm;
}

/** A number on WhatsApp of one account, on a network with nobody else. */
export type Whatsapp = { readonly graph: SandboxGraph; readonly phoneNumberId: string };

/** Starts a WhatsApp network with one Portuguese number and a template of each category for an account. */
export async function openWhatsapp(run: Run, stage: Stage, accountId: number): Promise<Whatsapp> {
  const phoneNumberId = `1000000000${String(accountId).padStart(5, '0')}`;
  const displayNumber = '+351 900 000 001';
  const templates = Object.entries(TEXT_OF).map(([name, components], n) => {
    return { id: `${phoneNumberId}${n}`, name, language: 'en', category: name.toUpperCase(), components };
  });
  const graph = await startSandboxGraph({
    wabaId: `2000000000${accountId}`,
    numbers: [{ id: phoneNumberId, displayNumber, verifiedName: 'Acme' }],
    templates,
    script: {
      ...PATIENT,
      seed: run.seed,
      answerDelayMs: 10,
      pairBurst: 0,
      tps: 0,
      otherwise: {
        steps: [
          { status: 'sent', afterMs: 50 },
          { status: 'delivered', afterMs: 100 },
        ],
      },
      outcomes: {
        [UNDELIVERED]: { steps: [{ status: 'failed', code: 131000, afterMs: 100 }] },
        [REFUSED]: { refuse: 135000 },
      },
    },
  });
  const name = `whatsapp-${accountId}`;
  const { baseUrl, wabaId, appId, accessToken, appSecret } = graph;
  const settings = { baseUrl, wabaId, appId, phoneNumberIds: [phoneNumberId], tps: 0, concurrency: 20 };
  const secret = { accessToken, appSecret, verifyToken: 'verify' };
  const connectionId = await connect(stage, 'whatsapp', { name, settings, secret });
  const owned = { channel: 'WHATSAPP', connectionId, ownerId: accountId } as const;
  await assignSender(stage.pool, { ...owned, identity: phoneNumberId, name: 'Acme' });
  // A worker reads it from the network, but not before the first message.
  const details = JSON.stringify({ displayNumber });
  await stage.pool.query('UPDATE sender SET details = details || $1 WHERE identity = $2', [details, phoneNumberId]);
  for (const { components, ...template } of templates)
    await insertTemplate(stage.pool, {
      ...owned,
      ...template,
      content: components,
      status: 'APPROVED',
      headerLink: null,
      named: false,
      variables: [],
    });
  await notifyRoutingChange(stage.pool);
  await until('the handshake', () => graph.verifyCallback(callbackOf(stage, `whatsapp/${name}`), 'verify'));
  return { graph, phoneNumberId };
}

type Link = { readonly name: string; readonly settings: object; readonly secret: Readonly<Record<string, string>> };

async function connect({ pool, environment }: Stage, kind: 'rcs' | 'whatsapp', link: Link): Promise<number> {
  const key = await loadSecretKey(loadConfig(environment));
  return (await createConnection(pool, key, { ...link, kind, sandbox: false })).id;
}

const callbackOf = ({ gateway }: Stage, path: string): string =>
  `${String(gateway.ready['address'])}/api/callbacks/${path}`;
