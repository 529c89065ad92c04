import { expect, test } from 'vitest';
import { formOf } from '../../test/support/http/form.ts';
import { startTestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { startWorkerProcess } from '../../test/support/worker-process.ts';
import { findBook } from './limits.ts';

test('the import of a killed worker is finished by another: no row twice, none missing', async () => {
  await using program = await startTestProgram({ carriers: {}, roles: { worker: false } });
  const rows = Array.from({ length: 30_000 }, (_, i) => `+39333${2_000_000 + i}`);
  const form = await formOf({ name: 'a.csv', content: `phone\n${rows.join('\n')}\n` });
  const PATH = '/api/partner-gateway/v1/contacts';
  const { body } = await program.client.request('POST', `${PATH}/upload`, form);
  const { importId } = body as { importId: number };
  const look = async () => {
    const { body: found } = await program.client.request('GET', `${PATH}/imports/${importId}`);
    return found as { status: string; progress: number; summary: object };
  };
  const killed = startWorkerProcess(program);
  await until('some progress', async () => (await look()).progress > 0);
  await killed.kill();
  const before = await look();
  const next = startWorkerProcess(program);
  const done = await until('the end', async () => {
    const found = await look();
    return found.status === 'COMPLETED' && found;
  });
  await next.stop();
  expect(before.progress).toBeGreaterThan(0);
  expect(done.summary).toEqual({ total: 30_000, created: 30_000, updated: 0, skipped: 0, errors: 0 });
  expect(await findBook(program.pool, program.account)).toMatchObject({ contacts: 30_000 });
});
