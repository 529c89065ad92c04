import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Answer, Client } from '../../test/support/client.ts';
import { makeMp4 } from '../../test/support/files/mp4.ts';
import { formOf } from '../../test/support/http/form.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { exec, many, maybeOne, sql } from '../core/db/query.ts';
import { createSecretKey } from '../core/secrets.ts';
import { createLinkSigner } from '../core/storage.ts';
import { createAccount } from '../operate/account-commands.ts';

const PG = '/api/partner-gateway/v1';
const MEDIA = `${PG}/media`;
const PUBLIC_URL = 'https://media.example.com';
const PLAIN = { create: { width: 400, height: 200, channels: 3, background: 'teal' } } as const;

let program: TestProgram;
let other: Client;
let png: Uint8Array<ArrayBuffer>;
beforeAll(async () => {
  program = await startTestProgram({ carriers: {}, environment: { PUBLIC_URL } });
  other = program.clientOf((await createAccount(program.pool, { name: 'Other', plan: 'unlimited' })).apiKey);
  png = Uint8Array.from(await sharp(PLAIN).png().toBuffer());
});
afterAll(() => program[Symbol.asyncDispose]());

const request = (method: string, path: string): Promise<Answer> => program.client.request(method, path);

type Options = { readonly fields?: Record<string, string | number>; readonly headers?: Record<string, string> };

async function upload(
  name: string,
  content: Uint8Array<ArrayBuffer>,
  { fields, headers }: Options = {},
): Promise<Answer> {
  const form = await formOf({ name, content }, fields);
  return program.client.request('POST', MEDIA, { ...form, headers: { ...form.headers, ...headers } });
}

const field = (body: unknown, name: string): unknown =>
  typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined;
const textOf = (body: unknown, name: string): string => String(field(body, name));
const faultsOf = (body: unknown): unknown[] => {
  const details = field(body, 'details');
  return Array.isArray(details) ? details.map((detail) => field(detail, 'field')) : [];
};

async function uploaded(name = 'a.png', options: Options = {}) {
  const { status, body } = await upload(name, png, options);
  expect(status, JSON.stringify(body)).toBe(201);
  return { id: Number(field(body, 'id')), url: textOf(body, 'url'), thumbnailUrl: textOf(body, 'thumbnailUrl'), body };
}

/** Fetches a link without any credentials. */
async function follow(url: string, headers: Record<string, string> = {}, method = 'GET') {
  const { pathname, search } = new URL(url);
  const answer = await program
    .clientOf('')
    .request(method, `${pathname}${search}`, { headers: { 'x-api-key': '', ...headers } });
  return { ...answer, text: String(answer.body) };
}

test('an unknown field of the form is named in the response', async () => {
  const { body } = await uploaded('a.png', { fields: { folder: 7 } });
  expect(body).toMatchObject({ folderId: null, warnings: ['unknown field folder: did you mean folderId?'] });
});

test('a picture is uploaded, found, listed and deleted', async () => {
  const { id, body } = await uploaded('a.png', { fields: { name: 'Teal', description: 'A plain one', folderId: 7 } });
  expect(body).toMatchObject({
    id,
    name: 'Teal',
    description: 'A plain one',
    folderId: 7,
    mimeType: 'image/png',
    width: 400,
    height: 200,
    durationSeconds: null,
    url: expect.stringContaining(`${PUBLIC_URL}/api/files/`),
    thumbnailUrl: expect.stringContaining('size=thumbnail'),
    createdAt: expect.stringMatching(/Z$/),
  });
  expect((await request('GET', `${MEDIA}/${id}`)).body).toMatchObject({ id, name: 'Teal' });
  const inFolder = await request('GET', `${MEDIA}?folderId=7`);
  expect(inFolder.body).toMatchObject({ page: 0, limit: 10, total: 1, data: [{ id }] });
  expect((await request('DELETE', `${MEDIA}/${id}`)).status).toBe(204);
  expect((await request('GET', `${MEDIA}/${id}`)).status).toBe(404);
  expect((await request('DELETE', `${MEDIA}/${id}`)).status).toBe(404);
  expect((await request('GET', `${MEDIA}?folderId=7`)).body).toMatchObject({ total: 0, data: [] });
});

test('a video has a duration and no thumbnail', async () => {
  const { status, body } = await upload('clip.mp4', Uint8Array.from(makeMp4()));
  expect(status).toBe(201);
  expect(body).toMatchObject({
    name: 'clip.mp4',
    mimeType: 'video/mp4',
    durationSeconds: 2,
    width: 320,
    thumbnailUrl: null,
  });
});

