import { beforeAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { freeOver } from '../../test/support/drafts.ts';
import { runJobs } from '../../test/support/jobs.ts';
import { reset } from '../../test/support/reset.ts';
import { systemAuthor } from '../accounts/audit.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { newId } from '../core/ids.ts';
import { silentLog } from '../core/log.ts';
import { openMail, type QueuedMail } from '../core/mail.ts';
import { createMetrics } from '../core/metrics.ts';
import type { PostRequest, PostResult } from '../core/outbound-post.ts';
import { createSecretKey } from '../core/secrets.ts';
import { createWaker } from '../dispatch/pump.ts';
import { createAccount } from '../operate/account-commands.ts';
import { insertConnection } from '../routing/connection-store.ts';
import { registerEndpoint, removeEndpoint } from '../webhooks/endpoints.ts';
import { signedHeaders } from '../webhooks/send.ts';
import { createAccept } from './accept.ts';
import { createInboundInbox } from './inbound.ts';
import { insertNumber } from './inbound-store.ts';
import { KEYWORD_RULES } from './keyword-routes.ts';
import * as db from './keyword-store.ts';
import {
  type KeywordDeps,
  keywordPost,
  keywordReply,
  MAX_PER_HOUR,
  type OnAnswer,
  reactToKeywords,
} from './keywords.ts';

const { pool } = testDatabase();
const secretKey = createSecretKey(Buffer.alloc(32, 5));

let connectionId = 0;
let accountId = 0;
beforeAll(async () => {
  connectionId = (await insertConnection(pool, { name: 'main', kind: 'smpp', sandbox: false, settings: {} }))?.id ?? 0;
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'production', creditMicros: 1_000_000 }));
  await insertNumber(pool, { connectionId, number: '*', accountId });
});
beforeEach(() =>
  reset(
    pool,
    sql`TRUNCATE keyword_rule, job, keyword_count, inbound_seen, inbound_message, message, message_state,
                 dispatch_chunk, mail_budget, consent, consent_change RESTART IDENTITY CASCADE`,
  ),
);

const PERSON = '393331234567';
const NUMBER = '393399957020';

const NO_RULE = {
  number: null,
  answer: null,
  forwardTo: null,
  purpose: 'service' as const,
  fault: null,
  faultAt: null,
};
const rule = (keyword: string, { accountId: owner = accountId, ...more }: Partial<db.KeywordRule> = {}) =>
  KEYWORD_RULES.add(pool, systemAuthor(owner), { ...NO_RULE, keyword, ...more });

let octets = 0;
async function arrive(text: string, source = PERSON, destination = NUMBER): Promise<void> {
  const take = createInboundInbox({ log: silentLog, metrics: createMetrics(), pool, onInbound: async () => undefined });
  // The same bytes within 15 minutes would be one message.
  const raw = Buffer.from(`${text} ${octets++}`);
  await take({ connectionId, inbound: { source, destination, text, concat: null, raw } });
}

const posts: PostRequest[] = [];
const post = (result: Partial<Extract<PostResult, { kind: 'answered' }>>) => async (request: PostRequest) => {
  posts.push(request);
  return { kind: 'answered' as const, status: 200, retryAfterMs: null, body: '', durationMs: 1, ...result };
};

const nobody: OnAnswer = { claim: async () => undefined, record: async () => undefined };

function deps(more: Partial<KeywordDeps> = {}): KeywordDeps {
  posts.length = 0;
  const tables = freeOver(() => [connectionId]);
  const accept = createAccept({ pool, tables, waker: createWaker(pool), recentMessages: null });
  return { pool, accept, onAnswer: nobody, poster: { post: post({}) }, secretKey, log: silentLog, ...more };
}

/** Makes all due replies and copies. */
const carryOut = (all: KeywordDeps): Promise<number> => runJobs(pool, keywordReply.using(all), keywordPost.using(all));

const sent = async (): Promise<string[]> =>
  (
    await many<{ text: string }>(pool, sql`SELECT sender || '>' || destination || ': ' || body AS text FROM message`)
  ).map(({ text }) => text);
const waiting = async (): Promise<number> =>
  (await one<{ n: number }>(pool, sql`SELECT count(*)::int AS n FROM job`)).n;

