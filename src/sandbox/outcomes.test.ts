import { describe, expect, test } from 'vitest';
import {
  bindLibrary,
  startForTest as start,
  statesOf,
  textOf,
} from '../../test/support/carriers/smpp-library-client.ts';
import { bareId, spellings } from '../channels/smpp/receipts.ts';
import type { SandboxScript } from './smsc-script.ts';

const RTHROTTLED = 0x58;

describe('outcomes by the last digits of the destination', () => {
  test.each([
    ['351912349901', ['UNDELIV'], [5]],
    ['351912349902', ['EXPIRED'], [3]],
    ['351912349903', ['REJECTD'], [8]],
    ['351912349904', ['ENROUTE', 'DELIVRD'], [1, 2]],
    ['351912349906', ['DELIVRD', 'DELIVRD'], [2, 2]],
    ['351912349908', ['UNKNOWN'], [7]],
    ['351912349911', ['FAILED'], [5]],
    ['351912345678', ['DELIVRD'], [2]],
  ])('%s ends as %j', async (destination, stats, states) => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port);
    await client.submit(destination);
    await client.until(() => client.received.length === stats.length);
    expect(statesOf(client)).toEqual(stats);
    expect(client.received.map((pdu) => pdu['message_state'])).toEqual(states);
  });

  test('…9901 carries the network error in text and parameter', async () => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port);
    await client.submit('351912349901');
    await client.until(() => client.received.length === 1);
    expect(textOf(client.received[0])).toContain('stat:UNDELIV err:001');
    expect(client.received[0]?.['network_error_code']).toEqual(Buffer.from([3, 0, 1]));
  });

  test('…9905 gets its receipt before its response', async () => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port);
    const { message_id } = await client.submit('351912349905');
    expect(client.log).toEqual(['bind_transceiver_resp', 'deliver_sm', 'submit_sm_resp']);
    expect(client.received[0]?.['receipted_message_id']).toBe(message_id);
  });

  test('…9907 gets no receipt', async () => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port);
    await client.submit('351912349907');
    await client.submit('351912340000');
    await client.until(() => client.received.length === 1);
    expect(client.received[0]?.['source_addr']).toBe('351912340000');
    expect(smsc.ledger.counts().receipts).toBe(1);
  });

  test('…9909 is refused', async () => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port);
    expect((await client.submit('351912349909')).command_status).toBe(0x0b);
  });

  test('…9910 is throttled three times and then accepted, repeatedly', async () => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port);
    const statuses = [];
    for (let time = 0; time < 8; time++) statuses.push((await client.submit('351912349910')).command_status);
    const round = [RTHROTTLED, RTHROTTLED, RTHROTTLED, 0];
    expect(statuses).toEqual([...round, ...round]);
  });

  test('the table can be replaced', async () => {
    const smsc = await start({ outcomes: { 7777: { refuse: 'ESME_RMSGQFUL' } } });
    const client = await bindLibrary(smsc.port);
    expect((await client.submit('351912347777')).command_status).toBe(0x14);
    expect((await client.submit('351912349909')).command_status).toBe(0);
  });
});