test('the list starts with the newest, is paginated, and filters by type', async () => {
  const { id: older } = await uploaded('older.png', { fields: { folderId: 8 } });
  const { id: newer } = await uploaded('newer.png', { fields: { folderId: 8 } });
  expect((await request('GET', `${MEDIA}?folderId=8&limit=1`)).body).toMatchObject({ total: 2, data: [{ id: newer }] });
  expect((await request('GET', `${MEDIA}?folderId=8&limit=1&page=1`)).body).toMatchObject({ data: [{ id: older }] });
  expect((await request('GET', `${MEDIA}?folderId=8&mimeType=image/gif`)).body).toMatchObject({ total: 0 });
  expect((await request('GET', `${MEDIA}?folderId=8&name=OLD`)).body).toMatchObject({
    total: 1,
    data: [{ id: older }],
  });
  expect((await request('GET', `${MEDIA}?folderId=8&name=%25`)).body).toMatchObject({ total: 0 });
  expect((await request('GET', `${MEDIA}?mimeType=image/svg`)).status).toBe(400);
});

test('all faults of an upload are named, and nothing is stored', async () => {
  const before = await many(program.pool, sql`SELECT id FROM media`);
  const wrong = await upload('a.png', png, {
    fields: { name: 'x'.repeat(201), description: 'x'.repeat(1001), folderId: 'seven' },
  });
  expect([wrong.status, faultsOf(wrong.body)]).toEqual([400, ['name', 'description', 'folderId']]);
  const mismatch = await upload('a.gif', png);
  expect([mismatch.status, faultsOf(mismatch.body)]).toEqual([400, ['file']]);
  const svg = await upload('a.svg', Uint8Array.from(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')));
  expect([svg.status, faultsOf(svg.body)]).toEqual([400, ['file']]);
  const large = await upload('a.mp4', new Uint8Array(17 * 1024 * 1024));
  expect(large.status).toBe(413);
  const json = await program.client.request('POST', MEDIA, { body: {} });
  expect(json.status).toBe(415);
  expect(await many(program.pool, sql`SELECT id FROM media`)).toEqual(before);
});

test('a link opens the picture and its thumbnail without credentials, with headers that make them inert', async () => {
  const { url, thumbnailUrl } = await uploaded('a.png', { fields: { name: 'plain".png' } });
  const whole = await follow(url);
  expect(whole.status).toBe(200);
  expect(Object.fromEntries(whole.headers)).toMatchObject({
    'content-type': 'image/png',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'content-security-policy': expect.stringMatching(/default-src 'none'.*sandbox/),
    'cache-control': 'private, no-cache',
    'content-disposition': `inline; filename="plain_.png"; filename*=UTF-8''plain%22.png`,
    'accept-ranges': 'bytes',
  });
  const thumbnail = await follow(thumbnailUrl);
  expect([thumbnail.status, thumbnail.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
});

test('a link serves ranges and HEAD, and returns 304 to a valid copy', async () => {
  const { body } = await upload('clip.mp4', Uint8Array.from(makeMp4({ data: Buffer.from('abcdefghij') })));
  const url = textOf(body, 'url');
  const [whole, head] = [await follow(url), await follow(url, {}, 'HEAD')];
  const length = Number(whole.headers.get('content-length'));
  expect([head.status, head.text, head.headers.get('content-length')]).toEqual([200, '', String(length)]);
  const at = whole.text.indexOf('abcdefghij');
  const part = await follow(url, { range: `bytes=${at}-${at + 3}` });
  expect([part.status, part.text]).toEqual([206, 'abcd']);
  expect(part.headers.get('content-range')).toBe(`bytes ${at}-${at + 3}/${length}`);
  const beyond = await follow(url, { range: `bytes=${length}-` });
  expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, `bytes */${length}`]);
  const etag = whole.headers.get('etag') ?? '';
  expect((await follow(url, { 'if-none-match': etag })).status).toBe(304);
  const stale = await follow(url, { range: 'bytes=0-3', 'if-range': '"another"' });
  expect([stale.status, stale.text.length > 4]).toEqual([200, true]);
});

test('a link that is altered, expired or revoked, or whose file is deleted, opens nothing', async () => {
  const { id, url, thumbnailUrl } = await uploaded();
  const fresh = await uploaded();
  expect((await follow(url.replace(/version=1/, 'version=2'))).status).toBe(404);
  expect((await follow(thumbnailUrl.replace('size=thumbnail&', ''))).status).toBe(404);
  expect((await follow(url.replace(/files\/[^?]+/, new URL(fresh.url).pathname.slice(5)))).status).toBe(404);
  expect((await follow(url.replace(/&signature=.*/, '&signature='))).status).toBe(404);
  // Without a signature it is a normal request.
  expect((await follow(url.replace(/&signature=.*/, ''))).status).toBe(401);

  const revoked = await program.client.request('POST', `${MEDIA}/${id}/revoke-links`);
  expect(revoked.status).toBe(200);
  expect((await follow(url)).status).toBe(404);
  const next = textOf(revoked.body, 'url');
  expect((await follow(next)).status).toBe(200);
  await request('DELETE', `${MEDIA}/${id}`);
  expect((await follow(next)).status).toBe(404);
});

test('an expired link with a valid signature is reported as expired', async () => {
  const { url } = await uploaded();
  const [accountId, id] = [program.account.accountId, new URL(url).pathname.split('/').at(-1) ?? ''];
  const { sign } = createLinkSigner(createSecretKey(Buffer.from('5e'.repeat(32), 'hex')));
  const at = (ms: number): string => sign({ kind: 'media', accountId, id, version: 1 }, new Date(Date.now() + ms));
  expect((await follow(`${PUBLIC_URL}/api/files/${id}?${at(60_000)}`)).status).toBe(200);
  const expired = await follow(`${PUBLIC_URL}/api/files/${id}?${at(-1000)}`);
  expect([expired.status, field(expired.body, 'message')]).toEqual([404, 'This link has expired']);
});

test('with a key a file is served only to its account, and only with the scope', async () => {
  const { url } = await uploaded();
  const { pathname } = new URL(url);
  expect((await program.client.request('GET', pathname)).status).toBe(200);
  const foreign = await other.request('GET', pathname);
  const unknown = await other.request('GET', '/api/files/AAAAAAAAAAAAAAAAAAAAAA');
  expect(foreign.status).toBe(404);
  expect({ ...Object(foreign.body), requestId: '' }).toEqual({ ...Object(unknown.body), requestId: '' });
  const made = await program.client.request('POST', `${PG}/authentication`, { body: { operations: ['contacts'] } });
  const bare = program.clientOf(textOf(made.body, 'apiKey'));
  for (const path of [pathname, MEDIA]) expect((await bare.request('GET', path)).status).toBe(403);
});

test('a file received with a message needs the scope inbox', async () => {
  const { url, id } = await uploaded();
  await exec(program.pool, sql`UPDATE media SET origin = 'INBOUND' WHERE id = ${id}`);
  const { pathname } = new URL(url);
  const keyFor = async (scope: string): Promise<Client> => {
    const { body } = await program.client.request('POST', `${PG}/authentication`, { body: { operations: [scope] } });
    return program.clientOf(textOf(body, 'apiKey'));
  };
  expect((await (await keyFor('inbox')).request('GET', pathname)).status).toBe(200);
  expect((await (await keyFor('media')).request('GET', pathname)).status).toBe(404);
  expect((await request('GET', `${MEDIA}/${id}`)).status).toBe(404);
});

test('an upload with an Idempotency-Key is done once, and a different one with the same key is rejected', async () => {
  const headers = { 'idempotency-key': 'upload-1', 'content-type': 'multipart/form-data; boundary=x' };
  const body = (text: string) =>
    `--x\r\ncontent-disposition: form-data; name="file"; filename="a.gif"\r\n\r\n${GIF}\r\n--x\r\ncontent-disposition: form-data; name="name"\r\n\r\n${text}\r\n--x--\r\n`;
  const first = await program.client.request('POST', MEDIA, { headers, body: body('one') });
  const again = await program.client.request('POST', MEDIA, { headers, body: body('one') });
  expect([first.status, again.status]).toEqual([201, 201]);
  expect(again.body).toEqual(first.body);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect((await program.client.request('POST', MEDIA, { headers, body: body('two') })).status).toBe(409);
});
/** One pixel, in ASCII. */
const GIF = 'GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;';

test('uploading, revoking and deleting are recorded in the audit log', async () => {
  const { id } = await uploaded();
  await program.client.request('POST', `${MEDIA}/${id}/revoke-links`);
  await request('DELETE', `${MEDIA}/${id}`);
  const rows = await many<{ action: string }>(
    program.pool,
    sql`SELECT action FROM audit_entry WHERE subject = ${`media:${id}`} ORDER BY id`,
  );
  expect(rows.map(({ action }) => action)).toEqual(['media.create', 'media.revoke-links', 'media.delete']);
});

test('the files of deleted media are removed from the store', async () => {
  const { id } = await uploaded();
  const row = await maybeOne<{ fileKey: string; thumbnailKey: string }>(
    program.pool,
    sql`SELECT file_key AS "fileKey", thumbnail_key AS "thumbnailKey" FROM media WHERE id = ${id}`,
  );
  const folder = join(program.environment['DATA_DIR'] ?? '', 'files/media', String(program.account.accountId));
  const names = [row?.fileKey, row?.thumbnailKey].map((key) => key?.split('/').at(-1));
  expect(await readdir(folder)).toEqual(expect.arrayContaining(names));
  await request('DELETE', `${MEDIA}/${id}`);
  await program.stop();
  await program.start();
  await until('no such file', async () => (await readdir(folder)).every((name) => !names.includes(name)));
});
