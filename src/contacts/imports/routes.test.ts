import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestProgram, type TestProgram } from '../../testing/program.ts';
import { until } from '../../testing/until.ts';

const PG = '/api/partner-gateway/v1';
let program: TestProgram;
beforeAll(async () => {
  program = await startTestProgram({ carriers: {} });
});
afterAll(() => program[Symbol.asyncDispose]());

async function upload(file: string | Uint8Array<ArrayBuffer>, name: string, fields: object = {}, path = '/upload') {
  const form = new FormData();
  form.append('file', new Blob([file]), name);
  for (const [key, value] of Object.entries(fields)) form.append(key, String(value));
  const request = new Request('http://x', { method: 'POST', body: form });
  const headers = { 'content-type': request.headers.get('content-type') ?? '' };
  const octets = new Uint8Array(await request.arrayBuffer());
  return program.client.request('POST', `${PG}/contacts${path}`, { octets, headers });
}

test('a small file is done at once', async () => {
  const csv =
    'Phone Number;First name;City\n+393331234567;Anna;Roma\n+393331234568;Bert;\n333;x;\n+39 333 1234567;again;\n';
  const { status, body } = await upload(csv, 'a.csv');
  expect([status, body]).toEqual([200, null]);
});

test('a large file', async () => {
  const csv = `phoneNumber,firstName\n${Array.from({ length: 6000 }, (_, i) => `+39333${2000000 + i},N${i}`).join('\n')}\n`;
  const { status, body } = await upload(csv, 'b.csv');
  expect(status).toBe(202);
  const id = (body as { importId: number }).importId;
  const done = await until('done', async () => {
    const { body: now } = await program.client.request('GET', `${PG}/contacts/imports/${id}`);
    return (now as { status: string }).status === 'COMPLETED' && now;
  });
  expect(done).toEqual(null);
});