describe('ids', () => {
  const formats: [SandboxScript['idFormat'], RegExp][] = [
    ['decimal', /^3405691582$/],
    ['hex-lower', /^cafebabe$/],
    ['hex-upper', /^CAFEBABE$/],
    ['hex-padded', /^00000000CAFEBABE$/],
    ['uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-4/],
  ];
  const bases: SandboxScript['receiptIdBase'][] = ['same', 'opposite', 'other-case', 'zero-padded'];

  test.each(formats)(
    '%s ids have their format, and a receipt in any spelling still names them',
    async (idFormat, form) => {
      const smsc = await start({ idFormat, firstId: 0xcafebabe });
      const client = await bindLibrary(smsc.port);
      const ids: string[] = [];
      for (const receiptIdBase of bases) {
        smsc.script.receiptIdBase = receiptIdBase;
        ids.push(String((await client.submit('351912340000'))['message_id']));
        await client.until(() => client.received.length === ids.length);
      }
      expect(ids[0]).toMatch(form);
      expect(new Set(ids).size).toBe(bases.length);
      const spelled = client.received.map((pdu) => String(pdu['receipted_message_id']));
      expect(spelled[0]).toBe(ids[0]);
      for (const [index, id] of ids.entries()) expect(spellings(spelled[index] ?? '')).toContain(bareId(id));
    },
  );

  test('the opposite base of a decimal id is hexadecimal', async () => {
    const smsc = await start({ firstId: 0x7fa3, receiptIdBase: 'opposite' });
    const client = await bindLibrary(smsc.port);
    expect((await client.submit('351912340000'))['message_id']).toBe('32675');
    await client.until(() => client.received.length === 1);
    expect(client.received[0]?.['receipted_message_id']).toBe('7FA3');
  });
});

describe('forms and shares of receipts', () => {
  test('a text receipt has no parameters, and a parameter receipt no text', async () => {
    const smsc = await start({ receiptForm: 'text' });
    const client = await bindLibrary(smsc.port);
    await client.submit('351912340000');
    await client.until(() => client.received.length === 1);
    smsc.script.receiptForm = 'tlv';
    await client.submit('351912340000');
    await client.until(() => client.received.length === 2);
    expect(client.received[0]).not.toHaveProperty('message_state');
    expect(client.received.map((pdu) => textOf(pdu).length > 0)).toEqual([true, false]);
    expect(client.received[1]).toMatchObject({ message_state: 2 });
  });

  test('no receipts at all when the script says so', async () => {
    const smsc = await start({ receipts: 'none' });
    const client = await bindLibrary(smsc.port);
    const { message_id } = await client.submit('351912340000');
    const query = () => client.request('query_sm', { message_id, source_addr: 'ACME' });
    await expect.poll(async () => (await query())['message_state']).toBe(2);
    expect(smsc.ledger.counts().receipts).toBe(0);
  });

  test.each([
    ['missingReceiptShare', 0],
    ['doubleReceiptShare', 2],
    ['foreignReceiptShare', 2],
  ] as const)('with %s at 1, every message has %i receipts', async (share, receipts) => {
    const smsc = await start({ [share]: 1 });
    const client = await bindLibrary(smsc.port);
    await Promise.all(['351912340001', '351912340002'].map((to) => client.submit(to)));
    await expect.poll(() => smsc.ledger.counts().receiptsAcked).toBe(receipts * 2);
  });

  test('a receipt for an unknown message has an id that was never assigned', async () => {
    const smsc = await start({ foreignReceiptShare: 1 });
    const client = await bindLibrary(smsc.port);
    const { message_id } = await client.submit('351912340000');
    await client.until(() => client.received.length === 2);
    expect(client.received[1]?.['receipted_message_id']).not.toBe(message_id);
    expect(smsc.ledger.deliveries('receipt').map((entry) => entry.id)).toEqual([message_id, '']);
  });

  test('reordered receipts are late, and early ones arrive before their response', async () => {
    const smsc = await start({ reorderReceiptShare: 1, reorderMs: 1000 });
    const client = await bindLibrary(smsc.port);
    await client.submit('351912340001');
    Object.assign(smsc.script, { reorderReceiptShare: 0, earlyReceiptShare: 1 });
    await client.submit('351912340002');
    await client.until(() => client.received.length === 2);
    expect(client.received.map((pdu) => pdu['source_addr'])).toEqual(['351912340002', '351912340001']);
    expect(client.log.slice(1, 4)).toEqual(['submit_sm_resp', 'deliver_sm', 'submit_sm_resp']);
  });

  test('the same seed makes the same choices', async () => {
    const runs = [];
    for (const seed of [7, 7, 8]) {
      const smsc = await start({ seed, throttleShare: 0.5 });
      const client = await bindLibrary(smsc.port);
      const answers = await Promise.all(Array.from({ length: 40 }, () => client.submit('351912340000')));
      runs.push(answers.map((answer) => answer.command_status).join());
    }
    expect(runs[1]).toBe(runs[0]);
    expect(runs[2]).not.toBe(runs[0]);
  });
});
