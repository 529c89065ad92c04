import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { TEST_CERT } from '../../test/support/http/certificate.ts';
import { startTestProgram } from '../../test/support/program.ts';
import { type Received, startReceiver } from '../../test/support/http/receiver.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { createHeliograph, verifyWebhook, WebhookError } from './index.ts';

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const OTHER = `whsec_${Buffer.alloc(32, 2).toString('base64')}`;
const BODY = JSON.stringify({ eventType: 'READ', messageId: 'm', text: 'però 😀' });

/** Signs with an independent library. */
function signed({ secret = SECRET, at = new Date(), body = BODY } = {}) {
  return {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign('evt_1', at, body),
  };
}

test('verifies callbacks of a running Heliograph, also while its secret is rotated', async () => {
  const folder = await temporaryFolder('heliograph-test-ca-');
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, TEST_CERT);
  await using receiver = await startReceiver();
  await using program = await startTestProgram({
    environment: {
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
      WEBHOOK_PORTS: String(receiver.port),
      WEBHOOK_CA_FILE: caFile,
    },
  });
  await rm(folder, { recursive: true });
  const heliograph = createHeliograph({ baseUrl: program.origin(), apiKey: program.account.apiKey });
  const hook = '/api/partner-gateway/v1/webhooks/delivery-status';
  const { secret: first } = await heliograph.post(hook, { body: { callbackUrl: receiver.url } });
  const message = { phoneNumber: '+393331234567', message: 'Hello', customerMessageId: 'mine-1' };
  const { messageId } = await heliograph.post('/api/message-server/sms/send', { body: message });
  const callback = async (n: number): Promise<Received> =>
    (await receiver.received(n)).at(-1) ?? Promise.reject(new Error('none'));
  const accepted = await callback(1);
  expect(await verifyWebhook(accepted.headers, accepted.body, first)).toMatchObject({ statusCode: 1 });
  const delivered = await callback(2);
  const event = await verifyWebhook(new Headers(delivered.headers), Buffer.from(delivered.body), [first]);
  expect(event).toMatchObject({ messageId, customerMessageId: 'mine-1', statusCode: 3, description: 'delivered' });
  expect(event.eventType === 'DELIVERY' && event.destination).toBe('+393331234567');

  const { secret: second } = await heliograph.post(`${hook}/secret`);
  await heliograph.post(`${hook}/test`);
  const { headers, body } = await callback(3);
  for (const secrets of [first, second, [OTHER, second]])
    expect(await verifyWebhook(headers, body, secrets)).toBeDefined();
  await expect(verifyWebhook(headers, body, OTHER)).rejects.toThrow(WebhookError);
});

test('reads header names in any case, and accepts one valid signature among others', async () => {
  const { 'webhook-signature': good, ...rest } = signed();
  const { 'webhook-signature': other } = signed({ secret: OTHER });
  const headers = { ...rest, 'Webhook-Signature': `v1a,x v1,!! ${other} ${good}` };
  expect(await verifyWebhook(headers, BODY, SECRET)).toEqual(JSON.parse(BODY));
});

const changed = (name: string, value: string) => ({ ...signed(), [name]: value });
test.each([
  ['no signature', {}, BODY],
  ['another body', signed(), BODY.replace('"m"', '"n"')],
  ['another event', changed('webhook-id', 'evt_2'), BODY],
  ['another time', changed('webhook-timestamp', String(Math.floor(Date.now() / 1000) - 1)), BODY],
  ['a foreign secret', signed({ secret: OTHER }), BODY],
  ['a truncated signature', changed('webhook-signature', 'v1,AAAA'), BODY],
  ['another version', changed('webhook-signature', signed()['webhook-signature'].replace('v1,', 'v2,')), BODY],
  ['a time that is not a number', changed('webhook-timestamp', 'now'), BODY],
])('refuses %s', async (_name, headers, body) => {
  await expect(verifyWebhook(headers, body, SECRET)).rejects.toThrow(WebhookError);
});

test('refuses an old callback, and one from a clock far ahead; the tolerance can be set', async () => {
  for (const seconds of [-400, 400]) {
    const headers = signed({ at: new Date(Date.now() + seconds * 1000) });
    await expect(verifyWebhook(headers, BODY, SECRET)).rejects.toThrow('too old');
    expect(await verifyWebhook(headers, BODY, SECRET, { toleranceSeconds: 500 })).toBeDefined();
  }
});

test.each(['', 'whsec_', 'not base64!'])('rejects the invalid secret %j with a TypeError', async (secret) => {
  await expect(verifyWebhook(signed(), BODY, secret)).rejects.toThrow(TypeError);
});
