import { randomInt } from 'node:crypto';
import type { Pool } from 'pg';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { accepted, createScriptedCarrier, retry } from '../../test/support/carriers/scripted-carrier.ts';
import { testDatabase } from '../../test/support/database.ts';
import { actor, draft, flatPrice, freeOver } from '../../test/support/drafts.ts';
import { startLostAnswers } from '../../test/support/lost-answers.ts';
import { createAccountWithCredit, readBooks } from '../../test/support/money.ts';
import { listUnknownIds, resultOf, statesOf } from '../../test/support/queue.ts';
import { receipt } from '../../test/support/receipts.ts';
import { until } from '../../test/support/until.ts';
import type { Outcome } from '../channels/carrier.ts';
import { createPool } from '../core/db/pool.ts';
import { many, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { silentLog } from '../core/log.ts';
import { isFinal, STATUS, STATUS_NAMES, type StatusName } from '../core/message-state.ts';
import type { Result } from '../dispatch/commit.ts';
import { createWaker, startPump } from '../dispatch/pump.ts';
import type { PriceQuery } from '../money/pricing.ts';
import { type Accept, createAccept } from './accept.ts';
import { endMessages } from './end.ts';
import { loadJobs } from './load.ts';
import type { Draft, Verdict } from './read-send.ts';
import { receiveReceipts, settleOutcomes } from './settle.ts';
import { listRecordsById } from './status.ts';
import { EXPIRED_BY_US } from './store.ts';

const { pool, connectionString } = testDatabase();

const PRICE = 10;
/** Numbers of Italy give their price back; those of France have none. */
const tables = {
  ...freeOver(() => [1]),
  findPrice: (message: PriceQuery) =>
    message.destination.startsWith('+33') ? null : flatPrice(PRICE, message.destination.startsWith('+39'))(message),
};
const REFUNDABLE = '+393331234567';

let accept: Accept;
beforeAll(async () => {
  accept = acceptOn(pool);
});

function acceptOn(on: Pool): Accept {
  const waker = { ...createWaker(on), wake: () => undefined };
  return createAccept({ pool: on, tables, waker, recentMessages: null });
}

/** A text of this many parts. */
const ofParts = (parts: number): Partial<Draft> => ({ body: 'a'.repeat(parts === 1 ? 1 : 153 * parts) });
const outcomesOf = (verdicts: readonly Verdict[]): string[] =>
  verdicts.map((v) => (v.kind === 'refused' ? v.refusal : v.kind));
const idOf = (verdict: Verdict | undefined): string => (verdict?.kind === 'accepted' ? verdict.messageId : '');

describe('accepting', () => {
  test('freezes the price of every part', async () => {
    const id = await createAccountWithCredit(pool, 100);
    await accept.many(actor(id), [draft(), draft(ofParts(3))]);
    expect(await readBooks(pool, id)).toMatchObject({ available: 60, frozen: 40 });
  });

  test('refuses exactly the messages that the credit does not cover, in order: a cheaper one behind them may fit', async () => {
    const id = await createAccountWithCredit(pool, 59);
    const drafts = [2, 3, 1, 4, 2, 1].map((parts) => draft(ofParts(parts)));
    const verdicts = await accept.many(actor(id), drafts);
    expect(outcomesOf(verdicts)).toEqual(['accepted', 'accepted', 'no_credit', 'no_credit', 'no_credit', 'no_credit']);
    const other = await createAccountWithCredit(pool, 49);
    const second = await accept.many(actor(other), drafts);
    expect(outcomesOf(second)).toEqual(['accepted', 'no_credit', 'accepted', 'no_credit', 'no_credit', 'accepted']);
    expect(await readBooks(pool, other)).toMatchObject({ available: 9, frozen: 40 });
    expect(await storedOf(other)).toBe(3);
  });

  test('refuses them across accounts in one commit, and no account pays for another', async () => {
    const [rich, poor, broke] = [
      await createAccountWithCredit(pool, 1000),
      await createAccountWithCredit(pool, 25),
      await createAccountWithCredit(pool, 0),
    ];
    const verdicts = await Promise.all(
      Array.from({ length: 30 }, (_, n) => accept.one(actor([rich, poor, broke][n % 3]), draft({ body: `${n}` }))),
    );
    const of = (account: number): string[] => outcomesOf(verdicts.filter((_, n) => n % 3 === account));
    expect(of(0)).toEqual(Array.from({ length: 10 }, () => 'accepted'));
    expect(of(1)).toEqual(['accepted', 'accepted', ...Array.from({ length: 8 }, () => 'no_credit')]);
    expect(of(2)).toEqual(Array.from({ length: 10 }, () => 'no_credit'));
    expect(await readBooks(pool, rich)).toMatchObject({ available: 900, frozen: 100 });
    expect(await readBooks(pool, poor)).toMatchObject({ available: 5, frozen: 20 });
    expect(await readBooks(pool, broke)).toMatchObject({ available: 0, frozen: 0 });
  });

  test('charges a client id once: repeats cost nothing, not even when the credit is gone', async () => {
    const id = await createAccountWithCredit(pool, 20);
    const first = await accept.many(actor(id), [draft({ clientId: 'a' }), draft({ clientId: 'a' })]);
    expect(idOf(first[1])).toBe(idOf(first[0]));
    expect(await readBooks(pool, id)).toMatchObject({ available: 10, frozen: 10 });
    const again = await accept.many(actor(id), [
      draft({ clientId: 'a' }),
      draft({ clientId: 'b' }),
      draft({ clientId: 'a', body: 'other' }),
      draft({ clientId: 'c' }),
      draft({ clientId: 'b' }),
      draft({ clientId: 'c' }),
    ]);
    expect(outcomesOf(again)).toEqual(['accepted', 'accepted', 'conflict', 'no_credit', 'accepted', 'no_credit']);
    expect(idOf(again[0])).toBe(idOf(first[0]));
    expect(idOf(again[4])).toBe(idOf(again[1]));
    expect(await readBooks(pool, id)).toMatchObject({ available: 0, frozen: 20 });
    expect(await storedOf(id)).toBe(2);
  });

  test('leaves the client id of a message that did not fit free', async () => {
    const id = await createAccountWithCredit(pool, 5);
    expect(outcomesOf(await accept.many(actor(id), [draft({ clientId: 'x' })]))).toEqual(['no_credit']);
    expect((await accept.one(actor(id), draft({ clientId: 'x', simulation: true }))).kind).toBe('accepted');
  });

  test('charges nothing for refused messages, and nothing for simulation', async () => {
    const id = await createAccountWithCredit(pool, 100);
    const verdicts = await accept.many(actor(id), [
      draft({ destination: '+33612345678' }),
      draft({ destination: '12' }),
      draft({ sender: 'far too long a sender' }),
      draft({ simulation: true }),
      draft({ simulation: true, destination: '+33612345678' }),
    ]);
    expect(outcomesOf(verdicts)).toEqual(['no_price', 'no_country_code', 'bad_sender', 'accepted', 'accepted']);
    expect(await readBooks(pool, id)).toMatchObject({ available: 100, frozen: 0 });
  });

  test('accepts what one balance covers of fifty concurrent bulks, and not one message more', async () => {
    const id = await createAccountWithCredit(pool, 3333);
    const bulks = Array.from({ length: 50 }, () =>
      accept.many(
        actor(id),
        Array.from({ length: 20 }, () => draft()),
      ),
    );
    let lowest = 0;
    let racing = true;
    const watching = (async () => {
      while (racing) lowest = Math.min(lowest, (await readBooks(pool, id)).available);
    })();
    const verdicts = (await Promise.all(bulks)).flat();
    racing = false;
    await watching;
    expect(outcomesOf(verdicts).filter((kind) => kind === 'accepted')).toHaveLength(333);
    expect(await readBooks(pool, id)).toMatchObject({ available: 3, frozen: 3330 });
    expect(await storedOf(id)).toBe(333);
    expect(lowest).toBe(0);
  });
});

const storedOf = async (accountId: number): Promise<number> =>
  (await many(pool, sql`SELECT FROM message WHERE account_id = ${accountId}`)).length;

type Stored = { readonly account: number; readonly id: string };

/** An account with 100 and one message of 10 in the queue. */
async function queued(more: Partial<Draft> = {}): Promise<Stored> {
  const account = await createAccountWithCredit(pool, 100);
  return { account, id: idOf(await accept.one(actor(account), draft(more))) };
}

type Attempt = Partial<Result> & { readonly again?: boolean; readonly keepsReserve?: boolean };

/** Settles an attempt as the pump does. */
async function attempt({ account, id }: Stored, outcome: Outcome, more: Attempt = {}) {
  const { again = false, keepsReserve = false, ...rest } = more;
  const chunk = { id: 1, accountId: account, priority: 0, round: 0, attempt: 0, tries: 0, alternates: [], intent: 0 };
  const [jobs] = await loadJobs(pool, [{ ...chunk, onUnknown: 'hold', campaignId: null, ids: [id] }]);
  const job = jobs?.[0] ? { ...jobs[0], keepsReserve } : null;
  const result = resultOf(id, outcome, { accountId: account, job, ...rest });
  await transaction(pool, (tx) => settleOutcomes(tx, [result], again));
}

const TAKEN: Outcome = { kind: 'accepted', carrierIds: ['C'] };
const REFUSED: Outcome = { kind: 'refused', status: 'REJECTED', code: '8', text: 'no', carrierIds: [] };
const UNKNOWN: Outcome = { kind: 'unknown', text: 'no response', carrierIds: [] };

type Said = Parameters<typeof receiveReceipts>[1][number]['receipt']['state'];
const hear = ({ account, id }: Stored, ...states: Said[]) =>
  transaction(pool, (tx) =>
    receiveReceipts(
      tx,
      states.map((state) => ({
        accountId: account,
        messageId: id,
        part: null,
        connectionId: 1,
        receipt: receipt('C', { state }),
        receivedAt: new Date(),
      })),
    ),
  );

const end = ({ account, id }: Stored, status: StatusName, errorCode: string | null = null) =>
  transaction(pool, (tx) =>
    endMessages(tx, [{ accountId: account, id, status: STATUS[status], doneAt: null, errorCode, errorText: null }]),
  );

const FROZEN = { available: 90, frozen: 10, earned: 0 };
const EARNED = { available: 90, frozen: 0, earned: 10 };
const RETURNED = { available: 100, frozen: 0, earned: 0 };
/** The books of the message's account. The message itself must cost exactly what its account has spent or reserved. */
async function booksAfter({ account, id }: Stored) {
  const books = await readBooks(pool, account);
  const [record] = await listRecordsById(pool, { accountId: account, ids: [id] });
  expect(record?.costMicros).toBe(books.frozen + books.earned);
  return books;
}

describe('an attempt', () => {
  test('that the carrier accepts earns the price at once, and no receipt changes that', async () => {
    const message = await queued();
    await attempt(message, TAKEN);
    expect(await booksAfter(message)).toMatchObject(EARNED);
    await hear(message, 'UNDELIVERABLE');
    expect(await booksAfter(message)).toMatchObject(EARNED);
  });

  test('that the carrier refuses returns it', async () => {
    const message = await queued();
    await attempt(message, REFUSED);
    expect(await booksAfter(message)).toMatchObject(RETURNED);
  });

  test('that the carrier refuses leaves it frozen for a campaign that has another channel to try', async () => {
    const message = await queued();
    await attempt(message, REFUSED, { keepsReserve: true });
    expect(await readBooks(pool, message.account)).toMatchObject(FROZEN);
  });

  test('that is to be repeated leaves it frozen, however often, and the last one decides', async () => {
    const [message, other] = [await queued(), await queued()];
    for (const one of [message, other]) {
      await attempt(one, retry(0));
      await attempt(one, retry(0), { attempt: 2 });
      expect(await booksAfter(one)).toMatchObject(FROZEN);
    }
    await attempt(message, TAKEN, { attempt: 3 });
    await attempt(other, REFUSED, { attempt: 3 });
    expect(await booksAfter(message)).toMatchObject(EARNED);
    expect(await booksAfter(other)).toMatchObject(RETURNED);
  });

  test('that is to be repeated, and is not because the message ends before, returns it', async () => {
    const message = await queued();
    await attempt(message, retry(0));
    await end(message, 'EXPIRED', EXPIRED_BY_US);
    expect(await booksAfter(message)).toMatchObject(RETURNED);
  });

  test('settled a second time, as after a lost response, moves nothing more', async () => {
    for (const [outcome, books] of [
      [TAKEN, EARNED],
      [REFUSED, RETURNED],
      [retry(0), FROZEN],
      [UNKNOWN, FROZEN],
    ] as const) {
      const message = await queued();
      await attempt(message, outcome);
      await attempt(message, outcome, { again: true });
      expect(await booksAfter(message)).toMatchObject(books);
    }
  });
});

describe('a price that is returned unless the message is delivered', () => {
  test.each([
    ['DELIVERED', EARNED],
    ['UNDELIVERABLE', RETURNED],
    ['EXPIRED', RETURNED],
    ['REJECTED', RETURNED],
    ['DELETED', RETURNED],
    ['ACCEPTED', FROZEN],
    ['UNKNOWN', FROZEN],
  ] as const)('%s leaves the books so', async (state, books) => {
    const message = await queued({ destination: REFUNDABLE });
    await attempt(message, TAKEN);
    expect(await booksAfter(message)).toMatchObject(FROZEN);
    await hear(message, state);
    expect(await booksAfter(message)).toMatchObject(books);
  });

  test('is settled once, by the first final receipt, however many arrive', async () => {
    const message = await queued({ destination: REFUNDABLE });
    await attempt(message, TAKEN);
    await hear(message, 'ACCEPTED', 'UNDELIVERABLE', 'DELIVERED', 'UNDELIVERABLE');
    for (let i = 0; i < 5; i++) await hear(message, 'DELIVERED', 'UNDELIVERABLE');
    expect(await booksAfter(message)).toMatchObject(RETURNED);
  });

  test('that we returned because no receipt came in time is not charged for a late DELIVERED', async () => {
    const message = await queued({ destination: REFUNDABLE });
    await attempt(message, TAKEN);
    await end(message, 'EXPIRED', EXPIRED_BY_US);
    await hear(message, 'DELIVERED');
    expect((await statesOf(pool, [message.id])).get(message.id)?.status).toBe(STATUS.DELIVERED);
    expect(await booksAfter(message)).toMatchObject(RETURNED);
  });
});

describe('a price that is still frozen at an end that no receipt reports is charged only for DELIVERED and, unless refundable, UNDELIVERABLE', () => {
  /** Effect of each final state on a fixed price and on a refundable one; all other final states return both. */
  const CHARGED: Partial<Record<StatusName, readonly [fixed: object, refundable: object]>> = {
    DELIVERED: [EARNED, EARNED],
    UNDELIVERABLE: [EARNED, RETURNED],
  };

  test.each(STATUS_NAMES.filter((name) => isFinal(STATUS[name])))('%s', async (state) => {
    const [fixed, refundable] = [await queued(), await queued({ destination: REFUNDABLE })];
    for (const message of [fixed, refundable]) {
      await attempt(message, UNKNOWN);
      await end(message, state);
    }
    const books = [await booksAfter(fixed), await booksAfter(refundable)];
    expect(books).toMatchObject(CHARGED[state] ?? [RETURNED, RETURNED]);
  });
});

describe('an unknown outcome', () => {
  test.each([
    ['DELIVERED', EARNED],
    ['UNDELIVERABLE', EARNED],
    // The carrier took it, which earns a price that is not refundable.
    ['EXPIRED', EARNED],
    ['REJECTED', EARNED],
  ] as const)('stays frozen until a receipt says %s', async (state, books) => {
    const message = await queued();
    await attempt(message, UNKNOWN);
    expect(await booksAfter(message)).toMatchObject(FROZEN);
    expect([...(await listUnknownIds(pool))]).toContain(message.id);
    await hear(message, state);
    expect(await booksAfter(message)).toMatchObject(books);
    expect([...(await listUnknownIds(pool))]).not.toContain(message.id);
  });

  test('that is never resolved returns the price when the message expires', async () => {
    const message = await queued();
    await attempt(message, UNKNOWN);
    await end(message, 'EXPIRED', EXPIRED_BY_US);
    expect(await booksAfter(message)).toMatchObject(RETURNED);
  });

  test('recorded by the worker that took the chunk over, and then known to the first one, is settled once', async () => {
    const message = await queued();
    await attempt(message, UNKNOWN, { job: null, again: true });
    expect(await booksAfter(message)).toMatchObject(FROZEN);
    await attempt(message, TAKEN, { again: true });
    await attempt(message, TAKEN, { again: true });
    expect(await booksAfter(message)).toMatchObject(EARNED);
  });
});

describe('a commit whose response is lost', () => {
  test('charges nothing twice on the way out', async () => {
    await using relay = await startLostAnswers(connectionString);
    const shaky = createPool(relay.connectionString, { max: 4, applicationName: 'shaky', log: silentLog });
    onTestFinished(() => shaky.end());
    const id = await createAccountWithCredit(pool, 10_000);
    const verdicts = await accept.many(
      actor(id),
      Array.from({ length: 300 }, () => draft({ priority: 1 })),
    );
    const ids = verdicts.map(idOf);
    const refuseEvery = 3;
    const carrier = createScriptedCarrier({
      script: ({ messageId }) => {
        if (ids.indexOf(messageId) % 50 === 0) relay.loseNext();
        return ids.indexOf(messageId) % refuseEvery === 0 ? REFUSED : accepted(messageId);
      },
    });
    const pump = startPump({
      pool: shaky,
      connectionId: 1,
      owner: randomInt(1, 2 ** 47),
      carrier,
      tps: 0,
      load: (chunks) => loadJobs(shaky, chunks),
      settle: settleOutcomes,
      log: silentLog,
      wakeOther: () => undefined,
    });
    carrier.onChange = pump.wake;
    onTestFinished(() => pump.stop(300));
    await until('all are settled', async () => (await readBooks(pool, id)).frozen === 0);
    expect(relay.lost()).toBeGreaterThan(0);
    expect(await readBooks(pool, id)).toEqual({ outside: -10_000, available: 8000, frozen: 0, earned: 2000 });
  });

  test('on the way in stores the message once, and a client that repeats the request pays once', async () => {
    await using relay = await startLostAnswers(connectionString);
    const shaky = createPool(relay.connectionString, { max: 2, applicationName: 'shaky', log: silentLog });
    onTestFinished(() => shaky.end());
    const id = await createAccountWithCredit(pool, 100);
    const [shakyAccept, message] = [acceptOn(shaky), draft({ clientId: 'once' })];
    await shakyAccept.one(actor(id), draft());
    relay.loseNext();
    await expect(shakyAccept.one(actor(id), message)).rejects.toThrow();
    expect((await shakyAccept.one(actor(id), message)).kind).toBe('accepted');
    expect(relay.lost()).toBe(1);
    expect(await readBooks(pool, id)).toMatchObject({ available: 80, frozen: 20 });
  });
});
