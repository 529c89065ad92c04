import { beforeAll, describe, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { flatPrice, freeOver } from '../../test/support/drafts.ts';
import {
  bindAs,
  connectRaw,
  gatedAccept,
  newCredential,
  startServer,
  storingAccept,
} from '../../test/support/smpp-server.ts';
import { until } from '../../test/support/until.ts';
import { operatorAuthor } from '../accounts/audit.ts';
import { removeCredential } from '../accounts/smpp-credentials.ts';
import { encodeSubmission } from '../channels/smpp/encode.ts';
import { parseSmppSettings } from '../channels/smpp/settings.ts';
import { many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { createWaker } from '../dispatch/pump.ts';
import { type Accept, createAccept } from '../messages/accept.ts';
import { loadJobs } from '../messages/load.ts';
import { findTimeline } from '../messages/timeline.ts';
import { createAccount } from '../operate/account-commands.ts';
import { decodePdu, EMPTY_MESSAGE, encodePdu } from '../smpp/pdu.ts';
import { STATUS } from '../smpp/status.ts';
import { cStringValue } from '../smpp/wire.ts';
import { CLIENT_ID_TAG, OWN_STATUS } from './read-submit.ts';

const database = testDatabase();
const { pool } = database;

let accountId: number;
beforeAll(async () => {
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 }));
});

const NUMBER = '351912345678';
const messageOf = (id: unknown) =>
  one<{ body: string; sender: string; destination: string; source: string }>(
    pool,
    sql`SELECT body, sender, destination, source FROM message WHERE id = ${String(id)}::uuid`,
  );
async function bindNew(settings: Parameters<typeof newCredential>[2] = {}, options = {}) {
  const server = await startServer(database, options);
  return bindAs(server, await newCredential(pool, accountId, settings), 'transceiver');
}

test('an id is returned when its message is committed, with what was submitted', async () => {
  const client = await bindNew();
  const { command_status, message_id } = await client.submit(NUMBER, { short_message: Buffer.from('Hello') });
  expect(command_status).toBe(0);
  expect(await messageOf(message_id)).toEqual({
    body: 'Hello',
    sender: 'ACME',
    destination: `+${NUMBER}`,
    source: 'API',
  });
});

test('the timeline of a message names the credential, also when that was deleted', async () => {
  const server = await startServer(database);
  const credential = await newCredential(pool, accountId);
  const client = await bindAs(server, credential);
  const { message_id } = await client.submit(NUMBER);
  const actor = { accountId, operations: new Set<never>() };
  const beginning = async () => (await findTimeline(pool, actor, String(message_id)))?.events[0]?.text;
  expect(await beginning()).toBe(`by SMPP credential ${credential.id} (${credential.systemId})`);
  await transaction(pool, (tx) => removeCredential(tx, operatorAuthor(accountId), credential));
  expect(await beginning()).toBe(`by SMPP credential ${credential.id}`);
});

test.each([
  ['half a character', 0x40, 8, '050003420201' + '0048d83d', 'H\ufffd'],
  ['a single shift to Turkish', 0x40, 0, '03240101' + '54651b73656b6b7e72', 'Teşekkür'],
  ['both shifts to Portuguese', 0x40, 0, '06240103250103' + '1b417b', 'Àã'],
  ['a locking shift to Turkish', 0x40, 0, '03250101' + '54651d656b6b7e72', 'Teşekkür'],
  ['a shift to a table that we do not have', 0x40, 0, '03240105' + '411b4243', 'A\ufffdC'],
  ['a whole part with a shift', 0x40, 0, `080003420201240101${'1b73'.repeat(74)}`, 'ş'.repeat(74)],
  ['ports', 0x40, 4, '06050415820000' + '00ff', ''],
  ['8-bit data with a class', 0, 0x15, '00ff', ''],
  ['a flash message', 0, 0x10, '48690a', 'Hi\n'],
  ['a flash message in the other group', 0, 0xf0, '4869', 'Hi'],
  ['a flash message in UCS-2', 0, 0x18, '0416', 'Ж'],
  ['a part of a flash message', 0x40, 0x10, '050003420201' + '4869', 'Hi'],
  ['a message for the SIM', 0, 0xf2, '4869', 'Hi'],
  ['an indication of waiting messages', 0, 0xc8, '4869', 'Hi'],
  ['the same in UCS-2', 0, 0xe8, '0416', 'Ж'],
])('%s and the parameters that pass reach the carrier as they came', async (_, esmClass, dataCoding, octets, body) => {
  const server = await startServer(database, { passedTags: new Set([0x1401]) });
  const { systemId, password } = await newCredential(pool, accountId);
  const client = await connectRaw(server.port);
  const rest = { systemType: '', interfaceVersion: 0x34, addrTon: 0, addrNpi: 0, addressRange: '' };
  client.send(encodePdu({ command: 'bind_transmitter', status: 0, sequence: 1, systemId, password, ...rest }));
  await until('it is bound', () => client.received.length === 1);
  const shortMessage = Buffer.from(octets, 'hex');
  const content = { esmClass, dataCoding, shortMessage, tlvs: new Map([[0x1401, Buffer.from('mine')]]) };
  const addresses = { source: 'ACME', destination: NUMBER };
  client.send(encodePdu({ ...EMPTY_MESSAGE, command: 'submit_sm', status: 0, sequence: 2, ...addresses, ...content }));
  await until('it gets a response', () => client.received.length === 2);
  const [, answer] = client.received;
  const id = answer && 'messageId' in answer ? answer.messageId : '';
  const [[job] = []] = await loadJobs(pool, [{ accountId, ids: [id] } as never]);
  expect(job).toMatchObject({ messageId: id, body });
  const settings = parseSmppSettings({ host: 'h', systemId: 's' });
  const frames = job ? encodeSubmission(job, settings, () => 0) : [];
  expect(frames.map((frame) => decodePdu(frame))).toMatchObject([content]);
});

