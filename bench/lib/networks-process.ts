import { startSandboxGraph } from '../../src/sandbox/graph-server.ts';
import { startSandboxHttpSms } from '../../test/support/carriers/http-sms-server.ts';
import { startSandboxRbm } from '../../src/sandbox/rbm-server.ts';
import { WHATSAPP_TEMPLATES } from '../../src/sandbox/sandbox.ts';

/**
 * The sandbox's WhatsApp and RCS networks, and a web service for SMS, in a separate process. They take messages as fast as they can and send no
 * status events. Prints their addresses and credentials as one line of JSON.
 */
const graph = await startSandboxGraph({
  templates: WHATSAPP_TEMPLATES,
  ledger: 'counts',
  script: { tps: 0, pairBurst: 1_000_000, outcomes: {}, otherwise: { steps: [] } },
});
const rbm = await startSandboxRbm({
  agents: ['bench'],
  ledger: 'counts',
  script: { tps: 0, outcomes: {}, otherwise: { steps: [] }, batchesPerMinute: 1_000_000 },
});
const sms = await startSandboxHttpSms({ ledger: 'counts', outcomes: {}, otherwise: { receipts: [] } });
const { baseUrl, wabaId, accessToken, appSecret } = graph;
const number = graph.numbers[0]?.id;
console.log(
  JSON.stringify({
    graph: { baseUrl, wabaId, accessToken, appSecret, number },
    rbm: { baseUrl: rbm.baseUrl, secrets: rbm.secrets },
    sms: { baseUrl: `http://127.0.0.1:${sms.port}` },
  }),
);
