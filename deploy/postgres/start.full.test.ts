import { createPool } from '../../src/core/db/pool.ts';
import { silentLog } from '../../src/core/log.ts';
import {
  type Container,
  type Containers,
  containersAreMissing,
  openContainers,
  type Run,
} from '../../test/support/deployment/postgres-containers.ts';
import { until } from '../../test/support/until.ts';
import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

// start.sh and primary.sh as deploy/compose/ha.yaml runs them. The tests follow one another, as docs/how-to/install-compose.md tells it.

const NAMES = ['postgres-1', 'postgres-2', 'postgres-3'] as const;
type Name = (typeof NAMES)[number];
const missing = containersAreMissing();

describe.skipIf(missing !== undefined)('the PostgreSQL servers of ha.yaml', () => {
  const closing = new AsyncDisposableStack();
  const runs = new Map<Name, Run>();
  let stage: Containers;
  /** Pool with the options of the program. */
  let pool: Pool;
  /** The numbers whose insert was confirmed. */
  const confirmed: number[] = [];

  const server = (name: Name): Container => {
    const found = stage.containers.find((container) => container.name === name);
    if (found === undefined) throw new Error(`ha.yaml has no ${name}`);
    return found;
  };
  const up = (...names: readonly Name[]): void => {
    for (const name of names) runs.set(name, server(name).up());
  };
  const stop = async (name: Name): Promise<void> => runs.get(name)?.stop();
  const standbysOf = (primary: Name): Name[] => NAMES.filter((name) => name !== primary);
  const outputs = (): string => NAMES.map((name) => `${name}:\n${runs.get(name)?.output() ?? ''}`).join('\n');

  beforeAll(async () => {
    stage = closing.use(await openContainers());
    pool = createPool(stage.url, { max: 2, applicationName: 'test', log: silentLog });
    closing.defer(() => pool.end());
  });
  afterAll(() => closing.disposeAsync());

  /** Resolves when these standbys follow the primary, and its commits wait for any one of them. */
  async function untilStandbys(primary: Name, standbys = standbysOf(primary)): Promise<void> {
    const seen = async (): Promise<string[]> => {
      const rows = await server(primary)
        .ask<{ name: string }>(
          "SELECT application_name AS name FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'quorum' ORDER BY 1",
        )
        .catch(() => []);
      return rows.map(({ name }) => name);
    };
    await until(`${standbys.join(' and ')} behind ${primary}`, async () => `${await seen()}` === `${standbys}`).catch(
      (error: unknown) => {
        throw new Error(outputs(), { cause: error });
      },
    );
  }

  /** Inserts a number as the program would, until it is confirmed. */
  async function insert(): Promise<void> {
    const number = confirmed.length;
    await until(`the number ${number}`, () =>
      pool.query('INSERT INTO kept VALUES ($1) ON CONFLICT DO NOTHING', [number]).then(
        () => true,
        () => false,
      ),
    );
    confirmed.push(number);
  }

  async function expectNothingLost(): Promise<void> {
    const { rows } = await pool.query<{ number: number }>('SELECT number FROM kept ORDER BY number');
    expect(rows.map(({ number }) => number)).toEqual(confirmed);
  }

  /** Steps 2 and 3 of the documentation: promotes the standby that has received more, and returns it. */
  async function promoteOneOf(...standbys: readonly [Name, Name]): Promise<Name> {
    const received = await Promise.all(
      standbys.map(async (name) => {
        const lsn = await psql(name, 'SELECT pg_last_wal_receive_lsn()');
        const [high = '', low = ''] = lsn.split('/');
        return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
      }),
    );
    const [a = 0n, b = 0n] = received;
    const chosen = a >= b ? standbys[0] : standbys[1];
    expect(await psql(chosen, 'SELECT pg_promote()')).toBe('t');
    return chosen;
  }

  const psql = (name: Name, statement: string): Promise<string> =>
    server(name).exec('psql', '-U', 'heliograph', '--tuples-only', '--no-align', '-c', statement);

  const acceptsWrites = async (name: Name): Promise<boolean> =>
    (await psql(name, 'SHOW transaction_read_only')) === 'off';

  test('a server without data waits for one that accepts writes, and can be stopped meanwhile', async () => {
    const run = server('postgres-2').up();
    await until('the wait', () => run.output().includes('postgres-2 has no data'));
    await run.stop();
    expect(await run.ended).not.toBe(0);
  });

  test('init creates the database and leaves an existing one alone', async () => {
    const first = server('postgres-1').run('init');
    expect(await first.ended, first.output()).toBe(0);
    const again = server('postgres-1').run('init');
    expect(await again.ended, again.output()).toBe(0);
    expect(again.output()).toContain('exists already');
  });

  test('the standbys copy the primary and stream, also after a copy that was interrupted', async () => {
    await server('postgres-3').exec('sh', '-c', 'mkdir -p "$PGDATA.new" && echo 18 > "$PGDATA.new/PG_VERSION"');
    up('postgres-3', 'postgres-2', 'postgres-1');
    await untilStandbys('postgres-1');
    await pool.query('CREATE TABLE kept (number int PRIMARY KEY)');
    for (const name of NAMES) {
      expect(await acceptsWrites(name)).toBe(name === 'postgres-1');
      expect(await psql(name, 'SHOW synchronous_standby_names')).toBe(
        'ANY 1 ("postgres-1", "postgres-2", "postgres-3")',
      );
      expect(await psql(name, 'SHOW wal_keep_size')).toBe('2GB');
    }
  });

  test('init does not create a second database next to the first one', async () => {
    await stop('postgres-3');
    await server('postgres-3').removeVolume();
    const init = server('postgres-3').run('init');
    expect(await init.ended).toBe(1);
    expect(init.output()).toContain('There is a database already');
    up('postgres-3');
    await untilStandbys('postgres-1');
  });

  test('connections over the network need a password', async () => {
    const rules = await server('postgres-2').ask(
      "SELECT FROM pg_hba_file_rules WHERE type = 'host' AND auth_method <> 'scram-sha-256'",
    );
    expect(rules).toEqual([]);
  });

  test('commits go on without one standby, and wait while both are away', async () => {
    await stop('postgres-3');
    await insert();
    await stop('postgres-2');
    const pending = insert();
    await until('a commit that waits', async () => {
      const rows = await server('postgres-1').ask("SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
      return rows.length === 1;
    });
    expect(confirmed).toHaveLength(1);
    up('postgres-2');
    await pending;
    expect(confirmed).toHaveLength(2);
    up('postgres-3');
    await untilStandbys('postgres-1');
  });

  let primary: Name = 'postgres-1';

  test('the primary is lost: one standby is promoted, the other one follows it, and so does the program', async () => {
    await insert();
    await runs.get('postgres-1')?.kill();
    primary = await promoteOneOf('postgres-2', 'postgres-3');
    await insert();
    await untilStandbys(
      primary,
      standbysOf(primary).filter((name) => name !== 'postgres-1'),
    );
    await expectNothingLost();
  });

  test('the old primary does not start next to the new one, and comes back as a standby without its data', async () => {
    const refused = server('postgres-1').up();
    expect(await refused.ended).toBe(1);
    expect(refused.output()).toContain('Remove its volume');
    await server('postgres-1').removeVolume();
    up('postgres-1');
    await untilStandbys(primary);
    await insert();
    expect(await acceptsWrites('postgres-1')).toBe(false);
  });

  test('one that came back can be promoted in its turn', async () => {
    const old = primary;
    await stop(old);
    primary = await promoteOneOf('postgres-1', old === 'postgres-2' ? 'postgres-3' : 'postgres-2');
    await insert();
    await server(old).removeVolume();
    up(old);
    await untilStandbys(primary);
    await expectNothingLost();
  });

  test('after a stop of all, each is again what it was', async () => {
    await Promise.all(NAMES.map(stop));
    up(...NAMES);
    await untilStandbys(primary);
    await insert();
    await expectNothingLost();
  });
});

test.runIf(missing !== undefined)('the PostgreSQL servers of ha.yaml', ({ skip }) => skip(missing));