describe('a refusal has its status, and stores nothing', () => {
  test.each([
    ['no route', { destination_addr: '441234567890' }, OWN_STATUS.no_route],
    ['no number', { destination_addr: '1' }, STATUS.ESME_RINVDSTADR],
    ['no sender', { source_addr: 'Far too long a name' }, STATUS.ESME_RINVSRCADR],
    ['no text', { short_message: Buffer.alloc(0) }, STATUS.ESME_RINVMSGLEN],
    ['a validity that is over', { validity_period: '200101000000000+' }, STATUS.ESME_RINVEXPIRY],
  ])('%s', async (_, fields, status) => {
    const client = await bindNew();
    const before = await one<{ n: number }>(pool, sql`SELECT count(*)::int AS n FROM message`);
    expect((await client.submit(NUMBER, fields)).command_status).toBe(status);
    expect(await one(pool, sql`SELECT count(*)::int AS n FROM message`)).toEqual(before);
  });

  test('an opted-out number', async () => {
    const client = await bindNew();
    await pool.query(
      `INSERT INTO opt_out (account_id, phone_number, channel, source) VALUES ($1, '+351912000000', 'SMS', 'API')`,
      [accountId],
    );
    expect((await client.submit('351912000000')).command_status).toBe(OWN_STATUS.opted_out);
  });

  test('insufficient credit', async () => {
    const poor = await createAccount(pool, { name: 'Poor', plan: 'production', creditMicros: 0 });
    const tables = { ...freeOver(() => [1]), findPrice: flatPrice(5) };
    const accept = createAccept({ pool, tables, waker: createWaker(pool), recentMessages: null });
    const server = await startServer(database, { accept });
    const client = await bindAs(server, await newCredential(pool, poor.accountId));
    expect((await client.submit(NUMBER)).command_status).toBe(OWN_STATUS.no_credit);
  });
});

test("a client's own id makes a repeated submit the same message, and other content a conflict", async () => {
  const server = await startServer(database);
  const { systemId, password } = await newCredential(pool, accountId);
  const client = await connectRaw(server.port);
  const rest = { systemType: '', interfaceVersion: 0x34, addrTon: 0, addrNpi: 0, addressRange: '' };
  client.send(encodePdu({ command: 'bind_transmitter', status: 0, sequence: 1, systemId, password, ...rest }));
  await until('it is bound', () => client.received.length === 1);
  const submit = (sequence: number, text: string): void =>
    client.send(
      encodePdu({
        ...EMPTY_MESSAGE,
        command: 'submit_sm',
        status: 0,
        sequence,
        source: 'ACME',
        destination: NUMBER,
        shortMessage: Buffer.from(text),
        tlvs: new Map([[CLIENT_ID_TAG, cStringValue('order-1')]]),
      }),
    );
  submit(2, 'once');
  submit(3, 'once');
  submit(4, 'twice');
  await until('all get a response', () => client.received.length === 4);
  const [first, second, third] = client.received.slice(1).sort((a, b) => a.sequence - b.sequence);
  expect([first?.status, second?.status, third?.status]).toEqual([0, 0, STATUS.ESME_RSUBMITFAIL]);
  expect(second).toMatchObject({ messageId: first && 'messageId' in first ? first.messageId : '' });
});

