import { readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  bindLibrary,
  connectLibrary,
  startForTest as start,
  statesOf,
  textOf,
} from '../../test/support/carriers/smpp-library-client.ts';

const ROK = 0x00;
const RINVBNDSTS = 0x04;
const RALYBND = 0x05;
const RBINDFAIL = 0x0d;
const RINVPASWD = 0x0e;
const RINVSYSID = 0x0f;

/** Stops the clock of the simulator: in this test, time passes only with `passTime`. */
function stopClock(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Lets time pass in steps, each with a turn of the event loop, in which the sockets are read and written. */
async function passTime(ms: number): Promise<void> {
  const stepMs = 250;
  for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
    vi.advanceTimersByTime(stepMs);
    await nextTurn();
  }
}

describe('binding', () => {
  test.each(['transmitter', 'receiver', 'transceiver'] as const)('a %s binds and gets the version', async (mode) => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port, mode);
    expect(client.bound).toMatchObject({ command_status: ROK, system_id: 'SANDBOX', sc_interface_version: 0x34 });
    expect(smsc.sessions()).toMatchObject([{ systemId: 'gw1', mode }]);
  });

  test('a client of version 3.3 gets no optional parameter, in the bind or in a receipt', async () => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port, 'transceiver', { interface_version: 0x33 });
    expect(client.bound).not.toHaveProperty('sc_interface_version');
    await client.submit('351912340000');
    await client.until(() => client.received.length === 1);
    expect(client.received[0]).not.toHaveProperty('receipted_message_id');
    expect(textOf(client.received[0])).toContain('stat:DELIVRD');
  });

  test.each([
    ['an unknown system_id', { system_id: 'other' }, RINVSYSID],
    ['an empty system_id', { system_id: '' }, RINVSYSID],
    ['a wrong password', { password: 'wrong' }, RINVPASWD],
    ['a version that there is not', { interface_version: 0x77 }, RBINDFAIL],
  ])('%s is refused, and the connection stays unbound', async (_, fields, status) => {
    const smsc = await start({ systemId: 'gw1', password: 'secret08' });
    const client = await bindLibrary(smsc.port, 'transceiver', fields);
    expect(client.bound.command_status).toBe(status);
    expect((await client.submit('351912340000')).command_status).toBe(RINVBNDSTS);
    expect(smsc.ledger.counts()).toMatchObject({ binds: 0, bindsRefused: 1, accepted: 0, refused: 1 });
  });

  test('a long password is refused only when there is a limit', async () => {
    const smsc = await start({ maxPasswordLength: 8 });
    expect((await bindLibrary(smsc.port, 'receiver', { password: '123456789' })).bound.command_status).toBe(RINVPASWD);
    smsc.script.maxPasswordLength = 0;
    expect((await bindLibrary(smsc.port, 'receiver', { password: '123456789' })).bound.command_status).toBe(ROK);
  });

  test('a second bind on a connection, and a bind above the limit, are refused as already bound', async () => {
    const smsc = await start({ maxBinds: 2 });
    const first = await bindLibrary(smsc.port);
    const again = await first.request('bind_transmitter', { system_id: 'gw1', password: 'secret08' });
    expect(again).toMatchObject({ command: 'bind_transmitter_resp', command_status: RALYBND });
    await bindLibrary(smsc.port);
    expect((await bindLibrary(smsc.port)).bound.command_status).toBe(RALYBND);
    await first.close();
    await expect.poll(() => smsc.sessions().filter((session) => session.systemId).length).toBe(1);
    expect((await bindLibrary(smsc.port)).bound.command_status).toBe(ROK);
  });

  test('a scripted refusal rejects every bind', async () => {
    const smsc = await start({ bindRefusal: 'ESME_RBINDFAIL' });
    expect((await bindLibrary(smsc.port)).bound.command_status).toBe(RBINDFAIL);
  });

  test('a connection that does not bind in time is closed', async () => {
    const smsc = await start({ bindTimeoutMs: 40 });
    const client = await connectLibrary(smsc.port);
    await client.closed;
  });

  test('a receiver may not submit and a transmitter gets no receipts', async () => {
    const smsc = await start();
    const receiver = await bindLibrary(smsc.port, 'receiver');
    const transmitter = await bindLibrary(smsc.port, 'transmitter');
    expect((await receiver.submit('351912340000')).command_status).toBe(RINVBNDSTS);
    expect((await transmitter.submit('351912340000')).command_status).toBe(ROK);
    await receiver.until(() => receiver.received.length === 1);
    expect(transmitter.received).toEqual([]);
  });

  test('unbind gets a response and closes the connection', async () => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port);
    expect((await client.request('unbind')).command_status).toBe(ROK);
    await client.closed;
    await expect.poll(() => smsc.sessions()).toEqual([]);
  });

  test('the simulator may request an unbind, and closes on the response', async () => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port);
    smsc.unbindAll();
    await client.closed;
    expect(client.received.map((pdu) => pdu.command)).toEqual(['unbind']);
  });

  test('with a certificate everything uses TLS', async () => {
    const pem = (name: string) => readFileSync(new URL(`../smpp/fixtures/${name}.pem`, import.meta.url), 'utf8');
    const smsc = await start({ tls: { key: pem('key'), cert: pem('cert') } });
    const client = await connectLibrary(smsc.port, { tls: true, ca: pem('cert'), servername: 'localhost' });
    const bind = { system_id: 'gw1', password: 'secret08', interface_version: 0x34 };
    expect((await client.request('bind_transceiver', bind)).command_status).toBe(ROK);
    expect((await client.submit('351912340000')).command_status).toBe(ROK);
    await client.until(() => client.received.length === 1);
    await smsc.dropConnections();
    await client.closed;
  });
});

