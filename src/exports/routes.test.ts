import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Client } from '../../test/support/client.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { isUuid, newId, timeOfId } from '../core/ids.ts';
import { createSecretKey } from '../core/secrets.ts';
import { createLinkSigner } from '../core/storage.ts';
import { createAccount, type NewAccount } from '../operate/account-commands.ts';

const PG = '/api/partner-gateway/v1';
const PATH = `${PG}/exports`;
const HISTORY = `${PG}/messages/history/export`;

/** The secret key of the test program. */
const SECRET_KEY = createSecretKey(Buffer.alloc(32, 0x5e));

let program: TestProgram;
let client: Client;
let otherClient: NewAccount & { client: Client };
beforeAll(async () => {
  program = await startTestProgram();
  ({ client } = program);
  const other = await createAccount(program.pool, { name: 'Other', plan: 'unlimited', ratePerMinute: 0 });
  otherClient = { ...other, client: program.clientOf(other.apiKey) };
  await client.send({ phoneNumber: '+393331234567', message: 'Hello', simulation: true });
});
afterAll(() => program[Symbol.asyncDispose]());

type Job = { exportId: string; status: string; downloadUrl: string | null; [field: string]: unknown };
const span = {
  startDateTime: new Date(Date.now() - 3_600_000).toISOString(),
  endDateTime: new Date(Date.now() + 3_600_000).toISOString(),
};
async function ask(path: string, body: object, by = client): Promise<Job> {
  const { status, body: job } = await by.request('POST', path, { body });
  if (status !== 202) throw new Error(`returned ${status}: ${JSON.stringify(job)}`);
  return job as Job;
}
const find = async (id: string, by = client): Promise<Job> => (await by.request('GET', `${PATH}/${id}`)).body as Job;
const endOf = ({ exportId }: Job, by = client): Promise<Job & { downloadUrl: string }> =>
  until('the end of the export', async () => {
    const job = await find(exportId, by);
    return job.status !== 'PENDING' && { ...job, downloadUrl: job.downloadUrl ?? '' };
  });
const made = async (body: object = span) => endOf(await ask(HISTORY, body));
/** Rewrites a link, because a test program does not listen at its public address. */
async function fetchLink(
  link: string,
  init: RequestInit = {},
): Promise<{ status: number; text: string; headers: Headers }> {
  const { pathname, search } = new URL(link);
  const method = init.method ?? 'GET';
  const headers = { 'x-api-key': '', ...Object.fromEntries(new Headers(init.headers)) };
  const answer = await client.request(method, pathname + search, { headers });
  const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
  return { status: answer.status, text, headers: answer.headers };
}

test('a list of exports has the number of many contacts instead of their ids', async () => {
  const account = await createAccount(program.pool, { name: 'Large', plan: 'unlimited', ratePerMinute: 0 });
  const large = program.clientOf(account.apiKey);
  const request = (count: number) => JSON.stringify({ contactIds: Array.from({ length: count }, (_, i) => i + 1) });
  await exec(
    program.pool,
    sql`INSERT INTO export (account_id, type, format, status, filters)
        SELECT ${account.accountId}, 'CONTACTS', 'csv', 'EXPIRED', filters
        FROM (VALUES (${request(1000)}::jsonb), (${request(1001)}::jsonb)) AS v (filters)`,
  );
  const { body } = await large.request('GET', PATH);
  const [longest, few] = (body as { data: { exportId: string; filters: object }[] }).data;
  expect(longest?.filters).toEqual({ contactCount: 1001 });
  expect(few?.filters).toMatchObject({ contactIds: expect.arrayContaining([1, 1000]) });
  expect((await find(longest?.exportId ?? '', large))['filters']).toHaveProperty('contactIds.1000', 1001);
});

test('an export may be about one user id of WhatsApp', async () => {
  const asked = await ask(HISTORY, { ...span, recipient: 'US.13491208655302741918' });
  expect(asked).toMatchObject({ filters: { recipient: 'US.13491208655302741918' } });
  await endOf(asked);
});

