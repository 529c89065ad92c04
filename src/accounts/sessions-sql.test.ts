import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { createAccount } from '../operate/account-commands.ts';
import * as db from './sessions.ts';
import { insertUser } from './users.ts';

// The statements run as the owner of the tables here, so row-level security hides no forgotten account.
const { pool } = testDatabase();

let [own, other] = [0, 0];
let [ada, bob, eve] = [0, 0, 0];
let users = 0;
const createUser = async (accountId: number): Promise<number> => {
  users++;
  const user = { accountId, username: `user-${users}`, passwordHash: 'hash', role: 'admin' } as const;
  return (await insertUser(pool, user))?.id ?? 0;
};

beforeEach(async () => {
  await exec(pool, sql`DELETE FROM user_session`);
  own = (await createAccount(pool, { name: 'Acme', plan: 'production' })).accountId;
  other = (await createAccount(pool, { name: 'Other', plan: 'trial' })).accountId;
  [ada, bob, eve] = [await createUser(own), await createUser(own), await createUser(other)];
});

async function begin(accountId: number, userId: number, passwordHash = 'hash') {
  const hash = randomBytes(32);
  const session = await db.insertSession(pool, {
    accountId,
    userId,
    passwordHash,
    method: 'password',
    hash,
    address: '198.51.100.7',
    userAgent: '',
  });
  return { id: session?.id ?? 0, hash };
}
const left = async (): Promise<number[]> =>
  (await many<{ id: number }>(pool, sql`SELECT id FROM user_session ORDER BY id`)).map(({ id }) => id);
const idsOf = (rows: readonly { id: number }[]): number[] => rows.map(({ id }) => id);
const filter = { limit: 10, offset: 0 };
const list = async (accountId: number, userId: number | null = null) =>
  idsOf(await db.listSessions(pool, { accountId, userId, ...filter }));

describe('a session begins', () => {
  test('for this user of this account with this password, and for no other', async () => {
    const { id } = await begin(own, ada);
    expect([await begin(other, ada), await begin(own, ada, 'old')]).toMatchObject([{ id: 0 }, { id: 0 }]);
    const rows = await many(pool, sql`SELECT id, account_id AS "accountId", user_id AS "userId" FROM user_session`);
    expect(rows).toEqual([{ id, accountId: own, userId: ada }]);
  });

  test('before or after a change of the password: the user is locked', async () => {
    await transaction(pool, async (tx) => {
      const session = { accountId: own, userId: ada, passwordHash: 'hash', address: null, userAgent: '' };
      await db.insertSession(tx, { ...session, method: 'password', hash: randomBytes(32) });
      expect(await many(pool, sql`SELECT FROM app_user WHERE id = ${ada} FOR NO KEY UPDATE SKIP LOCKED`)).toEqual([]);
    });
  });
});

describe('a session is over', () => {
  const age = (column: 'created_at' | 'last_seen_at', seconds: number) =>
    exec(
      pool,
      column === 'created_at'
        ? sql`UPDATE user_session SET created_at = now() - make_interval(secs => ${seconds})`
        : sql`UPDATE user_session SET last_seen_at = now() - make_interval(secs => ${seconds})`,
    );
  test.each([
    ['created_at', 7 * 24 * 3600],
    ['last_seen_at', 12 * 3600],
  ] as const)('by its %s after %d seconds, for authentication, lists and the clean-up', async (column, seconds) => {
    const { id, hash } = await begin(own, ada);
    const seen = async () => [
      (await db.listLiveSessions(pool, { hashes: [hash] })).length,
      await db.countSessions(pool, { accountId: own, userId: null }),
      (await list(own)).length,
      (await db.findSession(pool, { accountId: own, id })) === undefined ? 0 : 1,
      await db.deleteEndedSessions(pool, { limit: 10 }),
    ];
    await age(column, seconds - 60);
    expect(await seen()).toEqual([1, 1, 1, 1, 0]);
    await age(column, seconds + 1);
    expect(await seen()).toEqual([0, 0, 0, 0, 1]);
  });

  test('at the time that it is shown with', async () => {
    const { id } = await begin(own, ada);
    const session = await db.findSession(pool, { accountId: own, id });
    expect((session?.expiresAt.getTime() ?? 0) - (session?.createdAt.getTime() ?? 0)).toBe(7 * 24 * 3_600_000);
  });
});

test('authentication reads the sessions with these tokens, each with its own user and account', async () => {
  const [mine, theirs] = [await begin(own, ada), await begin(other, eve)];
  await begin(own, bob);
  const found = await db.listLiveSessions(pool, { hashes: [mine.hash, theirs.hash] });
  expect(found.toSorted((a, b) => a.sessionId - b.sessionId)).toMatchObject([
    { sessionId: mine.id, userId: ada, accountId: own, acting: null },
    { sessionId: theirs.id, userId: eve, accountId: other, acting: null },
  ]);
});

