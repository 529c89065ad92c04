import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAccount } from '../../src/operate/account-commands.ts';
import { type Answer, type Client, STATUS } from '../support/client.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';

let program: TestProgram;
let otherClient: Client;
beforeAll(async () => {
  program = await startTestProgram();
  otherClient = program.clientOf((await createAccount(program.pool, { name: 'Neighbour', plan: 'unlimited' })).apiKey);
});
afterAll(() => program[Symbol.asyncDispose]());

const UNKNOWN = '01900000-0000-7000-8000-000000000000';

/** Returns everything in a response, except what differs in every response. */
function comparable({ status, headers, body }: Answer) {
  const names = [...headers.keys()].filter((name) => name !== 'date' && name !== 'x-request-id');
  const text = JSON.stringify(body).replace(/"requestId":"[^"]+"/, '"requestId":""');
  return { status, text, headers: names.map((name) => `${name}: ${headers.get(name)}`) };
}

test("another account's message gets exactly the response of an unknown one, by our id and by the client's", async () => {
  const { messageId } = await program.client.send({
    phoneNumber: '+393331234567',
    message: 'Mine',
    customerMessageId: 'mine',
  });
  const paths = (id: string) => [
    `${STATUS}/${id}`,
    `${STATUS}?ids=${id}`,
    `${STATUS}?customerMessageIds=${id}`,
    `/api/messages/status/${id}`,
  ];
  const foreign = [...paths(messageId ?? ''), ...paths('mine')];
  const unknown = [...paths(UNKNOWN), ...paths('none')];
  for (const [i, path] of foreign.entries()) {
    const answers = await Promise.all([otherClient.request('GET', path), otherClient.request('GET', unknown[i] ?? '')]);
    const [theirs, nobodys] = answers.map(comparable);
    expect(theirs, path).toEqual(nobodys);
    expect([200, 404]).toContain(theirs?.status);
  }
  expect((await program.client.status('mine')).messageId).toBe(messageId);
});

test('two accounts use the same client id without affecting each other', async () => {
  const body = { phoneNumber: '+393331234568', customerMessageId: 'shared' };
  const mine = await program.client.send({ ...body, message: 'Mine' });
  const theirs = await otherClient.send({ ...body, message: 'Theirs' });
  expect(theirs.messageId).not.toBe(mine.messageId);
  expect((await program.client.status('shared')).messageId).toBe(mine.messageId);
  expect((await otherClient.status('shared')).messageId).toBe(theirs.messageId);
});