describe('liveness', () => {
  test('enquire_link gets a response, bound or not', async () => {
    const smsc = await start();
    const client = await connectLibrary(smsc.port);
    expect((await client.request('enquire_link')).command).toBe('enquire_link_resp');
  });

  test('a quiet client is probed, and stays connected while it responds', async () => {
    stopClock();
    const smsc = await start({ enquireMs: 30_000 });
    const client = await bindLibrary(smsc.port);
    await passTime(300_000);
    expect(smsc.sessions()).toHaveLength(1);
    expect(client.received.filter((pdu) => pdu.command === 'enquire_link').length).toBeGreaterThanOrEqual(4);
  });

  test('a client that does not respond is disconnected', async () => {
    stopClock();
    const smsc = await start({ enquireMs: 30_000 });
    const client = await bindLibrary(smsc.port);
    client.answerWith = () => null;
    await passTime(60_000);
    expect(client.received).toMatchObject([{ command: 'enquire_link' }]);
    expect(smsc.sessions()).toHaveLength(1);
    await passTime(60_000);
    await client.closed;
  });
});

describe('messages', () => {
  test('the receipt names the id of the response and has the addresses swapped', async () => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port);
    const { message_id } = await client.submit('351912345678');
    await client.until(() => client.received.length === 1);
    expect(client.received[0]).toMatchObject({
      command: 'deliver_sm',
      source_addr: '351912345678',
      source_addr_ton: 1,
      destination_addr: 'ACME',
      dest_addr_ton: 5,
      esm_class: 0x04,
      receipted_message_id: message_id,
      message_state: 2,
    });
    expect(textOf(client.received[0])).toMatch(
      new RegExp(
        `^id:${message_id} sub:001 dlvrd:001 submit date:\\d{10} done date:\\d{10} stat:DELIVRD err:000 text:Hello$`,
      ),
    );
  });

  test('the ledger agrees with what the client sent and saw', async () => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port);
    const responses = await Promise.all(
      ['351912340001', '351912340002', '351912349909'].map((to) => client.submit(to)),
    );
    await client.until(() => client.received.length === 2);
    await expect.poll(() => smsc.ledger.counts().receiptsAcked).toBe(2);
    const [first, second, third] = smsc.ledger.submits();
    const ids = responses.map((response) => response['message_id']);
    expect(first).toMatchObject({ destination: '351912340001', id: ids[0], status: 'ESME_ROK', answered: true });
    expect(second).toMatchObject({ destination: '351912340002', id: ids[1], text: 'Hello', source: 'ACME' });
    expect(third).toMatchObject({ id: null, status: 'ESME_RINVDSTADR', answered: true });
    expect(smsc.ledger.deliveries('receipt')).toMatchObject([
      { id: ids[0], text: 'DELIVRD', tries: 1, result: 'acked' },
      { id: ids[1], text: 'DELIVRD', tries: 1, result: 'acked' },
    ]);
    expect(smsc.ledger.violations()).toEqual([]);
    expect(smsc.ledger.answers()).toEqual({ ESME_ROK: 2, ESME_RINVDSTADR: 1 });
  });

  test('the parts of a long message are recorded with their position and their text', async () => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port);
    const part = (seq: number, text: string) =>
      client.submit('351912340000', {
        esm_class: 0x40,
        short_message: Buffer.concat([Buffer.from([5, 0, 3, 0x5c, 2, seq]), Buffer.from(text)]),
      });
    await Promise.all([part(1, 'one'), part(2, 'two')]);
    expect(smsc.ledger.submits()).toMatchObject([
      { text: 'one', concat: { ref: 0x5c, total: 2, seq: 1 } },
      { text: 'two', concat: { ref: 0x5c, total: 2, seq: 2 } },
    ]);
  });

  test('UCS-2 and message_payload are read', async () => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port);
    const emoji = Buffer.from('Olá 😀', 'utf16le').swap16();
    await client.submit('351912340000', { data_coding: 8, short_message: emoji });
    await client.submit('351912340000', {
      short_message: Buffer.alloc(0),
      message_payload: Buffer.from('a'.repeat(500)),
    });
    expect(smsc.ledger.submits().map((entry) => entry.text)).toEqual(['Olá 😀', 'a'.repeat(500)]);
  });

  test('query, cancel and replace work on a message until it is final', async () => {
    const smsc = await start({ receiptDelayMs: 60_000 });
    const client = await bindLibrary(smsc.port);
    const { message_id } = await client.submit('351912340000');
    const named = { message_id, source_addr: 'ACME', destination_addr: '351912340000' };
    expect(await client.request('query_sm', named)).toMatchObject({
      message_id,
      message_state: 1,
      command_status: ROK,
    });
    expect(await client.request('replace_sm', { ...named, short_message: 'New' })).toMatchObject({
      command_status: ROK,
    });
    expect(await client.request('cancel_sm', named)).toMatchObject({ command_status: ROK });
    expect(await client.request('query_sm', named)).toMatchObject({ message_state: 4 });
    expect(await client.request('cancel_sm', named)).toMatchObject({ command_status: 0x11 });
    expect(await client.request('replace_sm', { ...named, short_message: 'X' })).toMatchObject({
      command_status: 0x13,
    });
    expect(await client.request('query_sm', { ...named, message_id: '1' })).toMatchObject({ command_status: 0x0c });
    expect(await client.request('cancel_sm', { ...named, source_addr: 'OTHER' })).toMatchObject({
      command_status: 0x0c,
    });
  });

  test('a cancelled message gets one receipt, DELETED', async () => {
    stopClock();
    const smsc = await start({ receiptDelayMs: 50 });
    const client = await bindLibrary(smsc.port);
    const { message_id } = await client.submit('351912349904');
    await client.request('cancel_sm', { message_id, source_addr: 'ACME' });
    await passTime(1000);
    await client.until(() => client.received.length === 1);
    expect(textOf(client.received[0])).toContain('stat:DELETED');
    expect(smsc.waiting()).toBe(0);
  });

  test('registered_delivery decides which receipts are sent', async () => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port);
    await client.submit('351912340000', { registered_delivery: 0 });
    await client.submit('351912340000', { registered_delivery: 2 });
    await client.submit('351912349901', { registered_delivery: 2 });
    await client.submit('351912349904', { registered_delivery: 0x11 });
    await client.until(() => client.received.length === 3);
    expect(statesOf(client)).toEqual(['UNDELIV', 'ENROUTE', 'DELIVRD']);
    expect(client.received.map((pdu) => pdu['esm_class'])).toEqual([0x04, 0x20, 0x04]);
  });

  test('an unsupported PDU and a malformed one are refused and counted as violations', async () => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port);
    const multi = { source_addr: 'ACME', dest_address: [], short_message: 'x' };
    expect(await client.request('submit_multi', multi)).toMatchObject({ command: 'generic_nack', command_status: 3 });
    expect(smsc.ledger.violations()).toEqual([expect.stringContaining('submit_multi is not supported')]);
  });
});

