import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TEST_CERT } from '../../test/support/http/certificate.ts';
import { type Receiver, startReceiver } from '../../test/support/http/receiver.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { until } from '../../test/support/until.ts';
import heliograph from './Heliograph.node.js';
import trigger from './HeliographTrigger.node.js';

let program: TestProgram;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  const caFile = join(await temporaryFolder('heliograph-ca-'), 'ca.pem');
  await writeFile(caFile, TEST_CERT);
  program = await startTestProgram({
    environment: {
      WEBHOOK_CA_FILE: caFile,
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
      WEBHOOK_PORTS: String(receiver.port),
    },
  });
});
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

type Request = { readonly method: string; readonly url: string; readonly body?: object };

/** The functions that n8n gives to nodes, as its interfaces describe them; errors have the response, as those of axios do. */
const context = (parameters: Readonly<Record<string, unknown>>, stored: Record<string, unknown> = {}) => ({
  getCredentials: async () => ({ baseUrl: `${program.origin()}/`, apiKey: program.account.apiKey }),
  getInputData: () => [{ json: {} }],
  getNodeParameter: (name: string, _i?: number, fallback?: unknown) => parameters[name] ?? fallback,
  continueOnFail: () => false,
  getWorkflow: () => ({ name: 'Orders' }),
  getWorkflowStaticData: () => stored,
  getNodeWebhookUrl: () => `${receiver.url}/events`,
  helpers: {
    async httpRequestWithAuthentication(_name: string, { method, url, body }: Request) {
      const headers = { 'X-API-Key': program.account.apiKey, 'Content-Type': 'application/json' };
      const answer = await fetch(url, {
        method,
        ...(body ? { headers, body: JSON.stringify(body) } : { headers: { 'X-API-Key': program.account.apiKey } }),
      });
      const data = answer.status === 204 ? undefined : await answer.json();
      if (!answer.ok) throw Object.assign(new Error(`status ${answer.status}`), { response: { data } });
      return data;
    },
  },
});
async function execute<T>(operation: string, parameters: Readonly<Record<string, unknown>>): Promise<T> {
  const node = new heliograph.Heliograph();
  const [[item] = []] = await node.execute.call(context({ operation, ...parameters }));
  return item?.json as T;
}

test('a workflow sends an SMS, looks it up, and keeps a contact', async () => {
  const to = '+393331234567';
  const more = '{ "metadata": { "order": "1" } }';
  const { messageId } = await execute<{ messageId: string }>('sendSms', { to, text: 'Hello', sender: 'Acme', more });
  await program.client.untilStatus(messageId, 'DELIVERED');
  expect(await execute('findStatus', { messageId })).toMatchObject({
    deliveryStatus: 'DELIVERED',
    metadata: { order: '1' },
  });
  await expect(execute('sendSms', { to: '+39', text: 'x', sender: 'Acme' })).rejects.toThrow();
  const contact = (firstName: string) => ({ contact: JSON.stringify({ phoneNumber: to, firstName }) });
  const { id } = await execute<{ id: number }>('upsertContact', contact('Ada'));
  expect(await execute('upsertContact', contact('Grace'))).toMatchObject({ id, firstName: 'Grace' });
});

test('a trigger registers its endpoint, takes genuine events only, and removes the endpoint', async () => {
  const stored: Record<string, unknown> = {};
  const node = new trigger.HeliographTrigger();
  const hooks = node.webhookMethods.default;
  const own = context({ eventTypes: ['contact.created'] }, stored);
  expect(await hooks.checkExists.call(own)).toBe(false);
  expect(await hooks.create.call(own)).toBe(true);
  expect(await hooks.checkExists.call(own)).toBe(true);
  const body = { phoneNumber: '+393331234568', firstName: 'Ada' };
  await program.client.request('POST', '/api/partner-gateway/v1/contacts', { body });
  const request = await until('an event', () => receiver.requests.find(({ path }) => path === '/events'));
  let status = 200;
  const take = (rawBody: string) =>
    node.webhook.call({
      ...own,
      getRequestObject: () => ({ rawBody: Buffer.from(rawBody) }),
      getHeaderData: () => request.headers,
      getBodyData: () => JSON.parse(rawBody),
      getResponseObject: () => ({ status: (code: number) => ({ end: () => (status = code) }) }),
    });
  expect(await take(request.body)).toMatchObject({
    workflowData: [[{ json: { type: 'contact.created', data: { firstName: 'Ada' } } }]],
  });
  expect(await take(request.body.replace('Ada', 'Eve'))).toEqual({ noWebhookResponse: true });
  expect(status).toBe(401);
  expect(await hooks.delete.call(own)).toBe(true);
  expect(await hooks.checkExists.call(own)).toBe(false);
  const { body: left } = await program.client.request('GET', '/api/partner-gateway/v1/webhooks/endpoints');
  expect(left).toEqual([]);
});
