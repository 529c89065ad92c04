import { type SandboxGraph, startSandboxGraph } from '../../src/simulators/graph/server.ts';
import { type SandboxRbm, startSandboxRbm } from '../../src/simulators/rbm/server.ts';
import { RCS_TEMPLATES, WHATSAPP_TEMPLATES } from '../../src/simulators/sandbox/templates.ts';
import { assignSender } from '../../src/network/assignments/assign.ts';
import { createConnection } from '../../src/network/connections/save.ts';
import { notifyRoutingChange } from '../../src/network/connections/sql.ts';
import { insertTemplate } from '../../src/network/templates/sql.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { loadSecretKey } from '../../src/platform/secret-key.ts';
import type { Stage } from '../lib/stage.ts';

const AGENT = 'acme';
/** More messages at once than either network takes in a second: only their refusals show their limits. */
const SETTINGS = { tps: 0, concurrency: 200 } as const;
const COMMON = { ownerId: null, status: 'APPROVED', headerLink: null } as const;

/** A WhatsApp and an RCS network, to which the gateway is connected, and the settings of campaigns on them. */
export type Networks = AsyncDisposable & {
  readonly graph: SandboxGraph;
  readonly rbm: SandboxRbm;
  readonly whatsappCampaign: object;
  readonly rcsCampaign: object;
};

/** Starts both networks, which report nothing about the messages that they take, and connects the gateway to them. */
export async function openNetworks({ pool, environment }: Stage): Promise<Networks> {
  await using opened = new AsyncDisposableStack();
  const quiet = { outcomes: {}, otherwise: { steps: [] } };
  const graph = await startSandboxGraph({ templates: WHATSAPP_TEMPLATES, script: { ...quiet, pairBurst: 0 } });
  opened.defer(graph.close);
  const rbm = await startSandboxRbm({ agents: [AGENT], script: { ...quiet, batchesPerMinute: 1_000_000 } });
  opened.defer(rbm.close);
  const key = await loadSecretKey(loadConfig(environment));
  const [number = ''] = graph.numbers.map(({ id }) => id);
  const { baseUrl, wabaId, accessToken, appSecret } = graph;
  const { id: connectionId } = await createConnection(pool, key, {
    name: 'whatsapp',
    kind: 'whatsapp',
    sandbox: false,
    settings: { baseUrl, wabaId, phoneNumberIds: [number], ...SETTINGS },
    secret: { accessToken, appSecret, verifyToken: 'verify-me' },
  });
  const { id: rcsId } = await createConnection(pool, key, {
    name: 'rcs',
    kind: 'rcs',
    sandbox: false,
    settings: { baseUrl: rbm.baseUrl, ...SETTINGS },
    secret: rbm.secrets,
  });
  const owner = { ownerId: null, name: 'Acme' };
  await assignSender(pool, { channel: 'WHATSAPP', identity: number, connectionId, ...owner });
  await assignSender(pool, { channel: 'RCS', identity: AGENT, connectionId: rcsId, ...owner });
  const [whatsapp, rcs] = [WHATSAPP_TEMPLATES.find(({ variables }) => variables.length === 0), RCS_TEMPLATES[0]];
  if (!whatsapp || !rcs) throw new Error('the sandbox has no templates');
  const { id, name, language, category, components: content, variables } = whatsapp;
  const shared = { channel: 'WHATSAPP', connectionId, named: false, ...COMMON } as const;
  await insertTemplate(pool, { id, name, language, category, content, variables, ...shared });
  const plain = { channel: 'RCS', connectionId: null, language: '', category: '', named: true, ...COMMON } as const;
  await insertTemplate(pool, { ...rcs, ...plain });
  await notifyRoutingChange(pool);
  const all = opened.move();
  return {
    graph,
    rbm,
    whatsappCampaign: { sendingMode: 'WHATSAPP', whatsappPhoneNumberId: number, whatsappTemplateId: id },
    rcsCampaign: { sendingMode: 'RCS', rcsAgentId: AGENT, rcsTemplateId: rcs.id },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