test('a session looks at another account as long as its user is an operator, and then no longer lives', async () => {
  const { id, hash } = await begin(own, ada);
  const switchTo = (accountId: number, sessionId: number) =>
    db.updateActingAccount(pool, { accountId, id: sessionId, actingAccountId: other });
  const sibling = await begin(own, ada);
  expect([await switchTo(other, id), await switchTo(own, id)]).toEqual([0, 1]);
  const read = () => db.listLiveSessions(pool, { hashes: [hash, sibling.hash] });
  await exec(pool, sql`UPDATE app_user SET is_operator = true WHERE id = ${ada}`);
  const acting = (await read()).toSorted((a, b) => a.sessionId - b.sessionId).map((session) => session.acting);
  expect(acting).toMatchObject([{ accountId: other, plan: 'trial' }, null]);
  await exec(pool, sql`UPDATE app_user SET is_operator = false WHERE id = ${ada}`);
  expect((await read()).map(({ sessionId }) => sessionId)).toEqual([sibling.id]);
});

test('the last request of each session is dated, and never taken back', async () => {
  const sessions = [await begin(own, ada), await begin(own, bob)];
  const times = [new Date(Date.now() + 60_000), new Date(Date.now() + 120_000)];
  const see = (at: readonly Date[]) => db.updateLastSeen(pool, { ids: idsOf(sessions).slice(0, at.length), times: at });
  expect([await see(times), await see([new Date()]), await see(times)]).toEqual([2, 0, 0]);
  const listed = await db.listSessions(pool, { accountId: own, userId: null, ...filter });
  expect(listed.map(({ lastSeenAt }) => lastSeenAt)).toEqual(times.toReversed());
});

test('sessions are listed by account, and by user on request, the newest first', async () => {
  const [first, second] = [await begin(own, ada), await begin(own, bob)];
  const theirs = await begin(other, eve);
  // An update moves a row behind the others of its table.
  await exec(pool, sql`UPDATE user_session SET user_agent = 'moved' WHERE id = ${first.id}`);
  expect([await list(own), await list(own, ada), await list(other)]).toEqual([
    [second.id, first.id],
    [first.id],
    [theirs.id],
  ]);
  expect(await db.countSessions(pool, { accountId: own, userId: null })).toBe(2);
  expect(await db.findSession(pool, { accountId: other, id: first.id })).toBeUndefined();
  expect(await db.findSession(pool, { accountId: own, id: second.id })).toMatchObject({ userId: bob });
});

describe('what is ended', () => {
  test('is one session, of its own account', async () => {
    const [first, second] = [await begin(own, ada), await begin(own, ada)];
    expect(await db.deleteSession(pool, { accountId: other, id: first.id })).toBe(0);
    expect(await db.deleteSession(pool, { accountId: own, id: first.id })).toBe(1);
    expect(await left()).toEqual([second.id]);
  });

  test('is all of a person but the one that asks, and nothing of others', async () => {
    const [first, second, kept] = [await begin(own, ada), await begin(own, ada), await begin(own, bob)];
    const end = (accountId: number, exceptId: number | null) =>
      db.deleteSessionsOfUser(pool, { accountId, userId: ada, exceptId });
    expect(await end(other, null)).toEqual([]);
    expect(await end(own, second.id)).toEqual([{ id: first.id }]);
    expect(await end(own, null)).toEqual([{ id: second.id }]);
    expect(await left()).toEqual([kept.id]);
  });

  test('is what a person has beyond the newest, and nothing of others', async () => {
    const sessions = [await begin(own, ada), await begin(own, ada), await begin(own, ada)];
    const kept = [await begin(own, bob), await begin(own, bob)];
    await exec(pool, sql`UPDATE user_session SET user_agent = 'moved' WHERE id = ${sessions[0]?.id}`);
    expect(await db.deleteSurplusSessions(pool, { accountId: other, userId: ada, keep: 1 })).toBe(0);
    expect(await db.deleteSurplusSessions(pool, { accountId: own, userId: ada, keep: 2 })).toBe(1);
    expect(await left()).toEqual(idsOf([...sessions.slice(1), ...kept]));
  });

  test('is no session that is live', async () => {
    const live = await begin(own, ada);
    expect(await db.deleteEndedSessions(pool, { limit: 10 })).toBe(0);
    expect(await left()).toEqual([live.id]);
  });
});

test('an account is shown with its own currency', async () => {
  await exec(pool, sql`UPDATE credit_balance SET currency = 'USD' WHERE account_id = ${other}`);
  const shown = [
    await db.findShownAccount(pool, { accountId: own }),
    await db.findShownAccount(pool, { accountId: other }),
  ];
  expect(shown).toMatchObject([
    { id: own, name: 'Acme', currency: 'EUR' },
    { id: other, name: 'Other', currency: 'USD' },
  ]);
});