test("messages with the same entity id of India's operators are messages of their own, and keep it", async () => {
  const server = await startServer(database, { passedTags: new Set([0x1400]) });
  const { systemId, password } = await newCredential(pool, accountId);
  const client = await connectRaw(server.port);
  const rest = { systemType: '', interfaceVersion: 0x34, addrTon: 0, addrNpi: 0, addressRange: '' };
  client.send(encodePdu({ command: 'bind_transmitter', status: 0, sequence: 1, systemId, password, ...rest }));
  await until('it is bound', () => client.received.length === 1);
  const tlvs = new Map([[0x1400, cStringValue('1101')]]);
  for (const [sequence, text] of [
    [2, 'one'],
    [3, 'two'],
  ] as const) {
    const message = { ...EMPTY_MESSAGE, source: 'ACME', destination: NUMBER, shortMessage: Buffer.from(text), tlvs };
    client.send(encodePdu({ ...message, command: 'submit_sm', status: 0, sequence }));
  }
  await until('both get a response', () => client.received.length === 3);
  const answers = client.received.slice(1);
  expect(answers.map(({ status }) => status)).toEqual([0, 0]);
  const ids = answers.map((answer) => ('messageId' in answer ? answer.messageId : ''));
  const jobs = (await loadJobs(pool, [{ accountId, ids } as never])).flat().filter((job) => job !== undefined);
  expect(jobs.map(({ messageId }) => messageId).sort()).toEqual([...ids].sort());
  const settings = parseSmppSettings({ host: 'h', systemId: 's' });
  const frames = jobs.flatMap((job) => encodeSubmission(job, settings, () => 0));
  expect(frames.map((frame) => decodePdu(frame))).toMatchObject([{ tlvs }, { tlvs }]);
});

test('beyond its rate a client is throttled, and another one is not', async () => {
  const server = await startServer(database);
  const slow = await bindAs(server, await newCredential(pool, accountId, { tps: 3 }));
  const other = await bindAs(server, await newCredential(pool, accountId));
  const statuses = await Promise.all(
    Array.from({ length: 20 }, async () => (await slow.submit(NUMBER)).command_status),
  );
  expect(new Set(statuses)).toEqual(new Set([0, STATUS.ESME_RTHROTTLED]));
  expect(statuses.filter((status) => status === 0).length).toBeLessThanOrEqual(6);
  expect((await other.submit(NUMBER)).command_status).toBe(0);
});

test('no more requests are read than the window holds before they get a response', async () => {
  const gate = gatedAccept(pool);
  const client = await bindNew({ window: 5 }, { accept: gate.accept });
  const submits = Array.from({ length: 200 }, () => client.submit(NUMBER));
  await until('five are read', () => gate.begun() === 5);
  // A second client shows that the server works meanwhile; what the first sent has long arrived.
  const enquiry = (await bindNew()).request('enquire_link');
  expect((await enquiry).command_status).toBe(0);
  expect(gate.begun()).toBe(5);
  gate.release();
  expect(new Set((await Promise.all(submits)).map((pdu) => pdu.command_status))).toEqual(new Set([0]));
  expect(gate.begun()).toBe(200);
});

test('a failure of the database is temporary, and the bind stays', async () => {
  const storing = storingAccept(pool);
  let failures = 1;
  const accept: Accept = {
    ...storing,
    one: (...given) => (failures-- > 0 ? Promise.reject(new Error('the server is away')) : storing.one(...given)),
  };
  const client = await bindNew({}, { accept });
  expect((await client.submit(NUMBER)).command_status).toBe(STATUS.ESME_RSYSERR);
  expect((await client.submit(NUMBER)).command_status).toBe(0);
});

test('data_sm and submit_multi send, the latter to each number it can', async () => {
  const client = await bindNew();
  const data = await client.request('data_sm', {
    source_addr_ton: 5,
    source_addr: 'ACME',
    dest_addr_ton: 1,
    dest_addr_npi: 1,
    destination_addr: NUMBER,
    message_payload: Buffer.from('by data'),
  });
  expect(data.command_status).toBe(0);
  expect(await messageOf(data['message_id'])).toMatchObject({ body: 'by data' });
  const multi = await client.request('submit_multi', {
    source_addr_ton: 5,
    source_addr: 'ACME',
    dest_address: ['351912345001', '441234567890', '351912345002'].map((destination_addr) => ({
      dest_addr_ton: 1,
      dest_addr_npi: 1,
      destination_addr,
    })),
    short_message: Buffer.from('to many'),
  });
  expect(multi.command_status).toBe(0);
  expect(multi['unsuccess_sme']).toMatchObject([
    { destination_addr: '441234567890', error_status_code: OWN_STATUS.no_route },
  ]);
  const sent = await many<{ destination: string }>(
    pool,
    sql`SELECT destination FROM message WHERE body = 'to many' ORDER BY destination`,
  );
  expect(sent.map(({ destination }) => destination)).toEqual(['+351912345001', '+351912345002']);
});

