import { beforeEach, describe, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { listUnknownIds, newMessage, resultOf, statesOf } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import type { Outcome } from '../channels/carrier.ts';
import { many, sql } from '../core/db/query.ts';
import { boundsOf, timeOfId } from '../core/ids.ts';
import { STATUS } from '../core/message-state.ts';
import type { Result } from '../dispatch/commit.ts';
import type { Chunk } from '../dispatch/store.ts';
import { loadJobs } from './load.ts';
import { insertMessages, type NewMessage } from './new-messages.ts';
import { settleOutcomes } from './settle.ts';

const { pool } = testDatabase();

beforeEach(() => reset(pool, sql`TRUNCATE message, message_state, message_part, unknown_outcome`));

async function store(...more: Partial<NewMessage>[]): Promise<string[]> {
  const messages = more.map(newMessage);
  await insertMessages(pool, messages);
  return messages.map((message) => message.id);
}

const chunk = (ids: readonly string[], accountId = 1): Chunk => ({
  id: 1,
  accountId,
  priority: 0,
  round: 0,
  attempt: 0,
  tries: 0,
  alternates: [],
  onUnknown: 'hold',
  campaignId: null,
  intent: 0,
  ids: [...ids],
});

describe('loadJobs', () => {
  test('gives the carrier everything that was accepted', async () => {
    const validUntil = new Date('2030-01-01T00:00:00Z');
    const [id = ''] = await store({ sender: '', body: '“Olá”', parts: 3, wantReceipt: false, validUntil });
    expect((await loadJobs(pool, [chunk([id])]))[0]?.[0]).toEqual({
      messageId: id,
      destination: '+351912345678',
      sender: '',
      body: '“Olá”',
      parts: 3,
      wantReceipt: false,
      validUntil,
      priceMicros: 0,
      refundUndelivered: false,
      channel: 'SMS',
      campaignId: null,
      keepsReserve: false,
    });
  });

  test('gives bytes as bytes, with an empty header when there is none', async () => {
    const data = Buffer.from([0, 255, 34, 92]);
    const [one = '', two = ''] = await store(
      { body: '', binaryBody: data, udh: Buffer.of(5, 0) },
      { body: '', binaryBody: data },
    );
    const [jobs] = await loadJobs(pool, [chunk([one, two])]);
    expect(jobs?.[0]).toMatchObject({ body: '', binary: { udh: Buffer.of(5, 0), data } });
    expect(jobs?.[1]?.binary?.udh).toHaveLength(0);
  });

  test('limits a message to 48 hours when it has no validity', async () => {
    const [id = ''] = await store({});
    const { validUntil } = (await loadJobs(pool, [chunk([id])]))[0]?.[0] ?? {};
    expect((validUntil?.getTime() ?? 0) - timeOfId(id).getTime()).toBe(48 * 3_600_000);
  });

  test('reads chunks of several accounts at once, and no message of an account that is not its own', async () => {
    const [mine = '', second = '', others = ''] = await store({ accountId: 1 }, { accountId: 1 }, { accountId: 2 });
    const idsOf = async (...chunks: Chunk[]) =>
      (await loadJobs(pool, chunks)).map((jobs) => jobs.map((job) => job?.messageId));
    expect(await idsOf(chunk([second, mine], 1), chunk([others], 2))).toEqual([[second, mine], [others]]);
    expect(await idsOf(chunk([others, mine], 1), chunk([], 2))).toEqual([[undefined, mine], []]);
  });
});

test('bounds are the lowest and the highest, whatever the order', () => {
  expect(boundsOf(['b', 'c', 'a'])).toEqual(['a', 'c']);
  expect(boundsOf(['x'])).toEqual(['x', 'x']);
});

const ACCEPTED: Outcome = { kind: 'accepted', carrierIds: ['A1'] };
const UNKNOWN: Outcome = { kind: 'unknown', text: 'no response', carrierIds: [] };
const RETRY: Outcome = { kind: 'retry', afterMs: 0, counts: true, code: 'ESME_RMSGQFUL', text: 'queue full' };
const REFUSED: Outcome = {
  kind: 'refused',
  status: 'REJECTED',
  code: 'ESME_RINVSRCADR',
  text: 'sender is not valid',
  carrierIds: [],
};

const result = (messageId: string, outcome: Outcome, attempt = 1): Result => resultOf(messageId, outcome, { attempt });
const stateOf = async (id: string) => (await statesOf(pool, [id])).get(id);
const partsOf = (id: string): Promise<{ part: number; carrierId: string }[]> =>
  many(pool, sql`SELECT part, carrier_id AS "carrierId" FROM message_part WHERE message_id = ${id} ORDER BY part`);

describe('settleOutcomes', () => {
  test.each([
    ['accepted', ACCEPTED, { status: STATUS.ACCEPTED, carrierId: 'A1', errorCode: null, errorText: null }],
    ['refused', REFUSED, { status: STATUS.REJECTED, errorCode: 'ESME_RINVSRCADR', errorText: 'sender is not valid' }],
    ['unknown', UNKNOWN, { status: STATUS.UNKNOWN, carrierId: null, errorCode: null, errorText: 'no response' }],
    ['retry', RETRY, { status: STATUS.ACCEPTED, carrierId: null, errorCode: 'ESME_RMSGQFUL', submittedAt: null }],
  ])('records %s in the carrier’s own words', async (_, outcome, state) => {
    const [id = ''] = await store({});
    expect(await settleOutcomes(pool, [result(id, outcome)], false)).toBe('all');
    expect(await stateOf(id)).toMatchObject({ ...state, attempts: 1 });
    expect(await listUnknownIds(pool)).toEqual(new Set(outcome.kind === 'unknown' ? [id] : []));
  });

  test('keeps one carrier id for each part, in order', async () => {
    const [id = ''] = await store({ parts: 3 });
    await settleOutcomes(pool, [result(id, { kind: 'accepted', carrierIds: ['A', 'B', 'C'] })], false);
    expect(await stateOf(id)).toMatchObject({ carrierId: null });
    expect(await partsOf(id)).toEqual([
      { part: 1, carrierId: 'A' },
      { part: 2, carrierId: 'B' },
      { part: 3, carrierId: 'C' },
    ]);
  });

  test.each<[string, Outcome]>([
    ['never got a response', { ...UNKNOWN, carrierIds: ['A'] } as Outcome],
    ['refused', { ...REFUSED, carrierIds: ['A'] } as Outcome],
  ])(
    'takes the one id of a message whose second part was %s as that of its first part, not of the message',
    async (_, outcome) => {
      const [id = ''] = await store({ parts: 2 });
      await settleOutcomes(pool, [result(id, outcome)], false);
      expect(await stateOf(id)).toMatchObject({ carrierId: null });
      expect(await partsOf(id)).toEqual([{ part: 1, carrierId: 'A' }]);
    },
  );

  test('an empty carrier id does not count', async () => {
    const [id = ''] = await store({});
    await settleOutcomes(pool, [result(id, { kind: 'accepted', carrierIds: [''] })], false);
    expect(await stateOf(id)).toMatchObject({ status: STATUS.ACCEPTED, carrierId: null });
  });

  test('fails on an outcome that is recorded already, and leaves it alone when it may be repeated', async () => {
    const [old = '', fresh = ''] = await store({}, {});
    await settleOutcomes(pool, [result(old, ACCEPTED)], false);
    const both = [result(old, REFUSED), result(fresh, ACCEPTED)];
    await expect(settleOutcomes(pool, both, false)).rejects.toMatchObject({ code: '23505' });
    expect(await settleOutcomes(pool, both, true)).toEqual(new Set([fresh]));
    expect(await stateOf(old)).toMatchObject({ status: STATUS.ACCEPTED, carrierId: 'A1' });
  });

  test('a later attempt replaces a retry, an earlier one does not', async () => {
    const [id = ''] = await store({});
    await settleOutcomes(pool, [result(id, RETRY, 1)], false);
    expect(await settleOutcomes(pool, [result(id, ACCEPTED, 2)], false)).toEqual(new Set([id]));
    expect(await stateOf(id)).toMatchObject({ attempts: 2, carrierId: 'A1', errorCode: null });
    expect(await settleOutcomes(pool, [result(id, RETRY, 1)], true)).toEqual(new Set());
    expect(await stateOf(id)).toMatchObject({ attempts: 2, carrierId: 'A1' });
  });

  test('a known outcome removes an unknown one from the list, and an unknown one replaces nothing', async () => {
    const [id = ''] = await store({});
    await settleOutcomes(pool, [result(id, UNKNOWN)], false);
    expect(await settleOutcomes(pool, [result(id, ACCEPTED)], true)).toEqual(new Set([id]));
    expect(await listUnknownIds(pool)).toEqual(new Set());
    expect(await settleOutcomes(pool, [result(id, UNKNOWN)], true)).toEqual(new Set());
    expect(await stateOf(id)).toMatchObject({ status: STATUS.ACCEPTED });
    expect(await listUnknownIds(pool)).toEqual(new Set());
  });

  test('a final state stays, whatever attempt comes', async () => {
    const [id = ''] = await store({});
    await settleOutcomes(pool, [result(id, REFUSED)], false);
    expect(await settleOutcomes(pool, [result(id, ACCEPTED, 2)], true)).toEqual(new Set());
    expect(await stateOf(id)).toMatchObject({ status: STATUS.REJECTED, attempts: 1 });
  });

  test('parts that are submitted again get the newer ids', async () => {
    const [id = ''] = await store({ parts: 2 });
    await settleOutcomes(pool, [result(id, { kind: 'unknown', text: 'cut', carrierIds: ['A'] })], false);
    await settleOutcomes(pool, [result(id, { kind: 'accepted', carrierIds: ['B', 'C'] }, 2)], true);
    expect(await partsOf(id)).toEqual([
      { part: 1, carrierId: 'B' },
      { part: 2, carrierId: 'C' },
    ]);
  });

  test('a thousand outcomes of all kinds are recorded in one batch', async () => {
    const ids = await store(...Array.from({ length: 1000 }, () => ({})));
    const outcomes = [ACCEPTED, REFUSED, UNKNOWN, RETRY];
    await settleOutcomes(
      pool,
      ids.map((id, n) => result(id, outcomes[n % 4] as Outcome)),
      false,
    );
    expect((await statesOf(pool, ids)).size).toBe(1000);
    expect((await listUnknownIds(pool)).size).toBe(250);
  });
});
