import { beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { exec, sql } from '../core/db/query.ts';
import { HOUR_MS } from '../core/time.ts';
import { createAccount } from '../operate/account-commands.ts';
import { createStartFinder, type HistoryFilter, idRangeOf, listHistoryIds } from './history.ts';

const { pool } = testDatabase();

/** A day whose partition exists, as does that of the day before. */
const NOON = Math.floor(Date.now() / 86_400_000) * 86_400_000 + 12 * HOUR_MS;
const at = (hours: number): Date => new Date(NOON + hours * HOUR_MS);

let accountId: number;
beforeAll(async () => {
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited' }));
});

/** Stores this many messages per hour from an hour on, with alternating channels and pauses of five hours. */
async function store(from: number, hours: number, perHour: number): Promise<void> {
  await exec(
    pool,
    sql`INSERT INTO message (account_id, id, channel, source, simulation, sender, destination, body, parts, want_receipt)
        SELECT ${accountId}, uuidv7(at - clock_timestamp()), (ARRAY['SMS', 'RCS'])[1 + n % 2], 'API', false, 'A', '+39', 'x', 1, true
        FROM generate_series(0, ${hours * perHour - 1}) AS n,
             LATERAL (SELECT ${at(from)}::timestamptz + n * interval '1 hour' / ${perHour} AS at) AS t
        WHERE extract(hour FROM at)::int % 10 < 5`,
  );
}

const asked = (from: Date, to: Date): HistoryFilter => ({ accountId, channel: 'SMS', ...idRangeOf(from, to) });

/** Returns the page at `offset`, once found by hours and once by reading everything before it. */
async function bothWays(
  find: ReturnType<typeof createStartFinder>,
  filter: HistoryFilter,
  offset: number,
  settled: Date,
) {
  const start = await find(pool, filter, offset, settled);
  const byHours = await listHistoryIds(pool, { ...filter, ...start, limit: 7 });
  const plainly = await listHistoryIds(pool, { ...filter, offset, limit: 7 });
  return { start, byHours, plainly };
}

test('a page found by hours is the right page, wherever range and page begin and whatever was counted before', async () => {
  await store(-30, 30, 12);
  const find = createStartFinder();
  const ranges = [
    asked(at(-40), at(0)),
    asked(at(-25.5), at(-3.2)),
    asked(at(-3.4), at(-3.2)),
    asked(at(-27), at(-26)),
    asked(new Date(0), at(5000)),
    asked(at(-39), at(-38)),
  ];
  for (const settled of [at(-2), at(0)])
    for (const filter of ranges)
      for (let offset = 0; offset < 120; offset += 3) {
        const { byHours, plainly } = await bothWays(find, filter, offset, settled);
        expect(byHours, `${offset} of ${filter.firstId} to ${filter.endId}`).toEqual(plainly);
      }
});

test('a deep page skips fewer messages than an hour has', async () => {
  const { start } = await bothWays(createStartFinder(), asked(at(-40), at(0)), 80, at(-1));
  expect(start.offset).toBeLessThan(6);
  expect(start.endId < idRangeOf(at(0), at(-1)).endId).toBe(true);
});

test('messages of an hour that is not settled are counted each time', async () => {
  const find = createStartFinder();
  const filter = asked(at(-40), at(1));
  await bothWays(find, filter, 40, at(-5));
  await store(0, 1, 20);
  const { byHours, plainly } = await bothWays(find, filter, 40, at(-5));
  expect(byHours).toEqual(plainly);
});
