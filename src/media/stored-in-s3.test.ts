import { expect, test } from 'vitest';
import { makeMp4 } from '../../test/support/files/mp4.ts';
import { startS3 } from '../../test/support/files/s3.ts';
import { formOf } from '../../test/support/http/form.ts';
import { startTestProgram } from '../../test/support/program.ts';

test('with STORAGE=s3 uploads are stored in the bucket, and served from there in ranges', async () => {
  await using server = await startS3();
  await using program = await startTestProgram({
    carriers: {},
    environment: { ...server.environment, S3_PREFIX: 'ours' },
  });
  const video = makeMp4({ data: Buffer.from('abcdefghij') });
  const form = await formOf({ name: 'clip.mp4', content: Uint8Array.from(video) });
  const { status, body } = await program.client.request('POST', '/api/partner-gateway/v1/media', form);
  expect(status, JSON.stringify(body)).toBe(201);

  const folder = new RegExp(`^ours/media/${program.account.accountId}/[0-9a-f-]{36}$`);
  const files = (await server.keys()).filter((key) => !key.startsWith('ours/erasures/'));
  expect(files).toEqual([expect.stringMatching(folder)]);

  const { pathname, search } = new URL(String(typeof body === 'object' && body && Reflect.get(body, 'url')));
  const start = video.indexOf('abcdefghij');
  const headers = { range: `bytes=${start}-${start + 3}`, 'x-api-key': '' };
  const part = await program.client.request('GET', pathname + search, { headers });
  expect([part.status, part.body]).toEqual([206, 'abcd']);
});
