import { beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { bindAs, connectRaw, newCredential, type RawClient, startServer } from '../../test/support/smpp-server.ts';
import { until } from '../../test/support/until.ts';
import type { IssuedCredential } from '../accounts/smpp-credentials.ts';
import { createMetrics } from '../core/metrics.ts';
import { createAccount } from '../operate/account-commands.ts';
import { EMPTY_MESSAGE, encodePdu } from '../smpp/pdu.ts';
import { countUnreadable } from '../smpp/session.ts';
import { STATUS } from '../smpp/status.ts';
import { TIMING } from './session.ts';

const database = testDatabase();
const { pool } = database;

let accountId: number;
beforeAll(async () => {
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 }));
});

const ENQUIRE = encodePdu({ command: 'enquire_link', status: 0, sequence: 7 });
const header = (length: number, command: number): Buffer => {
  const octets = Buffer.alloc(16);
  octets.writeUInt32BE(length, 0);
  octets.writeUInt32BE(command, 4);
  octets.writeUInt32BE(9, 12);
  return octets;
};

async function bindRaw(port: number, { systemId, password }: IssuedCredential): Promise<RawClient> {
  const client = await connectRaw(port);
  const rest = { systemType: '', interfaceVersion: 0x34, addrTon: 0, addrNpi: 0, addressRange: '' };
  client.send(encodePdu({ command: 'bind_transceiver', status: 0, sequence: 1, systemId, password, ...rest }));
  await until('it is bound', () => client.received.length === 1);
  return client;
}

test('a client that does not bind in time is gone, however much of a PDU it sends', async () => {
  const server = await startServer(database, { timing: { ...TIMING, bindMs: 300 } });
  const [silent, half] = [await connectRaw(server.port), await connectRaw(server.port)];
  half.send(ENQUIRE.subarray(0, 10));
  await Promise.all([silent.closed, half.closed]);
  expect(half.received).toEqual([]);
});

test('a PDU in pieces of one octet is read', async () => {
  const server = await startServer(database);
  const client = await connectRaw(server.port);
  client.socket.setNoDelay(true);
  for (const octet of ENQUIRE) client.send(Uint8Array.of(octet));
  await until('it gets a response', () => client.received.length === 1);
  expect(client.received).toMatchObject([{ command: 'enquire_link_resp', sequence: 7 }]);
});

test.each([0, 15, 70_001, 0x7fffffff, 0xffffffff])('a command_length of %d ends the connection', async (length) => {
  const server = await startServer(database);
  const client = await connectRaw(server.port);
  client.send(header(length, 0x15));
  await client.closed;
  expect(client.received).toMatchObject([{ command: 'generic_nack', status: STATUS.ESME_RINVCMDLEN, sequence: 0 }]);
});

test('what is no SMPP is refused a few times, and then not read any more', async () => {
  const server = await startServer(database);
  const client = await connectRaw(server.port);
  for (let n = 0; n < 50; n++) client.send(header(16, 0x1234));
  await client.closed;
  expect(client.received.length).toBeLessThanOrEqual(3);
  expect(client.received[0]).toMatchObject({ command: 'generic_nack', status: STATUS.ESME_RINVCMDID, sequence: 9 });
});

test('requests before the bind are refused a few times, and then the connection ends', async () => {
  const server = await startServer(database);
  const client = await connectRaw(server.port);
  const query = { messageId: 'x', sourceTon: 0, sourceNpi: 0, source: '' };
  for (let n = 1; n < 50; n++) client.send(encodePdu({ command: 'query_sm', status: 0, sequence: n, ...query }));
  await client.closed;
  expect(client.received.map(({ status }) => status)).toEqual([4, 4, 4]);
});

test('a flood of connections has twenty places, and a bound client keeps its bind', async () => {
  const server = await startServer(database);
  const bound = await bindAs(server, await newCredential(pool, accountId));
  const flood = await Promise.all(Array.from({ length: 60 }, () => connectRaw(server.port)));
  await until('all but twenty are closed', () => flood.filter((client) => client.isClosed()).length === 40);
  expect((await bound.request('enquire_link')).command_status).toBe(0);
  for (const client of flood) client.socket.destroy();
  await until('a place is free again', async () => {
    const again = await connectRaw(server.port);
    again.send(ENQUIRE);
    return until('it gets a response', () => again.received.length > 0 || again.isClosed()).then(
      () => !again.isClosed(),
    );
  });
});

