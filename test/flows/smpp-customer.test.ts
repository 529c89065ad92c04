import { afterAll, beforeAll, expect, test } from 'vitest';
import { one, sql } from '../../src/core/db/query.ts';
import { bindLibrary, statesOf, textOf } from '../support/carriers/smpp-library-client.ts';
import { freePort } from '../support/free-port.ts';
import { runOperatorCommand } from '../support/operator.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { listTaken } from '../support/taken.ts';
import { until } from '../support/until.ts';

const CREDENTIALS = '/api/partner-gateway/v1/smpp/credentials';
const COUNT = 1000;

let program: TestProgram;
let port: number;
beforeAll(async () => {
  port = await freePort();
  program = await startTestProgram({ environment: { SMPP_PORT: String(port) } });
});
afterAll(() => program[Symbol.asyncDispose]());

type Issued = { readonly id: number; readonly systemId: string; readonly password: string };

async function newClient(body: object = {}) {
  const answer = await program.client.request('POST', CREDENTIALS, { body: { tps: 100_000, maxBinds: 10, ...body } });
  const { systemId, password } = answer.body as Issued;
  const bind = (mode: 'transmitter' | 'receiver' | 'transceiver' = 'transceiver') =>
    bindLibrary(port, mode, { system_id: systemId, password });
  return { bind, client: await bind() };
}
/** The carrier has fixed outcomes for numbers that end in 99xx. */
const numberAt = (n: number): string => `39333${1_000_000 + Math.floor(n / 9000) * 10_000 + (n % 9000)}`;

test('a thousand messages of a customer reach the carrier once, and each receipt comes back, over two receivers', async () => {
  const { client, bind } = await newClient();
  const second = await bind('receiver');
  const answers = await Promise.all(
    Array.from({ length: COUNT }, (_, n) =>
      client.submit(numberAt(n), { short_message: Buffer.from(`Message ${n} of many`) }),
    ),
  );
  const ids = new Set(answers.map((pdu) => pdu['message_id']));
  expect([new Set(answers.map((pdu) => pdu.command_status)), ids.size]).toEqual([new Set([0]), COUNT]);
  const receipts = () =>
    [...client.received, ...second.received]
      .filter(({ command }) => command === 'deliver_sm')
      .map((pdu) => pdu['receipted_message_id']);
  await until('all receipts', () => receipts().length >= COUNT);
  expect(new Set(receipts())).toEqual(ids);
  expect(second.received.length).toBeGreaterThan(0);
  const taken = listTaken(program.smsc).filter(({ text }) => text.endsWith('of many'));
  expect([taken.length, new Set(taken.map(({ text }) => text)).size]).toEqual([COUNT, COUNT]);
  await Promise.all([client.close(), second.close()]);
});

test('what carriers report arrives as their customers know it, and the history shows the same', async () => {
  const { client } = await newClient();
  for (const [ending, state, status] of [
    ['9901', 'UNDELIV', 'UNDELIVERABLE'],
    ['9902', 'EXPIRED', 'EXPIRED'],
    ['9903', 'REJECTD', 'REJECTED'],
    ['9909', 'UNDELIV', 'UNDELIVERABLE'],
  ] as const) {
    const before = client.received.length;
    const { message_id } = await client.submit(`39333123${ending}`);
    await client.until(() => client.received.length > before);
    const shown = await program.client.status(String(message_id));
    expect([ending, shown]).toMatchObject([ending, { deliveryStatus: status }]);
    expect([ending, statesOf(client).at(-1)]).toEqual([ending, state]);
  }
  await client.close();
});

test('parts of a long text reach the handset with their headers, and message_payload is split here', async () => {
  const { client } = await newClient();
  for (const part of [1, 2])
    await client.submit('393339990001', {
      esm_class: 0x40,
      short_message: Buffer.concat([Uint8Array.of(5, 0, 3, 0x5c, 2, part), Buffer.from(`part ${part}`)]),
    });
  await client.submit('393339990002', {
    short_message: Buffer.alloc(0),
    message_payload: Buffer.from('long '.repeat(60)),
  });
  await client.until(() => client.received.length === 3);
  const submits = program.smsc.ledger.submits().filter(({ destination }) => destination === '393339990001');
  expect(submits.map(({ concat }) => concat)).toEqual([
    { ref: 0x5c, total: 2, seq: 1 },
    { ref: 0x5c, total: 2, seq: 2 },
  ]);
  expect(listTaken(program.smsc).find(({ destination }) => destination === '393339990002')?.text).toBe(
    'long '.repeat(60),
  );
  await client.close();
});

test('inbound messages reach a receiver', async () => {
  const { client } = await newClient();
  const number = ['--number', '4400', '--connection', 'main', '--account', 'Acme'];
  expect(await runOperatorCommand(program, 'number', 'assign', ...number)).toMatchObject({ code: 0 });
  const text = 'Ciao 😀 '.repeat(20).trim();
  await program.smsc.injectMo({ source: '393331234567', destination: '4400', text });
  await client.until(() => client.received.length === 1);
  expect(textOf(client.received[0])).toBe(text);
  await client.close();
});

test('receipts wait while the program is stopped, and a scheduled message is cancelled by its customer', async () => {
  const { client, bind } = await newClient();
  const { message_id } = await client.submit('393331112222', { schedule_delivery_time: '000001000000000R' });
  await client.close();
  await program.stop();
  await program.start();
  const again = await bind();
  expect((await again.request('cancel_sm', { message_id, source_addr: 'ACME' })).command_status).toBe(0);
  await again.until(() => again.received.length === 1);
  expect(statesOf(again)).toEqual(['DELETED']);
  await until('the outbox is empty', async () => {
    const row = await one<{ n: number }>(program.pool, sql`SELECT count(*)::int AS n FROM smpp_outbox`);
    return row.n === 0;
  });
  await again.close();
});

test('a credential that is deleted over HTTP loses its binds at once', async () => {
  const answer = await program.client.request('POST', CREDENTIALS, { body: {} });
  const { id, systemId, password } = answer.body as Issued;
  const client = await bindLibrary(port, 'transceiver', { system_id: systemId, password });
  expect(client.bound.command_status).toBe(0);
  expect((await program.client.request('DELETE', `${CREDENTIALS}/${id}`)).status).toBe(204);
  await client.closed;
});