test('a message with a keyword is answered once, from the number that it was written to', async () => {
  await rule('hours', { answer: 'We are open' });
  await arrive('Hours?');
  await arrive('hello');
  expect(await waiting()).toBe(1);
  const all = deps();
  await Promise.all([carryOut(all), carryOut(all)]);
  await carryOut(all);
  expect(await sent()).toEqual([`+${NUMBER}>+${PERSON}: We are open`]);
  expect(await waiting()).toBe(0);
});

test('a message that says STOP is never answered or passed on', async () => {
  await rule('*', { answer: 'Hello', forwardTo: 'https://example.com/copy' });
  await arrive('STOP');
  expect(await waiting()).toBe(0);
  // A person who has opted out gets no reply to anything else either.
  await arrive('hours');
  await carryOut(deps());
  expect(await sent()).toEqual([]);
  expect(await db.listRulesOf(pool, { accountIds: [accountId] })).toMatchObject([
    { fault: 'the number has opted out of messages on this channel' },
  ]);
});

test('two machines that answer each other end at the limit of the hour', async () => {
  await rule('*', { answer: 'Hello' });
  for (let n = 0; n < MAX_PER_HOUR + 3; n++) await arrive(`hello ${n}`);
  await arrive('hello', '393331234568');
  const all = deps();
  await carryOut(all);
  const answers = await sent();
  expect(answers.filter((text) => text.includes(PERSON))).toHaveLength(MAX_PER_HOUR);
  expect(answers).toHaveLength(MAX_PER_HOUR + 1);
});

test('the limit of an hour holds although the messages of a person come over several connections at a time', async () => {
  await rule('*', { answer: 'Hello' });
  const message = () => ({
    accountId,
    id: newId(),
    channel: 'SMS' as const,
    source: PERSON,
    destination: NUMBER,
    body: 'hello',
  });
  const batch = () => transaction(pool, (tx) => reactToKeywords(tx, [message(), message(), message()]));
  await Promise.all([batch(), batch(), batch(), batch()]);
  expect(await waiting()).toBe(MAX_PER_HOUR);
});

test('what waits for a message that was deleted meanwhile keeps nothing else waiting', async () => {
  await rule('hours', { answer: 'We are open' });
  for (let n = 0; n < 30; n++) await arrive('hours', `3933312300${10 + n}`);
  await exec(pool, sql`DELETE FROM inbound_message`);
  await arrive('hours');
  await carryOut(deps());
  expect(await sent()).toEqual([`+${NUMBER}>+${PERSON}: We are open`]);
});

test('copies to a receiver that is slow leave room for those of other accounts', async () => {
  await rule('*', { forwardTo: 'https://slow.example.com/copy' });
  for (let n = 0; n < 25; n++) await arrive(`hello ${n}`);
  const other = await createAccount(pool, { name: 'Other', plan: 'production' });
  await insertNumber(pool, { connectionId, number: '393399957021', accountId: other.accountId });
  await rule('*', { accountId: other.accountId, forwardTo: 'https://quick.example.com/copy' });
  await arrive('hello', PERSON, '393399957021');
  const { promise: quickCame, resolve } = Promise.withResolvers<void>();
  const answer = post({});
  const slowly = async (request: PostRequest) => {
    if (request.url.includes('quick')) resolve();
    const answered = await answer(request);
    await quickCame;
    return answered;
  };
  await carryOut(deps({ poster: { post: slowly } }));
  expect(posts.findIndex(({ url }) => url.includes('quick'))).toBeLessThanOrEqual(5);
});

test('senders that are no numbers are not answered', async () => {
  await rule('*', { answer: 'Hello' });
  await arrive('hello', 'ACME');
  await arrive('hello', '4400');
  expect(await waiting()).toBe(0);
});

test('a copy goes to another number, as it was written, but not to the one who wrote', async () => {
  await rule('order', { forwardTo: '+393487654321' });
  await arrive('Order 2 pizzas {{optout}}');
  await arrive('Order for myself', '393487654321');
  await carryOut(deps());
  expect(await sent()).toEqual([`+${NUMBER}>+393487654321: +${PERSON}: Order 2 pizzas {{optout}}`]);
});

