import { beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { type Db, exec, many, one, sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { createAccount } from '../operate/account-commands.ts';
import { createNetworkRecorder, listLogins } from './users.ts';

const { pool } = testDatabase();

let userId: number;
let username: string;

beforeAll(async () => {
  ({ username } = await createAccount(pool, { name: 'Traveller', plan: 'production' }));
  const user = sql`SELECT id FROM app_user WHERE username = ${username}`;
  userId = (await one<{ id: number }>(pool, user)).id;
});

/** The database, with its statements counted, and away when asked to be. */
function counting(isAway: () => boolean = () => false) {
  const counted = { statements: 0 };
  const db: Db = {
    query: (query) => {
      counted.statements++;
      return isAway() ? Promise.reject(new Error('away')) : pool.query(query);
    },
  };
  return { db, counted };
}

const networks = async () => (await listLogins(pool, { usernames: [username] }))[0]?.networks;
const age = (network: string, days: number) =>
  exec(pool, sql`UPDATE login_network SET seen_at = now() - make_interval(days => ${days}) WHERE network = ${network}`);

test('each network is written once, however often the user logs in from it', async () => {
  const { db, counted } = counting();
  const note = createNetworkRecorder({ db, log: silentLog });
  await Promise.all(Array.from({ length: 10 }, () => note(userId, '192.0.2.1/32')));
  await note(userId, '192.0.2.1/32');
  await note(userId, '2001:db8::/64');
  expect(counted.statements).toBe(2);
  expect((await networks())?.toSorted()).toEqual(['192.0.2.1/32', '2001:db8::/64']);
});

test('a network not seen for 90 days is no longer known, and is deleted at the next login', async () => {
  const note = createNetworkRecorder({ db: pool, log: silentLog });
  await note(userId, '192.0.2.2/32');
  await age('192.0.2.2/32', 91);
  expect(await networks()).not.toContain('192.0.2.2/32');
  await note(userId, '192.0.2.3/32');
  const kept = await many<{ network: string }>(pool, sql`SELECT network::text FROM login_network`);
  expect(kept.map(({ network }) => network)).not.toContain('192.0.2.2/32');
});

test('a network seen again after a long time is known again', async () => {
  await createNetworkRecorder({ db: pool, log: silentLog })(userId, '192.0.2.4/32');
  await age('192.0.2.4/32', 91);
  await createNetworkRecorder({ db: pool, log: silentLog })(userId, '192.0.2.4/32');
  expect(await networks()).toContain('192.0.2.4/32');
});

test('a failed write is logged, does no harm and is retried the next time', async () => {
  const logged: string[] = [];
  let away = true;
  const log = { ...silentLog, warn: (_: object, message: string) => void logged.push(message) };
  const note = createNetworkRecorder({ db: counting(() => away).db, log });
  await note(userId, '192.0.2.5/32');
  expect(logged).toEqual(['the network of a login could not be recorded']);
  away = false;
  await note(userId, '192.0.2.5/32');
  expect(await networks()).toContain('192.0.2.5/32');
});
