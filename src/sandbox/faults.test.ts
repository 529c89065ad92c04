import { describe, expect, test } from 'vitest';
import {
  bindLibrary,
  connectLibrary,
  type LibraryPdu,
  startForTest as start,
} from '../../test/support/carriers/smpp-library-client.ts';

const RMSGQFUL = 0x14;
const RTHROTTLED = 0x58;
const RX_T_APPN = 0x64;
const RX_P_APPN = 0x65;

const many = (length: number) => Array.from({ length }, (_, index) => `35191234${String(index).padStart(4, '0')}`);
const statusOf = (pdu: LibraryPdu) => pdu.command_status;

describe('submits', () => {
  test.each([
    ['ESME_RTHROTTLED', RTHROTTLED],
    ['ESME_RMSGQFUL', RMSGQFUL],
  ] as const)('more than the window gets %s, and a client that keeps to it never is', async (windowStatus, status) => {
    const smsc = await start({ window: 5, windowStatus, responseDelayMs: 60_000 });
    const client = await bindLibrary(smsc.port);
    const held = Promise.allSettled(many(5).map((to) => client.submit(to)));
    await expect.poll(() => smsc.ledger.counts().accepted).toBe(5);
    smsc.script.responseDelayMs = 0;
    expect((await Promise.all(many(3).map((to) => client.submit(to)))).map(statusOf)).toEqual([status, status, status]);
    expect(smsc.ledger.counts().accepted).toBe(5);
    await client.close();
    await held;
    const other = await bindLibrary(smsc.port);
    const kept = await Promise.all(many(5).map((to) => other.submit(to)));
    expect(kept.map(statusOf)).toEqual([0, 0, 0, 0, 0]);
  });

  test('submits above the agreed rate are throttled, over all binds of the account', async () => {
    const smsc = await start({ tps: 40 });
    const clients = [await bindLibrary(smsc.port), await bindLibrary(smsc.port)];
    const started = performance.now();
    const answers = await Promise.all(clients.flatMap((client) => many(20).map((to) => client.submit(to))));
    const most = 10 + Math.ceil(((performance.now() - started) / 1000) * 40);
    const taken = answers.filter((answer) => answer.command_status === 0).length;
    expect(taken).toBeGreaterThanOrEqual(10);
    expect(taken).toBeLessThanOrEqual(most);
    expect(answers.filter((answer) => answer.command_status === RTHROTTLED)).toHaveLength(40 - taken);
    await expect.poll(async () => (await clients[0]?.submit('351912340000'))?.command_status).toBe(0);
  });

  test('a dropped response never arrives, and the message is in the ledger as accepted and unanswered', async () => {
    const smsc = await start({ dropResponseShare: 1 });
    const client = await bindLibrary(smsc.port);
    const lost = client.submit('351912340000');
    await client.until(() => client.received.length === 1);
    smsc.script.dropResponseShare = 0;
    await client.submit('351912340001');
    expect(smsc.ledger.submits().map((entry) => entry.answered)).toEqual([false, true]);
    expect(smsc.ledger.counts()).toMatchObject({ accepted: 2, answered: 1 });
    await client.close();
    await expect(lost).rejects.toThrow('closed before the response');
  });

  test('responses can be reordered', async () => {
    const smsc = await start({ receipts: 'none', reorderResponseShare: 0.5, reorderMs: 20 });
    const client = await bindLibrary(smsc.port);
    const order: number[] = [];
    await Promise.all(many(20).map(async (to, index) => client.submit(to).then(() => order.push(index))));
    expect(order).not.toEqual(order.toSorted((a, b) => a - b));
    expect(order).toHaveLength(20);
  });

  test('a cut in the middle of a window accepts exactly as many messages as the script says and responds to none of the last', async () => {
    const smsc = await start({ cutAfter: 10, receipts: 'none' });
    const client = await bindLibrary(smsc.port);
    const answers = await Promise.allSettled(many(50).map((to) => client.submit(to)));
    await client.closed;
    const answered = answers.filter((answer) => answer.status === 'fulfilled').length;
    expect(smsc.ledger.counts()).toMatchObject({ submits: 10, accepted: 10 });
    expect(smsc.ledger.submits().at(-1)?.answered).toBe(false);
    expect(smsc.ledger.counts().answered).toBe(answered);
    smsc.script.cutAfter = 0;
    expect((await (await bindLibrary(smsc.port)).submit('351912340000')).command_status).toBe(0);
  });

  test('a response that still waits when the connection drops stays unanswered in the ledger', async () => {
    const smsc = await start({ responseDelayMs: 60_000, receipts: 'none' });
    const client = await bindLibrary(smsc.port);
    const submits = Promise.allSettled(many(5).map((to) => client.submit(to)));
    await expect.poll(() => smsc.ledger.counts().accepted).toBe(5);
    await smsc.dropConnections();
    expect((await submits).every((answer) => answer.status === 'rejected')).toBe(true);
    expect(smsc.ledger.counts().answered).toBe(0);
  });
});

describe('an unreachable carrier', () => {
  test('a silent carrier does not respond until it reads again', async () => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port);
    smsc.pauseReads();
    const submit = client.submit('351912340000');
    const late = connectLibrary(smsc.port);
    const enquire = late.then((other) => other.request('enquire_link'));
    await late;
    expect(smsc.ledger.counts().submits).toBe(0);
    smsc.resumeReads();
    expect((await submit).command_status).toBe(0);
    expect((await enquire).command).toBe('enquire_link_resp');
  });

  test('a carrier that is down refuses connections, keeps open ones, and returns on the same port', async () => {
    const smsc = await start();
    const client = await bindLibrary(smsc.port);
    smsc.refuseConnections();
    await expect(connectLibrary(smsc.port)).rejects.toThrow('ECONNREFUSED');
    expect((await client.submit('351912340000')).command_status).toBe(0);
    await smsc.acceptConnections();
    expect((await bindLibrary(smsc.port)).bound.command_status).toBe(0);
  });
});

