import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { bindAs, newCredential, startServer } from '../../test/support/smpp-server.ts';
import { until } from '../../test/support/until.ts';
import { maybeOne, sql } from '../core/db/query.ts';
import { createAccount } from '../operate/account-commands.ts';
import { STATUS } from '../smpp/status.ts';
import { TIMING } from './session.ts';

const database = testDatabase();
const { pool } = database;

test('what a bind has submitted, and what it was throttled, is reported', async () => {
  const { accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 });
  const server = await startServer(database, { timing: { ...TIMING, reportMs: 50 } });
  const client = await bindAs(server, await newCredential(pool, accountId, { tps: 1 }), 'transceiver', {
    interface_version: 0x33,
  });
  const statuses = await Promise.all(Array.from({ length: 10 }, () => client.submit('351912345678')));
  let throttled = statuses.filter(({ command_status }) => command_status !== 0).length;
  const query = await client.request('query_sm', { message_id: 'x', source_addr: '' });
  if (query.command_status === STATUS.ESME_RTHROTTLED) throttled += 1;
  expect(throttled).toBeGreaterThan(0);
  await until('all is reported', async () => {
    const row = await maybeOne<{ submits: number; throttled: number; version: number }>(
      pool,
      sql`SELECT submits, throttled, interface_version AS version FROM smpp_bind`,
    );
    return row?.submits === 10 && row.throttled === throttled && row.version === 0x33;
  });
  await until('it is at rest', async () => {
    const row = await maybeOne<{ perSecond: number }>(pool, sql`SELECT per_second AS "perSecond" FROM smpp_bind`);
    return row?.perSecond === 0;
  });
});
