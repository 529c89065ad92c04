import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openTestInbox, type TestInbox } from '../../test/support/http/inbox.ts';
import { runJobs } from '../../test/support/jobs.ts';
import { serveRoutes } from '../../test/support/http/routes.ts';
import { reset } from '../../test/support/reset.ts';
import type { InboundMedia, RichInbound } from '../channels/carrier.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { fileRemoval } from '../core/storage.ts';
import { insertNumber } from '../messages/inbound-store.ts';
import { messageContentRoutes } from '../operate/message-content.ts';
import { createConnection } from '../routing/connections.ts';
import { type SandboxGraph, startSandboxGraph } from '../sandbox/graph-server.ts';
import { type FetchDeps, inboxMedia } from './fetch.ts';
import type { ThreadMedia } from './store.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
let inbox: TestInbox;
let graph: SandboxGraph;
let connectionId: number;
let deps: FetchDeps;
const kept = new Map<string, unknown>();
beforeAll(async () => {
  inbox = await openTestInbox();
  graph = await startSandboxGraph();
  const { pool } = inbox.database;
  const { secretKey, storage: refusing } = inbox.deps;
  ({ id: connectionId } = await createConnection(pool, secretKey, {
    name: 'meta',
    kind: 'whatsapp',
    sandbox: false,
    settings: { baseUrl: graph.baseUrl, wabaId: graph.wabaId, phoneNumberIds: graph.numbers.map(({ id }) => id) },
    secret: { accessToken: graph.accessToken, appSecret: graph.appSecret, verifyToken: 'v' },
  }));
  await insertNumber(pool, { connectionId, number: '*', accountId: inbox.account.accountId });
  const put = async (key: string): Promise<number> => {
    await meanwhile();
    return kept.set(key, true).size;
  };
  deps = { pool, secretKey, log: silentLog, storage: { ...refusing, put } };
});
afterAll(async () => {
  await graph.close();
  await inbox[Symbol.asyncDispose]();
});
/** Runs while a file is being fetched. */
let meanwhile = async (): Promise<unknown> => undefined;
beforeEach(() => reset(inbox.database.pool, sql`TRUNCATE job, inbox_message, inbox_event`));

const fetchMedia = (all: FetchDeps) => runJobs(all.pool, inboxMedia.using(all));
const send = (id: string, more: Partial<RichInbound> = {}) => {
  const media: InboundMedia = { id, url: null, mimeType: 'image/png', fileName: 'cat.png' };
  return inbox.write('', { connectionId, to: '100', rich: { messageType: 'IMAGE', media, ...more } });
};
const shown = async (): Promise<ThreadMedia | null | undefined> =>
  (await many<{ media: ThreadMedia | null }>(inbox.database.pool, sql`SELECT media FROM inbox_message`))[0]?.media;
const jobs = () =>
  many<{ tries: number }>(inbox.database.pool, sql`SELECT tries FROM job`).then((rows) => rows.map((r) => r.tries));

test('a file that the network no longer has is given up, and the thread shows this', async () => {
  await send('1234');
  expect(await shown()).toMatchObject({ state: 'PENDING', mimeType: 'image/png', fileName: 'cat.png' });
  expect(await fetchMedia(deps)).toBe(1);
  expect([await shown(), await jobs()]).toEqual([
    { state: 'FAILED', mediaId: null, mimeType: 'image/png', fileName: 'cat.png' },
    [],
  ]);
});

test.each([
  [
    'erased',
    async () => {
      const [message] = await many<{ id: string }>(deps.pool, sql`SELECT id FROM inbox_message`);
      const url = `/api/partner-gateway/v1/messages/${message?.id}/content`;
      const app = serveRoutes([messageContentRoutes], inbox.deps);
      const { statusCode } = await app.inject({
        method: 'DELETE',
        url,
        headers: { 'x-api-key': inbox.account.apiKey },
      });
      await app.close();
      expect(statusCode).toBe(204);
    },
  ],
  [
    'revoked',
    async () => {
      const [message] = await many<{ id: string }>(
        deps.pool,
        sql`SELECT i.details->>'id' AS id FROM inbox_message m JOIN inbound_message i ON i.id = m.id`,
      );
      const notice = { kind: 'deleted', messageId: message?.id ?? '' } as const;
      await inbox.write('', { connectionId, to: '100', rich: { notice } });
    },
  ],
])('the file of a message that is %s is not stored, before it is fetched and while that happens', async (_, end) => {
  const files = () => many(deps.pool, sql`SELECT FROM media`);
  const id = graph.media.put({ bytes: PNG, mimeType: 'image/png' });
  await send(id);
  await end();
  expect(await fetchMedia(deps)).toBe(0);
  expect([await shown(), await files()]).toEqual([null, []]);
  await exec(deps.pool, sql`DELETE FROM inbox_message`);
  await send(id);
  meanwhile = end;
  expect(await fetchMedia(deps)).toBe(1);
  meanwhile = async () => undefined;
  expect([await shown(), await files()]).toEqual([null, []]);
  const removals = sql`SELECT FROM job WHERE kind = ${fileRemoval.kind}`;
  expect(await many(deps.pool, removals)).toHaveLength(1);
  await exec(deps.pool, sql`DELETE FROM inbox_message`);
  await send(id);
  await fetchMedia(deps);
  expect(await shown()).toMatchObject({ state: 'STORED', mediaId: expect.any(Number), fileName: 'cat.png' });
  await exec(deps.pool, sql`DELETE FROM media`);
});

test('a file of a deleted connection is given up', async () => {
  await send('1234');
  await exec(deps.pool, sql`UPDATE inbound_message SET connection_id = 0`);
  await fetchMedia(deps);
  expect(await shown()).toMatchObject({ state: 'FAILED' });
});

test('a file is retried while the network does not respond, and finally given up', async () => {
  await send('1234');
  await exec(
    deps.pool,
    sql`UPDATE connection SET settings = jsonb_set(settings, '{baseUrl}', '"http://127.0.0.1:9"') WHERE id = ${connectionId}`,
  );
  expect(await fetchMedia(deps)).toBe(1);
  expect([await shown(), await jobs()]).toEqual([expect.objectContaining({ state: 'PENDING' }), [1]]);
  expect(await fetchMedia(deps)).toBe(0);
  await exec(deps.pool, sql`UPDATE job SET run_at = now(), tries = 8`);
  await fetchMedia(deps);
  expect([await shown(), await jobs()]).toEqual([expect.objectContaining({ state: 'FAILED' }), []]);
});

test('two workers fetch a file once', async () => {
  await send('1234');
  const counts = await Promise.all([fetchMedia(deps), fetchMedia(deps), fetchMedia(deps)]);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1);
});