test('an export is requested, made, and downloaded by a link that needs no key', async () => {
  const asked = await ask(HISTORY, { ...span, recipient: '39 333 1234567', unknown: 'field' });
  expect(asked).toMatchObject({ type: 'HISTORY', format: 'csv', filters: { ...span, recipient: '+393331234567' } });
  expect(asked).not.toHaveProperty('downloadUrl');
  expect(asked['filters']).not.toHaveProperty('unknown');
  const job = await endOf(asked);
  expect(job).toMatchObject({
    status: 'COMPLETED',
    isAvailableForDownload: true,
    rows: 1,
    progress: 1,
    failureReason: null,
  });
  const { status, text, headers } = await fetchLink(job.downloadUrl);
  expect([status, text.length]).toEqual([200, job['sizeBytes']]);
  expect(parse(text, { columns: true })).toMatchObject([{ destination: '+393331234567', source: 'API' }]);
  expect(headers.get('content-disposition')).toContain(`history-${job.exportId}.csv`);
  expect(headers.get('referrer-policy')).toBe('no-referrer');
  expect(Date.parse(String(job['expiresAt'])) - Date.parse(String(job['completedAt']))).toBe(24 * 3_600_000);
});

test('links support range requests', async () => {
  const job = await made();
  const whole = await fetchLink(job.downloadUrl);
  const part = await fetchLink(job.downloadUrl, { headers: { range: 'bytes=3-9' } });
  expect([part.status, part.text]).toEqual([206, whole.text.slice(3, 10)]);
  expect((await fetchLink(job.downloadUrl, { headers: { range: 'bytes=99999999-' } })).status).toBe(416);
  expect((await fetchLink(job.downloadUrl, { method: 'HEAD' })).status).toBe(200);
});

test('a link opens only its own export, until that expires, is repeated or deleted', async () => {
  const [job, other] = [await made(), await made()];
  const { search } = new URL(job.downloadUrl);
  const foreign = new URL(other.downloadUrl);
  foreign.search = search;
  expect((await fetchLink(foreign.href)).status).toBe(404);
  expect((await fetchLink(job.downloadUrl.replace('version=1', 'version=2'))).status).toBe(404);
  await exec(program.pool, sql`UPDATE export SET expires_at = now() WHERE id = ${job.exportId}`);
  expect((await fetchLink(job.downloadUrl)).status).toBe(404);
  expect(await find(job.exportId)).toMatchObject({
    status: 'EXPIRED',
    isAvailableForDownload: false,
    downloadUrl: null,
  });
  const again = await endOf(await ask(`${PATH}/${job.exportId}`, {}));
  expect(again).toMatchObject({ exportId: job.exportId, status: 'COMPLETED', filters: span });
  expect((await fetchLink(job.downloadUrl)).status).toBe(404);
  expect((await fetchLink(again.downloadUrl)).status).toBe(200);
  expect((await client.request('DELETE', `${PATH}/${job.exportId}`)).status).toBe(204);
  expect((await fetchLink(again.downloadUrl)).status).toBe(404);
  expect((await client.request('DELETE', `${PATH}/${job.exportId}`)).status).toBe(404);
});

test('the id of an export is a UUID of its time, and a malformed one is 400 as that of a conversation is', async () => {
  const { exportId, createdAt } = await made();
  expect([isUuid(exportId), exportId[14]]).toEqual([true, '7']);
  expect(Math.abs(timeOfId(exportId).getTime() - Date.parse(String(createdAt)))).toBeLessThan(60_000);
  const conversations = `${PG}/inbox/conversations`;
  for (const id of ['1', 'x', exportId.slice(1), `urn:uuid:${exportId}`]) {
    const { body: answer } = await client.request('GET', `${conversations}/${id}`);
    const { message } = answer as { message: string };
    for (const method of ['GET', 'POST', 'DELETE'])
      expect(await client.request(method, `${PATH}/${id}`)).toMatchObject({
        status: 400,
        body: { message: message.replace('chatId', 'exportId'), details: [{ field: 'exportId' }] },
      });
  }
});

test('a link from the time when exports had numbers is 404', async () => {
  const { accountId } = program.account;
  const target = { kind: 'export', accountId, id: '1', version: 1 } as const;
  const query = createLinkSigner(SECRET_KEY).sign(target, new Date(Date.now() + 3_600_000));
  const { status, text } = await fetchLink(`https://example.com${PATH}/1/file?${query}`);
  expect([status, text]).toEqual([404, expect.stringContaining('The link is invalid or has expired')]);
});