describe('inbound messages', () => {
  test.each([
    ['udh8', 160, 1],
    ['udh8', 161, 2],
    ['udh16', 161, 2],
    ['sar', 161, 2],
    ['payload', 500, 1],
  ] as const)('%s carries %i characters in %i parts', async (longMode, length, parts) => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port, 'receiver');
    const text = 'x'.repeat(length);
    const result = await smsc.injectMo({ source: '351911111111', destination: '351922222222', text, longMode });
    expect(result).toEqual({ parts, acked: parts });
    expect(client.received).toHaveLength(parts);
    expect(client.received.map(textOf).join('')).toBe(text);
    expect(smsc.ledger.deliveries('inbound').every((entry) => entry.result === 'acked')).toBe(true);
  });

  test('parts can come in the wrong order', async () => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port, 'receiver');
    const text = `${'a'.repeat(67)}${'b'.repeat(66)}ã`;
    await smsc.injectMo({ source: '351911111111', destination: '351922222222', text, outOfOrder: true });
    expect(client.received.map((pdu) => textOf(pdu)[0])).toEqual(['b', 'a']);
  });

  test('a message without an account is an error, and one for a named account waits for its bind', async () => {
    const smsc = await start();
    const inbound = { source: '351911111111', destination: '351922222222', text: 'hi' };
    await expect(smsc.injectMo(inbound)).rejects.toThrow('no account has bound');
    const injected = smsc.injectMo({ ...inbound, systemId: 'gw1' });
    expect(smsc.waiting()).toBe(1);
    await bindLibrary(smsc.port, 'receiver');
    expect(await injected).toEqual({ parts: 1, acked: 1 });
  });
});
