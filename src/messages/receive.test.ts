import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { reset } from '../../test/support/reset.ts';
import { until } from '../../test/support/until.ts';
import type { Inbound } from '../channels/carrier.ts';
import { createPool } from '../core/db/pool.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { createMetrics } from '../core/metrics.ts';
import { receiveIntoInbox } from '../inbox/receive.ts';
import { createAccount } from '../operate/account-commands.ts';
import { insertConnection } from '../routing/connection-store.ts';
import { createInboundInbox, endOverdueParts, NO_ACCOUNT_ID } from './inbound.ts';
import * as db from './inbound-store.ts';

const { pool } = testDatabase();

let connectionId: number;
let accountId: number;
let otherId: number;
beforeAll(async () => {
  connectionId = (await insertConnection(pool, { name: 'main', kind: 'smpp', sandbox: false, settings: {} }))?.id ?? 0;
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'trial' }));
  ({ accountId: otherId } = await createAccount(pool, { name: 'Other', plan: 'trial' }));
});
beforeEach(() => reset(pool, sql`TRUNCATE inbound_number, inbound_part, inbound_seen, inbound_message`));

const inbound = (text: string, more: Partial<Inbound> = {}): Inbound => ({
  source: '393331234567',
  destination: '4400',
  text,
  concat: null,
  raw: Buffer.from(text, 'utf16le'),
  ...more,
});
const partOf = (texts: readonly string[], seq: number, more: Partial<Inbound> = {}): Inbound =>
  inbound(texts[seq - 1] ?? '', { concat: { ref: 300, total: texts.length, seq }, ...more });

const metrics = createMetrics();
const open = () => createInboundInbox({ log: silentLog, metrics, pool, onInbound: receiveIntoInbox });
/** Takes one after another, each once the response to the one before is written. */
async function answer(...messages: readonly Inbound[]): Promise<void> {
  const take = open();
  for (const message of messages) await take({ connectionId, inbound: message }, Promise.resolve());
}
const countRepeats = async (): Promise<number> =>
  Number(/inbound_repeats_total\{channel="SMS"\} (\d+)/.exec(await metrics.scrape())?.[1] ?? 0);

/** Takes these at the same time, as one worker would, over a link that ends before their responses are written. */
const arrive = (...messages: readonly Inbound[]): Promise<unknown> => {
  const take = open();
  return Promise.all(messages.map((message) => take({ connectionId, inbound: message })));
};
/** Oldest first. */
const stored = async (account = NO_ACCOUNT_ID): Promise<db.InboundMessage[]> =>
  (await db.listInboundMessages(pool, { accountId: account, limit: 100 })).toReversed();
const bodies = async (account = NO_ACCOUNT_ID): Promise<string[]> => (await stored(account)).map((m) => m.body);
const countWaiting = async (): Promise<number> => (await many(pool, sql`SELECT FROM inbound_part`)).length;
/** Moves the arrival of all stored parts back by this many minutes. */
const age = async (minutes: number): Promise<void> => {
  await exec(pool, sql`UPDATE inbound_part SET received_at = received_at - ${minutes} * interval '1 minute'`);
  await exec(pool, sql`UPDATE inbound_seen SET forget_at = forget_at - ${minutes} * interval '1 minute'`);
};

describe('whole messages', () => {
  test('a message is committed unchanged before its promise resolves', async () => {
    const before = new Date();
    await arrive(inbound('Ciao 😀', { source: '+393331234567' }));
    const [message, ...others] = await stored();
    expect(others).toEqual([]);
    expect(message).toMatchObject({
      accountId: NO_ACCOUNT_ID,
      connection: 'main',
      source: '393331234567',
      destination: '4400',
      body: 'Ciao 😀',
      parts: 1,
      partsReceived: 1,
    });
    expect(Math.abs(Number(message?.receivedAt) - Number(before))).toBeLessThan(10_000);
  });

  test('a message that cannot be stored is an error: the carrier must not get an acknowledgement', async () => {
    const away = createPool('postgres://nobody@127.0.0.1:1/none', { max: 1, applicationName: 'test', log: silentLog });
    await expect(
      createInboundInbox({ log: silentLog, metrics, pool: away, onInbound: receiveIntoInbox })({
        connectionId,
        inbound: inbound('x'),
      }),
    ).rejects.toThrow('ECONNREFUSED');
    await away.end();
  });

  test('garbage is stored as text where it is text, with all its bytes, and does not harm the batch', async () => {
    const garbage = Buffer.from(Array.from({ length: 256 }, (_, n) => n));
    const endless = 'x'.repeat(70_000);
    await arrive(
      inbound('before'),
      inbound('nul \0 half \ud83d end', { source: 'a\0b', raw: garbage }),
      inbound('', { source: '', destination: '', raw: Buffer.alloc(0) }),
      inbound(endless, { source: endless, destination: endless }),
      inbound('after'),
    );
    expect(await bodies()).toEqual(['before', 'nul  half \ufffd end', '', endless, 'after']);
    const rows = await many<{ octets: Buffer }>(pool, sql`SELECT octets FROM inbound_message WHERE source = 'ab'`);
    expect(rows.map((row) => row.octets)).toEqual([garbage]);
  });

  test('many at the same time are all stored, in the order in which they arrived', async () => {
    const texts = Array.from({ length: 2500 }, (_, n) => `text ${n}`);
    await arrive(...texts.map((text) => inbound(text)));
    const rows = await many<{ body: string }>(pool, sql`SELECT body FROM inbound_message ORDER BY id`);
    expect(rows.map((row) => row.body)).toEqual(texts);
  });
});

