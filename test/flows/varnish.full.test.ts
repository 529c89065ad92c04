import { once } from 'node:events';
import http from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAccount } from '../../src/operate/account-commands.ts';
import { type Client, createClient, STATUS } from '../support/client.ts';
import { CONTROL_PATH, startVarnish, varnishIsMissing } from '../support/deployment/varnish.ts';
import { openEventStream } from '../support/http/event-stream.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

// A cache in front of the program that stores what nothing forbids, and knows no API keys.

const missing = varnishIsMissing();
const CREDIT = '/api/partner-gateway/v1/subscription/credit';

describe.skipIf(missing !== undefined)('Varnish, with its built-in rules', () => {
  const closing = new AsyncDisposableStack();
  let program: TestProgram;
  let origin: string;
  let controlRequests = 0;
  const clientOf = (apiKey: string): Client => createClient(() => origin, apiKey);
  beforeAll(async () => {
    const control = http.createServer((_, response) => void response.end(`response ${++controlRequests}`));
    control.listen(0, '127.0.0.1');
    await once(control, 'listening');
    closing.defer(() => void control.close());
    const address = control.address();
    if (address === null || typeof address === 'string') throw new Error('expected a TCP address');
    program = closing.use(await startTestProgram({ environment: { TRUST_PROXY: '127.0.0.1' } }));
    const varnish = closing.use(await startVarnish(program.origin(), `http://127.0.0.1:${address.port}`));
    ({ origin } = varnish);
  });
  afterAll(() => closing.disposeAsync());

  test('stores what does not forbid it', async () => {
    const texts = [];
    for (let n = 0; n < 3; n++) texts.push(await (await fetch(`${origin}${CONTROL_PATH}`)).text());
    expect(texts).toEqual(['response 1', 'response 1', 'response 1']);
  });

  test('gives no account the response of another one, and unauthenticated clients none', async () => {
    const [one, other] = await Promise.all(
      [111_000_000, 222_000_000].map((creditMicros) =>
        createAccount(program.pool, { name: `Credit ${creditMicros}`, plan: 'unlimited', creditMicros }),
      ),
    );
    const seen = [];
    for (const apiKey of [one?.apiKey, other?.apiKey, 'nonsense', '', one?.apiKey]) {
      const { status, headers, body } = await clientOf(apiKey ?? '').request('GET', CREDIT);
      const age = headers.get('age');
      const requestId = headers.get('x-request-id');
      seen.push({ status, available: Reflect.get(Object(body), 'availableCredit'), age, requestId });
    }
    expect(seen.map(({ status }) => status)).toEqual([200, 200, 401, 401, 200]);
    expect(new Set(seen.map(({ requestId }) => requestId)).size).toBe(seen.length);
    expect(seen[0]?.available).not.toEqual(seen[1]?.available);
    expect(seen.flatMap(({ age }) => (age === null || age === '0' ? [] : [age]))).toEqual([]);
  });

  test('shows each status at once, and no 404 of a message that came later', async () => {
    const client = clientOf(program.account.apiKey);
    expect((await client.request('GET', `${STATUS}/later`)).status).toBe(404);
    const { messageId } = await client.send({
      phoneNumber: '+393331234567',
      message: 'Hello',
      customerMessageId: 'later',
    });
    expect((await client.request('GET', `${STATUS}/later`)).status).toBe(200);
    await client.untilStatus(messageId ?? '', 'DELIVERED');
  });

  test('passes on an event stream while it is open', async () => {
    await using stream = await openEventStream(origin, program.account.apiKey);
    await until('the first event', () => stream.received().includes('event: ready'));
  });
});

test.runIf(missing !== undefined)('Varnish in front of the program', ({ skip }) => skip(missing));
