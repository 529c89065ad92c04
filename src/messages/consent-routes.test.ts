import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestInbox, type TestInbox } from '../../test/support/http/inbox.ts';

let inbox: TestInbox;
beforeAll(async () => {
  inbox = await openTestInbox();
});
afterAll(() => inbox[Symbol.asyncDispose]());

const TO = '+393331234567';

async function put(consents: readonly object[]) {
  const answer = await inbox.app.inject({
    method: 'PUT',
    url: '/api/partner-gateway/v1/consents',
    headers: { 'x-api-key': inbox.account.apiKey, 'content-type': 'application/json' },
    payload: JSON.stringify({ consents }),
  });
  return { status: answer.statusCode, body: answer.json() };
}

test('a person has at most a hundred records on a channel, since each send to them reads all', async () => {
  const record = (sender: number, to = TO) => ({
    to,
    channel: 'SMS',
    purpose: 'otp',
    sender: `S${sender}`,
    state: 'OPTED_IN',
  });
  const hundred = Array.from({ length: 100 }, (_, n) => record(n));
  expect(await put([...hundred, record(1, '+393331234568')])).toEqual({ status: 200, body: { changed: 101 } });
  const refused = await put([record(1, '+393331234569'), record(100, '0039 333 123 4567')]);
  const details = [{ field: 'consents.1.sender', message: 'the person has more than 100 records on a channel' }];
  expect(refused).toMatchObject({ status: 400, body: { details } });
  expect(await put([{ ...record(5), state: 'UNKNOWN' }, record(100)])).toEqual({ status: 200, body: { changed: 2 } });
});