test('an export that is available or in progress cannot be repeated', async () => {
  const job = await made();
  const again = () => client.request('POST', `${PATH}/${job.exportId}`);
  expect((await again()).status).toBe(400);
  await exec(program.pool, sql`UPDATE export SET status = 'PENDING' WHERE id = ${job.exportId}`);
  expect((await again()).status).toBe(400);
  await exec(program.pool, sql`UPDATE export SET status = 'FAILED' WHERE id = ${job.exportId}`);
  expect((await again()).status).toBe(202);
  await endOf(job);
});

test('the list shows the newest export first, without links', async () => {
  const job = await made();
  const { body } = await client.request('GET', `${PATH}?limit=1`);
  expect(body).toMatchObject({ page: 0, limit: 1, data: [{ exportId: job.exportId, status: 'COMPLETED' }] });
  expect((body as { data: object[] }).data[0]).not.toHaveProperty('downloadUrl');
  expect(await otherClient.client.request('GET', PATH)).toMatchObject({ body: { data: [], total: 0 } });
});

test('exports of contacts and reports contain what the request names', async () => {
  const contact = await client.request('POST', `${PG}/contacts`, { body: { phoneNumber: '+393339999999' } });
  const { id: contactId } = contact.body as { id: number };
  const list = await client.request('POST', `${PG}/contacts/list`, { body: { name: 'A' } });
  const { id: listId } = list.body as { id: number };
  const campaign = await many<{ id: number }>(
    program.pool,
    sql`INSERT INTO campaign (account_id, name, status, sending_mode)
        VALUES (${program.account.accountId}, 'A', 0, 'SMS') RETURNING id`,
  );
  const jobs = [
    await ask(`${PATH}/contacts`, { contactIds: [contactId], format: 'csv.gz' }),
    await ask(`${PATH}/contacts`, { listIds: [listId], format: 'xlsx' }),
    await ask(`${PATH}/contacts`, {}),
    await ask(`${PATH}/delivery-reports`, span),
    await ask(`${PATH}/delivery-reports`, { campaignId: campaign[0]?.id }),
  ];
  const rows: unknown[] = [];
  for (const job of jobs) rows.push((await endOf(job))['rows']);
  expect(rows).toEqual([1, 0, expect.any(Number), 1, 0]);
});

test.each<[string, object, string[]]>([
  [HISTORY, {}, ['endDateTime', 'startDateTime']],
  [HISTORY, { ...span, channel: 'FAX', status: 'SENT', format: 'pdf' }, ['channel', 'format', 'status']],
  [HISTORY, { startDateTime: '2026-01-01T00:00:00', endDateTime: '2026-01-01' }, ['endDateTime', 'startDateTime']],
  [HISTORY, { startDateTime: '2026-02-30T00:00:00Z', endDateTime: '2026-03-01T00:00:00Z' }, ['startDateTime']],
  [
    HISTORY,
    { startDateTime: '2026-03-01T00:00:00Z', endDateTime: '2026-02-01T00:00:00Z', recipient: 'x' },
    ['endDateTime', 'recipient'],
  ],
  [`${PATH}/contacts`, { listIds: [], contactIds: ['1'] }, ['contactIds[0]', 'listIds']],
  [`${PATH}/contacts`, { listIds: [1], contactIds: [1] }, ['contactIds']],
  [`${PATH}/contacts`, { listIds: [987_654_321] }, ['listIds']],
  [`${PATH}/contacts`, { contactIds: [987_654_321] }, ['contactIds']],
  [`${PATH}/delivery-reports`, {}, ['endDateTime', 'startDateTime']],
  [`${PATH}/delivery-reports`, { startDateTime: span.startDateTime }, ['endDateTime']],
  [`${PATH}/delivery-reports`, { ...span, campaignId: 1 }, ['campaignId']],
  [`${PATH}/delivery-reports`, { campaignId: 987_654_321 }, ['campaignId']],
  [`${PATH}/delivery-reports`, { ...span, notReached: true }, ['notReached']],
])('%s with %j is 400, names every field at fault and asks for nothing', async (path, body, fields) => {
  const before = await client.request('GET', PATH);
  const answer = await client.request('POST', path, { body });
  expect(answer.status).toBe(400);
  const { details } = answer.body as { details: { field: string }[] };
  expect(details.map(({ field }) => field).sort()).toEqual(fields);
  expect((await client.request('GET', PATH)).body).toMatchObject({ total: (before.body as { total: number }).total });
});