describe('owners', () => {
  const assign = (number: string, account: number) =>
    db.insertNumber(pool, { connectionId, number, accountId: account });

  test('a message belongs to the account that has its number', async () => {
    await assign('4400', accountId);
    await arrive(
      inbound('mine'),
      inbound('with a plus', { destination: '+4400' }),
      inbound('no', { destination: '1' }),
    );
    expect(await bodies(accountId)).toEqual(['mine', 'with a plus']);
    expect(await bodies()).toEqual(['no']);
  });

  test('* has every other number of the connection, and texts instead of numbers too', async () => {
    await assign('*', otherId);
    await assign('4400', accountId);
    await arrive(inbound('mine'), inbound('rest', { destination: '4401' }), inbound('name', { destination: 'ACME' }));
    expect(await bodies(accountId)).toEqual(['mine']);
    expect(await bodies(otherId)).toEqual(['rest', 'name']);
  });

  test('the same number on another connection is another number', async () => {
    await assign('4400', accountId);
    await open()({
      connectionId: connectionId + 1000,
      inbound: inbound('elsewhere'),
    });
    const rows = await many(pool, sql`SELECT account_id AS "accountId" FROM inbound_message`);
    expect(rows).toEqual([{ accountId: NO_ACCOUNT_ID }]);
  });

  test('a change of the owner counts from the next message on', async () => {
    await assign('4400', accountId);
    await arrive(inbound('one'));
    await assign('4400', otherId);
    await arrive(inbound('two'));
    expect([await bodies(accountId), await bodies(otherId)]).toEqual([['one'], ['two']]);
  });

  test('a long message has an owner like a short one', async () => {
    await assign('4400', accountId);
    await arrive(partOf(['a', 'b'], 1), partOf(['a', 'b'], 2));
    expect(await bodies(accountId)).toEqual(['ab']);
  });
});

describe('long messages', () => {
  const texts = ['one ', 'two ', 'three'];

  test.each([[[1, 2, 3]], [[3, 1, 2]], [[3, 2, 1]]])('parts that come as %j become one text', async (order) => {
    for (const seq of order) {
      expect(await bodies()).toEqual([]);
      await arrive(partOf(texts, seq));
    }
    expect(await stored()).toMatchObject([{ body: 'one two three', parts: 3, partsReceived: 3 }]);
    expect(await countWaiting()).toBe(0);
  });

  test('all parts in one batch become one text, whatever is between them', async () => {
    await arrive(partOf(texts, 2), inbound('between'), partOf(texts, 1), partOf(texts, 3));
    expect(new Set(await bodies())).toEqual(new Set(['between', 'one two three']));
  });

  test('a pair of surrogates that is split between two parts is whole again', async () => {
    const halves = ['smile \ud83d', '\ude00 please'];
    await arrive(partOf(halves, 2));
    await arrive(partOf(halves, 1));
    expect(await bodies()).toEqual(['smile 😀 please']);
  });

  test('parts with the same bytes are not repeats of each other', async () => {
    const same = ['ha', 'ha', 'ha'];
    await arrive(partOf(same, 1), partOf(same, 2), partOf(same, 3));
    expect(await bodies()).toEqual(['hahaha']);
  });

  test('two workers that each store a half at the same time make one message', async () => {
    for (let n = 0; n < 20; n++) {
      const place = (seq: number): Inbound => partOf(['left ', 'right'], seq, { source: `39${n}` });
      await Promise.all([arrive(place(1)), arrive(place(2))]);
    }
    expect(await bodies()).toEqual(Array.from({ length: 20 }, () => 'left right'));
    expect(await countWaiting()).toBe(0);
  });

  test('after ten minutes the parts that are there become a message that says what is missing', async () => {
    await arrive(partOf(texts, 3));
    await age(9);
    await arrive(partOf(texts, 1));
    expect(await endOverdueParts({ pool, onInbound: receiveIntoInbox })).toBe(0);
    await age(2);
    expect(await endOverdueParts({ pool, onInbound: receiveIntoInbox })).toBe(1);
    const [message] = await stored();
    expect(message).toMatchObject({ body: 'one three', parts: 3, partsReceived: 2 });
    expect(Date.now() - Number(message?.receivedAt)).toBeGreaterThan(10.9 * 60_000);
    expect(await endOverdueParts({ pool, onInbound: receiveIntoInbox })).toBe(0);
    expect(await countWaiting()).toBe(0);
  });

  test('a part that arrives later than that becomes a separate message in the end', async () => {
    await arrive(partOf(texts, 1), partOf(texts, 3));
    await age(11);
    await endOverdueParts({ pool, onInbound: receiveIntoInbox });
    await arrive(partOf(texts, 2));
    expect(await bodies()).toEqual(['one three']);
    await age(11);
    await endOverdueParts({ pool, onInbound: receiveIntoInbox });
    expect(await stored()).toMatchObject([{}, { body: 'two ', partsReceived: 1 }]);
  });

  test('a reference that is used again before the first message is complete loses neither message', async () => {
    await arrive(partOf(texts, 1), partOf(texts, 3));
    const next = ['four ', 'five ', 'six'];
    await arrive(partOf(next, 1), partOf(next, 2), partOf(next, 3));
    expect(await bodies()).toEqual(['one three', 'four five six']);
  });
});

