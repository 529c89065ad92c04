import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { one, sql } from '../core/db/query.ts';
import { newId } from '../core/ids.ts';
import { type ConversationUpdate, insertConversations } from './store.ts';

const { pool } = testDatabase();

const NEWEST = new Date('2027-01-31T09:41:00Z');
const OLDER = new Date('2027-01-31T09:40:00Z');

test('the date of a conversation never goes back, when a message arrives that is older than the newest', async () => {
  const write = (text: string, at: Date) => {
    const update: ConversationUpdate = {
      accountId: 1,
      newChatId: newId(),
      channel: 'SMS',
      peer: '+393331234567',
      identity: '4400',
      profileName: '',
      unread: 1,
      windowExpiresAt: null,
      freeEntryUntil: null,
      direction: 'INBOUND',
      messageType: 'TEXT',
      text,
      at,
    };
    return insertConversations(pool, { rows: [update], unarchive: true });
  };
  const read = () => one<{ at: Date; unread: number }>(pool, sql`SELECT last_at AS at, unread FROM conversation`);
  await write('first', OLDER);
  await write('newest', NEWEST);
  expect(await read()).toEqual({ at: NEWEST, unread: 2 });
  await write('late', OLDER);
  expect(await read()).toEqual({ at: NEWEST, unread: 3 });
});
