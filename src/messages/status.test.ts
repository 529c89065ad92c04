import { describe, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { actor } from '../../test/support/drafts.ts';
import { explain } from '../../test/support/plans.ts';
import { newMessage } from '../../test/support/queue.ts';
import { exec, sql } from '../core/db/query.ts';
import { timeOfId } from '../core/ids.ts';
import { STATUS, STATUS_NAMES, type StatusName } from '../core/message-state.ts';
import { insertClientIds } from './client-ids.ts';
import { insertMessages } from './new-messages.ts';
import {
  findRecord,
  findRecords,
  listRecordsById,
  type MessageRecord,
  toNetworkStatus,
  toSimpleStatus,
  toStatusRecord,
} from './status.ts';

const { pool } = testDatabase();

async function store(accountId: number, clientId: string | null = null): Promise<string> {
  const message = newMessage({ accountId, clientId });
  await insertMessages(pool, [message]);
  if (clientId !== null)
    await insertClientIds(pool, [{ accountId, clientId, messageId: message.id, contentHash: Buffer.of(1) }]);
  return message.id;
}
const idsOf = (records: readonly MessageRecord[]): string[] => records.map((r) => r.id).sort();
const mine = { accountId: 1 };
const READER = actor();

describe('look-up', () => {
  test('by our ids and by the client’s, each message once, unknown and malformed ids left out', async () => {
    const [one, two] = [await store(1, 'x,"1"'), await store(1)];
    const found = await findRecords(pool, mine, {
      ids: [one, two.toUpperCase(), 'nonsense', '018f0000-0000-7000-8000-000000000000'],
      clientIds: ['x,"1"', 'unknown', ''],
    });
    expect(idsOf(found)).toEqual([one, two].sort());
  });

  test('finds nothing of another account, by neither id', async () => {
    const foreign = await store(2, 'foreign');
    expect(await findRecords(pool, mine, { ids: [foreign], clientIds: ['foreign'] })).toEqual([]);
    expect(await findRecord(pool, mine, foreign)).toBeUndefined();
    expect(await findRecord(pool, mine, 'foreign')).toBeUndefined();
  });

  test('by one id prefers the client’s own, which may look like one of ours', async () => {
    const ours = await store(1);
    const clients = await store(1, ours);
    expect((await findRecord(pool, mine, ours))?.id).toBe(clients);
    expect((await findRecord(pool, mine, clients))?.id).toBe(clients);
  });

  test('without any id makes no query', async () => {
    expect(await findRecords(pool, mine, { ids: [], clientIds: [] })).toEqual([]);
    expect(await findRecords(pool, mine, { ids: ['nonsense'], clientIds: [] })).toEqual([]);
  });

  test('shows the state once there is one', async () => {
    const id = await store(1);
    expect(await findRecord(pool, mine, id)).toMatchObject({ status: null, submittedAt: null });
    await exec(
      pool,
      sql`INSERT INTO message_state (account_id, id, status, attempts, updated_at, error_code)
          VALUES (1, ${id}, 6, 1, now(), '000')`,
    );
    expect(await findRecord(pool, mine, id)).toMatchObject({ status: 6, errorCode: '000' });
  });
});

test('a look-up by id plans only the days of its ids, by index', async () => {
  const ids = [await store(1), await store(1)];
  const scans = await explain(pool, (db) => listRecordsById(db, { accountId: 1, ids }));
  expect(scans.map((scan) => scan.how)).not.toContain('Seq Scan');
  expect(scans.length).toBeLessThanOrEqual(4);
});

const ID = '0190a1b2-c3d4-7000-8000-000000000000';
const at = (minute: number): Date => new Date(Date.UTC(2026, 10, 21, 10, minute));
const record = (more: Partial<MessageRecord> = {}): MessageRecord => ({
  id: ID,
  clientId: 'c',
  channel: 'SMS',
  destination: '+351912345678',
  sender: 'ACME',
  askedSender: null,
  parts: 2,
  costMicros: 61_500,
  campaignId: null,
  purpose: null,
  clientData: null,
  scheduledAt: null,
  isScheduled: false,
  possibleDuplicate: null,
  status: STATUS.DELIVERED,
  submittedAt: at(1),
  doneAt: at(2),
  updatedAt: at(3),
  readAt: null,
  errorCode: null,
  errorText: null,
  ...more,
});

describe('the record', () => {
  test('says who, what, when and how it ended', () => {
    expect(toStatusRecord(record(), READER)).toEqual({
      messageId: ID,
      customerMessageId: 'c',
      channel: 'SMS',
      destination: '+351912345678',
      sender: 'ACME',
      deliveryStatus: 'DELIVERED',
      deliveryStatusCode: 3,
      deliveryStatusDescription: 'delivered',
      stage: 'FINAL',
      scheduledDate: null,
      sendDate: '2026-11-21T10:01:00.000Z',
      deliveryDate: '2026-11-21T10:02:00.000Z',
      parts: 2,
      price: 0.0615,
      campaignId: null,
      purpose: null,
      possibleDuplicate: false,
      errorCode: null,
      errorMessage: null,
    });
  });

  test('of a waiting message is ACCEPTED on SMS and UNKNOWN elsewhere, sent when it was accepted', () => {
    const waiting = { status: null, submittedAt: null, doneAt: null, updatedAt: null };
    expect(toStatusRecord(record(waiting), READER)).toMatchObject({
      deliveryStatus: 'ACCEPTED',
      sendDate: timeOfId(ID).toISOString(),
      deliveryDate: null,
    });
    expect(toStatusRecord(record({ ...waiting, channel: 'RCS' }), READER)).toMatchObject({ deliveryStatusCode: 0 });
  });

  test('of an accepted message on RCS and WhatsApp is UNKNOWN, and every final state is itself', () => {
    const rich = (status: number) => toStatusRecord(record({ channel: 'WHATSAPP', status }), READER).deliveryStatus;
    expect([STATUS.ACCEPTED, STATUS.UNSUPPORTED, STATUS.CONVERSATION_CLOSED].map(rich)).toEqual([
      'UNKNOWN',
      'UNSUPPORTED',
      'CONVERSATION_CLOSED',
    ]);
  });

  test('has no price for a caller without the scope money', () => {
    expect(toStatusRecord(record(), { operations: new Set(['tracking']) }).price).toBeNull();
  });

  test('names the campaign', () => {
    expect(toStatusRecord(record({ campaignId: 7 }), READER).campaignId).toBe(7);
  });

  test('has no delivery date before the final state', () => {
    expect(toStatusRecord(record({ status: STATUS.ACCEPTED }), READER).deliveryDate).toBeNull();
    expect(toStatusRecord(record({ status: STATUS.UNKNOWN }), READER).deliveryDate).toBeNull();
  });

  test('has the carrier’s own text', () => {
    const failed = record({ status: STATUS.UNDELIVERABLE, errorCode: '011', errorText: 'stat:UNDELIV err:011' });
    expect(toStatusRecord(failed, READER)).toMatchObject({ errorCode: '011', errorMessage: 'stat:UNDELIV err:011' });
  });
});

describe('the short form', () => {
  const SHORT: Partial<Record<StatusName, string>> = {
    ACCEPTED: 'SENT',
    DELIVERED: 'DELIVERED',
    EXPIRED: 'EXPIRED',
    UNKNOWN: 'UNKNOWN',
  };
  test.each(STATUS_NAMES)('of %s reads as one of five words, every other failure as ERROR', (name) => {
    expect(toSimpleStatus(record({ status: STATUS[name] })).status).toBe(SHORT[name] ?? 'ERROR');
  });

  test('of a waiting or accepted message is SENT on every channel', () => {
    for (const channel of ['SMS', 'RCS', 'WHATSAPP'] as const)
      for (const status of [null, STATUS.ACCEPTED])
        expect(toSimpleStatus(record({ channel, status })).status).toBe('SENT');
  });

  test('says when the status was reached, as far as that is known', () => {
    const times = [record(), record({ doneAt: null }), record({ doneAt: null, updatedAt: null })];
    expect(times.map((r) => toSimpleStatus(r).timestamp)).toEqual([
      at(2).toISOString(),
      at(3).toISOString(),
      timeOfId(ID).toISOString(),
    ]);
  });
});

describe('the status on a network', () => {
  const NAMES: Partial<Record<StatusName, string>> = {
    ACCEPTED: 'SENT',
    DELIVERED: 'DELIVERED',
    EXPIRED: 'EXPIRED',
    UNKNOWN: 'UNKNOWN',
  };
  const on = (more: Partial<MessageRecord>) => toNetworkStatus(record({ channel: 'WHATSAPP', ...more }));
  test.each(STATUS_NAMES)('of %s is named as the specification does, every other failure ERROR', (name) => {
    expect(on({ status: STATUS[name] }).status).toBe(NAMES[name] ?? 'ERROR');
  });

  test('is READ from when the person has read it', () => {
    expect(on({ readAt: at(9) })).toEqual({
      messageId: ID,
      status: 'READ',
      timestamp: at(9).toISOString(),
      error: null,
    });
  });

  test('has the network’s own text of an error, and null without one', () => {
    expect(on({ status: STATUS.ERROR, errorText: '131026 undeliverable' }).error).toBe('131026 undeliverable');
    expect(on({ status: STATUS.UNSUPPORTED }).error).toBe('unsupported');
    expect([on({ status: null }).error, on({ status: STATUS.DELIVERED }).error]).toEqual([null, null]);
  });

  test('is SENT while it waits', () => {
    const waiting = { status: null, submittedAt: null, doneAt: null, updatedAt: null };
    expect(on(waiting)).toMatchObject({ status: 'SENT', timestamp: timeOfId(ID).toISOString() });
  });
});