describe('repeats', () => {
  test('what a person writes twice is two messages, however soon', async () => {
    await answer(inbound('ok'), inbound('ok'), inbound('yes'), inbound('ok'));
    expect(await bodies()).toEqual(['ok', 'ok', 'yes', 'ok']);
  });

  test('what a carrier repeats without a response is stored once, counted and logged', async () => {
    const before = await countRepeats();
    await arrive(inbound('once'), inbound('once'));
    await age(14);
    await arrive(inbound('once'));
    expect(await bodies()).toEqual(['once']);
    expect((await countRepeats()) - before).toBe(2);
  });

  test('a repeat that waits here while the response to the first one is written is still a repeat', async () => {
    const take = open();
    const written = Promise.withResolvers<void>();
    const first = take({ connectionId, inbound: inbound('slow') }, written.promise).then(written.resolve);
    await Promise.all([first, take({ connectionId, inbound: inbound('slow') })]);
    expect(await bodies()).toEqual(['slow']);
    // That the response is written is noticed a moment later.
    await until('a repetition that is no repeat', async () => {
      await answer(inbound('slow'));
      return (await bodies()).length === 2;
    });
  });

  test('the id of the carrier tells repeats from new messages, acknowledged or not', async () => {
    const [one, two] = [inbound('ok', { carrierId: '7A' }), inbound('ok', { carrierId: '7B' })];
    await answer(one, one, two);
    await arrive(one, two);
    await answer(inbound('no', { carrierId: '7A' }));
    expect(await bodies()).toEqual(['ok', 'ok', 'no']);
  });

  test('STOP and START count each time, even over a link that ends before they get a response', async () => {
    await db.insertNumber(pool, { connectionId, number: '4400', accountId });
    const isOut = async (): Promise<boolean> =>
      (await many(pool, sql`SELECT FROM opt_out WHERE account_id = ${accountId}`)).length > 0;
    const seen: boolean[] = [];
    for (const text of ['STOP', 'START', 'STOP', 'START', 'STOP']) {
      await arrive(inbound(text));
      seen.push(await isOut());
    }
    expect(seen).toEqual([true, false, true, false, true]);
  });

  test('after 15 minutes the same text is a new message, even without a response to the first one', async () => {
    await arrive(inbound('daily'));
    await age(16);
    await arrive(inbound('daily'));
    expect(await bodies()).toEqual(['daily', 'daily']);
  });

  test('the same text from another sender, to another number or on another connection is not a repeat', async () => {
    await arrive(inbound('hi'), inbound('hi', { source: '39' }), inbound('hi', { destination: '4401' }));
    await open()({
      connectionId: connectionId + 1,
      inbound: inbound('hi'),
    });
    expect(await many(pool, sql`SELECT FROM inbound_message`)).toHaveLength(4);
  });

  test('a repeated part adds nothing, before and after the message is complete', async () => {
    const texts = ['one ', 'two'];
    await arrive(partOf(texts, 1), partOf(texts, 1));
    await arrive(partOf(texts, 1));
    await arrive(partOf(texts, 2));
    await arrive(partOf(texts, 2), partOf(texts, 1));
    expect(await bodies()).toEqual(['one two']);
    expect(await countWaiting()).toBe(0);
  });

  test('a message that failed to be stored is not a repeat when it comes again', async () => {
    await exec(pool, sql`ALTER TABLE inbound_message ADD CONSTRAINT broken CHECK (body <> 'once')`);
    await expect(arrive(inbound('once'))).rejects.toThrow('broken');
    await exec(pool, sql`ALTER TABLE inbound_message DROP CONSTRAINT broken`);
    await arrive(inbound('once'));
    expect(await bodies()).toEqual(['once']);
  });

  test('only what came long ago is forgotten', async () => {
    await arrive(inbound('old'));
    await age(16);
    await arrive(inbound('new'));
    expect(await db.deleteOldSeen(pool)).toBe(1);
    expect(await many(pool, sql`SELECT FROM inbound_seen`)).toHaveLength(1);
  });
});