test('a copy is mailed', async () => {
  await rule('order', { forwardTo: 'orders@example.com' });
  await arrive('Order 2 pizzas');
  await carryOut(deps());
  const row = await one<{ payload: QueuedMail }>(pool, sql`SELECT payload FROM job`);
  expect(openMail(secretKey, row.payload)).toEqual({
    to: 'orders@example.com',
    subject: `SMS from ${PERSON} to ${NUMBER}`,
    text: 'Order 2 pizzas',
  });
});

test('copies by mail beyond the budget are dropped, the rule says so, and the messages are not affected', async () => {
  await rule('order', { forwardTo: 'orders@example.com' });
  await pool.query(`UPDATE account SET plan = 'trial' WHERE id = ${accountId}`);
  for (let n = 0; n < 5; n++) await arrive(`Order ${n}`);
  await carryOut(deps());
  await pool.query(`UPDATE account SET plan = 'production' WHERE id = ${accountId}`);
  expect(await many(pool, sql`SELECT FROM job WHERE kind = 'mail'`)).toHaveLength(3);
  expect(await many(pool, sql`SELECT FROM inbound_message`)).toHaveLength(5);
  expect(await db.listRulesOf(pool, { accountIds: [accountId] })).toMatchObject([
    { fault: 'too many emails to this address: the copy was dropped' },
  ]);
});

test('a copy is posted until the receiver takes it, under the same key', async () => {
  await rule('order', { forwardTo: 'https://example.com/copy' });
  await arrive('Order 2 pizzas');
  await carryOut(deps({ poster: { post: post({ status: 503 }) } }));
  const [first] = posts;
  expect(await waiting()).toBe(1);
  expect(await db.listRulesOf(pool, { accountIds: [accountId] })).toMatchObject([
    { fault: 'the receiver returned 503' },
  ]);
  await pool.query('UPDATE job SET run_at = now()');
  await carryOut(deps());
  expect(posts).toEqual([first]);
  expect(JSON.parse(first?.body ?? '{}')).toMatchObject({
    from: `+${PERSON}`,
    to: `+${NUMBER}`,
    text: 'Order 2 pizzas',
    keyword: 'order',
    channel: 'SMS',
  });
  expect(await waiting()).toBe(0);
});

test('a copy to a URL is signed like webhooks, with the secrets of the account, if it has a webhook', async () => {
  await rule('order', { forwardTo: 'https://example.com/copy' });
  await arrive('Order 2 pizzas');
  await carryOut(deps());
  expect(posts[0]?.headers).not.toHaveProperty('webhook-signature');
  const author = systemAuthor(accountId);
  const { plainSecret } = await transaction(pool, (tx) =>
    registerEndpoint(tx, author, { url: 'https://example.com/hook', form: 'A', secretKey }),
  );
  await arrive('Order 3 pizzas');
  await carryOut(deps());
  const [posted] = posts;
  const { headers, body } = posted ?? { headers: {}, body: '' };
  const id = posted?.headers['webhook-id'] ?? '';
  const timestamp = Number(posted?.headers['webhook-timestamp']);
  expect(JSON.parse(body)).toMatchObject({ messageId: id, text: 'Order 3 pizzas' });
  expect(headers).toMatchObject(signedHeaders({ id, timestamp, body, secrets: [plainSecret] }));
  await transaction(pool, (tx) => removeEndpoint(tx, author));
});

test('a suspended account answers nothing until it is active again', async () => {
  await rule('hours', { answer: 'We are open' });
  await arrive('hours');
  await pool.query("UPDATE account SET status = 'suspended'");
  expect(await carryOut(deps())).toBe(0);
  await pool.query("UPDATE account SET status = 'active'");
  await carryOut(deps());
  expect(await sent()).toHaveLength(1);
});

test('old counts are forgotten', async () => {
  await rule('hours', { answer: 'We are open' });
  await arrive('hours');
  expect(await db.deleteOldCounts(pool, { before: new Date(0) })).toBe(0);
  expect(await db.deleteOldCounts(pool, { before: new Date(Date.now() + 3_600_000) })).toBe(1);
});