test('the export of another account is unknown to every route', async () => {
  const { exportId } = await made();
  for (const method of ['GET', 'POST', 'DELETE'] as const) {
    const answers = [exportId, newId()].map((id) => otherClient.client.request(method, `${PATH}/${id}`));
    const [own, unknown] = await Promise.all(answers);
    expect([own?.status, unknown?.status]).toEqual([404, 404]);
  }
  expect((await find(exportId)).status).toBe('COMPLETED');
});

test('a key without the scope is refused', async () => {
  const { body } = await client.request('POST', `${PG}/authentication`, { body: { operations: ['tracking'] } });
  const narrow = program.clientOf((body as { apiKey: string }).apiKey);
  for (const [method, path] of [
    ['GET', PATH],
    ['POST', HISTORY],
    ['GET', `${PATH}/${newId()}`],
  ] as const)
    expect((await narrow.request(method, path)).status).toBe(403);
});

test('an export and its file are only for callers who may read its content', async () => {
  const keyWith = async (...operations: string[]): Promise<Client> => {
    const { body } = await client.request('POST', `${PG}/authentication`, { body: { operations } });
    return program.clientOf((body as { apiKey: string }).apiKey);
  };
  const requests = [
    [HISTORY, span],
    [`${PATH}/delivery-reports`, span],
    [`${PATH}/contacts`, {}],
  ] as const;
  const allowed = async (by: Client): Promise<boolean[]> => {
    const statuses: number[] = [];
    for (const [path, body] of requests) statuses.push((await by.request('POST', path, { body })).status);
    return statuses.map((status) => status === 202);
  };
  expect(await allowed(await keyWith('exports'))).toEqual([false, false, false]);
  expect(await allowed(await keyWith('exports', 'tracking'))).toEqual([false, false, false]);
  expect(await allowed(await keyWith('exports', 'tracking', 'money'))).toEqual([true, true, false]);
  expect(await allowed(await keyWith('exports', 'contacts'))).toEqual([false, false, true]);
  const { exportId } = await made();
  const linkFor = async (by: Client) => (await find(exportId, by)).downloadUrl;
  expect(await linkFor(await keyWith('exports', 'contacts'))).toBeNull();
  expect(await linkFor(await keyWith('exports', 'tracking', 'money'))).toMatch(/signature=/);
});

test('requests with the same Idempotency-Key create one export', async () => {
  const headers = { 'idempotency-key': 'once' };
  const [one, two] = [
    await client.request('POST', HISTORY, { body: span, headers }),
    await client.request('POST', HISTORY, { body: span, headers }),
  ];
  expect([one.status, two.status]).toEqual([202, 202]);
  expect(two.body).toEqual(one.body);
});

test('an account cannot have more than a thousand waiting exports', async () => {
  const { accountId } = otherClient;
  await exec(
    program.pool,
    sql`INSERT INTO export (account_id, type, format, status, filters)
        SELECT ${accountId}, 'HISTORY', 'csv', 'PENDING', '{}' FROM generate_series(1, 1000)`,
  );
  const answer = await otherClient.client.request('POST', HISTORY, { body: span });
  expect(answer).toMatchObject({ status: 429, body: { retryAfter: 60 } });
});

test('the audit log records who requests, repeats and deletes an export', async () => {
  const { exportId } = await made();
  await exec(program.pool, sql`UPDATE export SET status = 'FAILED' WHERE id = ${exportId}`);
  await endOf(await ask(`${PATH}/${exportId}`, {}));
  await client.request('DELETE', `${PATH}/${exportId}`);
  const entries = await many<{ action: string }>(
    program.pool,
    sql`SELECT action FROM audit_entry WHERE account_id = ${program.account.accountId}
          AND subject = ${`export:${exportId}`} ORDER BY id`,
  );
  expect(entries.map(({ action }) => action)).toEqual(['export.create', 'export.repeat', 'export.delete']);
});