test("a client's own id makes a repeated submit_multi the same messages under the same id", async () => {
  const server = await startServer(database);
  const { systemId, password } = await newCredential(pool, accountId);
  const client = await connectRaw(server.port);
  const rest = { systemType: '', interfaceVersion: 0x34, addrTon: 0, addrNpi: 0, addressRange: '' };
  client.send(encodePdu({ command: 'bind_transmitter', status: 0, sequence: 1, systemId, password, ...rest }));
  await until('it is bound', () => client.received.length === 1);
  const destinations = ['351912345011', '351912345012', '351912345011'].map((address) => ({ ton: 1, npi: 1, address }));
  const submit = async (sequence: number, id: string) => {
    const fields = { source: 'ACME', destinations, shortMessage: Buffer.from('to all, once') };
    const tlvs = new Map([[CLIENT_ID_TAG, cStringValue(id)]]);
    client.send(encodePdu({ ...EMPTY_MESSAGE, command: 'submit_multi', status: 0, sequence, ...fields, tlvs }));
    await until('it gets a response', () => client.received.some((pdu) => pdu.sequence === sequence));
    return client.received.find((pdu) => pdu.sequence === sequence);
  };
  const first = await submit(2, 'multi-1');
  expect(first).toMatchObject({ command: 'submit_multi_resp', status: 0, unsuccessful: [] });
  expect(await submit(3, 'multi-1')).toEqual({ ...first, sequence: 3 });
  const other = await submit(4, 'multi-2');
  expect(other).not.toMatchObject({ messageId: first && 'messageId' in first ? first.messageId : '' });
  const { n } = await one<{ n: number }>(pool, sql`SELECT count(*)::int AS n FROM message WHERE body = 'to all, once'`);
  expect(n).toBe(6);
});