test('a flood of guesses is limited by address, and costs the others nothing', async () => {
  const server = await startServer(database);
  const credential = await newCredential(pool, accountId);
  await bindAs(server, credential);
  const statuses = await Promise.all(
    Array.from(
      { length: 15 },
      async (_, n) => (await bindAs(server, { systemId: `guess${n}`, password: 'x' })).bound.command_status,
    ),
  );
  expect(statuses.every((status) => status === STATUS.ESME_RINVPASWD || status === STATUS.ESME_RBINDFAIL)).toBe(true);
  expect((await bindAs(server, credential)).bound.command_status).toBe(0);
});

test('a client that falls silent is asked, and closed when it does not respond', async () => {
  const server = await startServer(database, { timing: { ...TIMING, enquireMs: 800 } });
  const { systemId, password } = await newCredential(pool, accountId);
  const client = await connectRaw(server.port);
  const rest = { systemType: '', interfaceVersion: 0x34, addrTon: 0, addrNpi: 0, addressRange: '' };
  client.send(encodePdu({ command: 'bind_receiver', status: 0, sequence: 1, systemId, password, ...rest }));
  await client.closed;
  expect(client.received.map(({ command }) => command)).toEqual(
    expect.arrayContaining(['bind_receiver_resp', 'enquire_link']),
  );
  await until('its bind has ended', () => server.binds() === 0);
});

test('before the bind there is room for a handful of PDUs, whatever they are', async () => {
  const server = await startServer(database);
  const client = await connectRaw(server.port);
  for (let n = 0; n < 50; n++) client.send(ENQUIRE);
  await client.closed;
  expect(client.received.map(({ command }) => command)).toEqual(Array(5).fill('enquire_link_resp'));
});

test('a bind that floods is read at the pace of its rate, and another one gets a response meanwhile', async () => {
  const slow = await createAccount(pool, { name: 'Slow', plan: 'trial' });
  const server = await startServer(database);
  const flooder = await bindRaw(server.port, await newCredential(pool, slow.accountId));
  const begunAt = performance.now();
  flooder.send(Buffer.concat(Array.from({ length: 400 }, () => ENQUIRE)));
  await until('two hundred get a response', () => flooder.received.length > 200);
  expect(performance.now() - begunAt).toBeGreaterThan(900);
  const other = await bindAs(server, await newCredential(pool, accountId));
  expect((await other.request('enquire_link')).command_status).toBe(0);
});

test('a client that sends responses without requests is closed', async () => {
  const server = await startServer(database);
  const client = await bindRaw(server.port, await newCredential(pool, accountId));
  const stray = encodePdu({ command: 'deliver_sm_resp', status: 0, sequence: 99, messageId: '', tlvs: new Map() });
  client.send(Buffer.concat(Array.from({ length: 50 }, () => stray)));
  await client.closed;
  await until('its bind has ended', () => server.binds() === 0);
});

test('a submit with octets behind it is accepted, one that cannot be read gets the response of a submit, and both are counted', async () => {
  const metrics = createMetrics();
  const count = countUnreadable(metrics);
  const server = await startServer(database, { unreadable: () => count('customer') });
  const client = await bindRaw(server.port, await newCredential(pool, accountId));
  const message = { ...EMPTY_MESSAGE, source: 'Acme', destination: '393331234567', shortMessage: Buffer.from('Hi') };
  const submit = encodePdu({ command: 'submit_sm', status: 0, sequence: 2, ...message });
  for (const octets of [Buffer.concat([submit, Buffer.of(0)]), Buffer.from(submit.subarray(0, -1))]) {
    octets.writeUInt32BE(octets.length, 0);
    const before = client.received.length;
    client.send(octets);
    await until('it gets a response', () => client.received.length > before);
  }
  const refusal = { command: 'submit_sm_resp', sequence: 2, status: STATUS.ESME_RINVCMDLEN };
  expect(client.received.slice(1)).toMatchObject([{ command: 'submit_sm_resp', sequence: 2, status: 0 }, refusal]);
  expect(await metrics.scrape()).toContain('heliograph_smpp_unreadable_total{sender="customer"} 2');
});

test('queries and cancellations count to the rate of the account', async () => {
  const slow = await createAccount(pool, { name: 'Slow', plan: 'trial' });
  const server = await startServer(database);
  const client = await bindAs(server, await newCredential(pool, slow.accountId));
  const ask = (command: 'query_sm' | 'cancel_sm') =>
    client.request(command, { message_id: 'x', source_addr: '', destination_addr: '' });
  const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => ask(n % 2 ? 'query_sm' : 'cancel_sm')));
  const throttled = answers.filter(({ command_status: status }) => status === STATUS.ESME_RTHROTTLED).length;
  // Ten a second, and the clock may pass one second meanwhile.
  expect(throttled).toBeGreaterThanOrEqual(20);
  expect(throttled).toBeLessThan(40);
});