describe('deliver_sm', () => {
  test('no session ever has more unanswered deliveries than its window, and every receipt arrives', async () => {
    const smsc = await start({ deliverWindow: 3 });
    const client = await bindLibrary(smsc.port);
    const held: LibraryPdu[] = [];
    client.answerWith = (pdu) => {
      held.push(pdu);
      return null;
    };
    await Promise.all(many(10).map((to) => client.submit(to)));
    await client.until(() => held.length === 3);
    await expect.poll(() => smsc.waiting()).toBe(7);
    expect(held).toHaveLength(3);
    client.answerWith = () => 0;
    for (const pdu of held) client.answer(pdu, 0);
    await expect.poll(() => smsc.ledger.counts().receiptsAcked).toBe(10);
  });

  test('a temporarily refused delivery is repeated until it is accepted', async () => {
    const smsc = await start({ retryMs: 20 });
    const client = await bindLibrary(smsc.port);
    client.answerWith = () => (client.received.length < 3 ? RX_T_APPN : 0);
    await client.submit('351912340000');
    await expect.poll(() => smsc.ledger.deliveries('receipt')).toMatchObject([{ result: 'acked' }]);
    // On a busy machine a response may come too late, which is one more try.
    const tries = client.received.length;
    expect(tries).toBeGreaterThanOrEqual(3);
    expect(smsc.ledger.deliveries('receipt')).toMatchObject([{ tries }]);
    expect(new Set(client.received.map((pdu) => pdu.sequence_number)).size).toBe(tries);
  });

  test('an unanswered delivery is repeated, and given up after the last attempt', async () => {
    const smsc = await start({ retryMs: 20, maxTries: 3 });
    const client = await bindLibrary(smsc.port);
    client.answerWith = () => null;
    await client.submit('351912340000');
    await expect.poll(() => smsc.ledger.counts().receiptsLost).toBe(1);
    expect(client.received).toHaveLength(3);
    expect(smsc.ledger.deliveries('receipt')).toMatchObject([{ tries: 3, result: 'lost' }]);
  });

  test('a permanently refused delivery is not repeated', async () => {
    // Longer than any response takes on a busy machine: a late one would be one more try.
    const smsc = await start({ retryMs: 60_000 });
    const client = await bindLibrary(smsc.port);
    client.answerWith = () => RX_P_APPN;
    await client.submit('351912340000');
    await expect.poll(() => smsc.ledger.counts().receiptsRefused).toBe(1);
    expect(smsc.waiting()).toBe(0);
    expect(client.received).toHaveLength(1);
  });

  test('receipts wait while no session can receive, and go to the next one that binds', async () => {
    const smsc = await start();
    const transmitter = await bindLibrary(smsc.port, 'transmitter');
    await Promise.all(many(3).map((to) => transmitter.submit(to)));
    await expect.poll(() => smsc.waiting()).toBe(3);
    const otherBind = await bindLibrary(smsc.port, 'receiver', { system_id: 'other' });
    const receiver = await bindLibrary(smsc.port, 'receiver');
    await receiver.until(() => receiver.received.length === 3);
    expect(otherBind.received).toEqual([]);
  });

  test('deliveries beyond the queue limit are lost and counted', async () => {
    const smsc = await start({ maxWaiting: 2 });
    const transmitter = await bindLibrary(smsc.port, 'transmitter');
    await Promise.all(many(3).map((to) => transmitter.submit(to)));
    await expect.poll(() => smsc.ledger.counts().receiptsLost).toBe(1);
    expect(smsc.ledger.deliveries('receipt').map((entry) => entry.result)).toEqual(['waiting', 'waiting', 'lost']);
  });

  test('the unanswered deliveries of a closed session go to another one', async () => {
    const smsc = await start({ retryMs: 60_000 });
    const first = await bindLibrary(smsc.port);
    first.answerWith = () => null;
    await Promise.all(many(3).map((to) => first.submit(to)));
    await first.until(() => first.received.length === 3);
    const second = await bindLibrary(smsc.port, 'receiver');
    await first.close();
    await second.until(() => second.received.length === 3);
    const sources = (pdus: LibraryPdu[]) => pdus.map((pdu) => pdu['source_addr']);
    expect(sources(second.received)).toEqual(sources(first.received));
  });

  test('a session that unbinds leaves its receipts to the others at once', async () => {
    const smsc = await start({ retryMs: 60_000, maxBinds: 2 });
    const [first, second] = [await bindLibrary(smsc.port), await bindLibrary(smsc.port, 'receiver')];
    first.answerWith = () => null;
    await Promise.all(many(4).map((to) => first.submit(to)));
    await first.until(() => first.received.length === 2);
    await first.request('unbind');
    await second.until(() => second.received.length === 4);
    expect((await bindLibrary(smsc.port)).bound.command_status).toBe(0);
  });

  test('all sessions of an account get their share', async () => {
    const smsc = await start();
    const [first, second] = [await bindLibrary(smsc.port), await bindLibrary(smsc.port, 'receiver')];
    await Promise.all(many(20).map((to) => first.submit(to)));
    await expect.poll(() => smsc.ledger.counts().receiptsAcked).toBe(20);
    expect([first, second].map((client) => client.received.length)).toEqual([10, 10]);
  });
});