describe('a message that was submitted', () => {
  test('is found by its id and its sender, by its own account alone', async () => {
    const client = await bindNew();
    const { message_id } = await client.submit(NUMBER);
    expect(await client.request('query_sm', { message_id, source_addr: 'ACME' })).toMatchObject({
      command_status: 0,
      message_id,
      message_state: 1,
      error_code: 0,
    });
    const other = await createAccount(pool, { name: 'Neighbour', plan: 'unlimited', ratePerMinute: 0 });
    const server = await startServer(database);
    const otherClient = await bindAs(server, await newCredential(pool, other.accountId));
    for (const request of ['query_sm', 'cancel_sm', 'replace_sm'])
      expect((await otherClient.request(request, { message_id, source_addr: 'ACME' })).command_status).toBe(
        STATUS.ESME_RINVMSGID,
      );
    expect((await client.request('query_sm', { message_id, source_addr: 'OTHER' })).command_status).toBe(
      STATUS.ESME_RINVMSGID,
    );
  });

  test('is found by the sender that its customer gave it, whatever rules have made of that', async () => {
    const client = await bindNew({ senders: ['ACME'] });
    const { message_id } = await client.submit(NUMBER, { schedule_delivery_time: '000000010000000R' });
    // As a rule for senders leaves it.
    await pool.query(`UPDATE message SET asked_sender = sender, sender = '+351910000000' WHERE id = $1`, [message_id]);
    const ask = (command: string, more: object = {}) =>
      client.request(command, { message_id, source_addr: 'ACME', ...more }).then((answer) => answer.command_status);
    expect(await ask('query_sm')).toBe(0);
    expect(await ask('replace_sm', { short_message: Buffer.from('another') })).toBe(0);
    expect(await ask('cancel_sm')).toBe(0);
  });

  test('is cancelled while it waits, once', async () => {
    const client = await bindNew();
    const { message_id } = await client.submit(NUMBER, { schedule_delivery_time: '000000010000000R' });
    const cancel = () => client.request('cancel_sm', { message_id, source_addr: 'ACME' });
    expect((await cancel()).command_status).toBe(0);
    expect((await cancel()).command_status).toBe(STATUS.ESME_RCANCELFAIL);
    expect(await client.request('query_sm', { message_id, source_addr: 'ACME' })).toMatchObject({ message_state: 4 });
    expect((await client.request('cancel_sm', { message_id: '', source_addr: 'ACME' })).command_status).toBe(
      STATUS.ESME_RCANCELFAIL,
    );
  });

  describe('is replaced while it waits', () => {
    const later = { schedule_delivery_time: '000000010000000R', registered_delivery: 1 };
    const textOf = (id: string) => messageOf(id).then(({ body }) => body);
    const latest = async (id: unknown) => {
      const sent = await one<{ id: string }>(
        pool,
        sql`SELECT replaced_by AS id FROM smpp_replacement WHERE message_id = ${String(id)}::uuid`,
      );
      return sent.id;
    };

    test('by another one under its id, as often as it is asked for', async () => {
      const client = await bindNew();
      const { message_id } = await client.submit(NUMBER, later);
      const replace = (text: string, more: object = {}) =>
        client.request('replace_sm', { message_id, source_addr: 'ACME', short_message: Buffer.from(text), ...more });
      expect((await replace('second')).command_status).toBe(0);
      const second = await latest(message_id);
      expect((await replace('third', { registered_delivery: 1 })).command_status).toBe(0);
      const third = await latest(message_id);
      expect([await textOf(second), await textOf(third)]).toEqual(['second', 'third']);
      expect(await client.request('query_sm', { message_id, source_addr: 'ACME' })).toMatchObject({
        message_state: 1,
        message_id,
      });
      const states = await many<{ id: string; status: number }>(
        pool,
        sql`SELECT id, status FROM message_state WHERE id IN (${String(message_id)}::uuid, ${second}::uuid, ${third}::uuid)`,
      );
      expect(states.map(({ id }) => id).sort()).toEqual([String(message_id), second].sort());
      expect(new Set(states.map(({ status }) => status))).toEqual(new Set([5]));
      // Nothing is reported about those that were replaced; the last one is cancelled under the id of the first.
      expect(client.received).toEqual([]);
      expect((await client.request('cancel_sm', { message_id, source_addr: 'ACME' })).command_status).toBe(0);
      await client.until(() => client.received.length === 1);
      expect(client.received[0]).toMatchObject({
        receipted_message_id: message_id,
        message_state: 4,
        source_addr: NUMBER,
      });
      expect((await replace('fourth')).command_status).toBe(STATUS.ESME_RREPLACEFAIL);
    });

    test('and keeps its time where none is given, in the coding of its submit', async () => {
      const client = await bindNew();
      const text = Buffer.from('Привет', 'utf16le').swap16();
      const { message_id } = await client.submit(NUMBER, { ...later, data_coding: 8, short_message: text });
      const next = Buffer.from('Пока', 'utf16le').swap16();
      const fields = { message_id, source_addr: 'ACME', short_message: next };
      expect((await client.request('replace_sm', fields)).command_status).toBe(0);
      const id = await latest(message_id);
      expect(await textOf(id)).toBe('Пока');
      const rows = await many<{ at: Date }>(
        pool,
        sql`SELECT scheduled_at AS at FROM message WHERE id IN (${id}::uuid, ${String(message_id)}::uuid)`,
      );
      expect(rows.map(({ at }) => at)[0]).toEqual(rows.map(({ at }) => at)[1]);
    });

    test('with the difference of their prices, or stays as it was', async () => {
      const price = 5;
      const payer = await createAccount(pool, { name: 'Payer', plan: 'production', creditMicros: 3 * price });
      const tables = { ...freeOver(() => [1]), findPrice: flatPrice(price) };
      const accept = createAccept({ pool, tables, waker: createWaker(pool), recentMessages: null });
      const server = await startServer(database, { accept });
      const client = await bindAs(server, await newCredential(pool, payer.accountId));
      const { message_id } = await client.submit(NUMBER, later);
      const available = async () =>
        (
          await one<{ available: number }>(
            pool,
            sql`SELECT available_micros AS available FROM credit_balance WHERE account_id = ${payer.accountId}`,
          )
        ).available;
      expect(await available()).toBe(2 * price);
      const replace = (text: string) =>
        client.request('replace_sm', { message_id, source_addr: 'ACME', short_message: Buffer.from(text) });
      // Two parts cost the remaining credit plus the refund of the first message.
      expect((await replace('x'.repeat(153 * 2 - 60))).command_status).toBe(0);
      expect(await available()).toBe(price);
      const long = { message_payload: Buffer.from('x'.repeat(153 * 4)), short_message: Buffer.alloc(0) };
      const refused = await client.request('replace_sm', { message_id, source_addr: 'ACME', ...long });
      expect(refused.command_status).toBe(OWN_STATUS.no_credit);
      expect(await available()).toBe(price);
      expect(await textOf(await latest(message_id))).toHaveLength(153 * 2 - 60);
    });
  });
});
