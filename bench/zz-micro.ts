import pg from 'pg';
import { readFileSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbedded } from '../src/db/embedded.ts';
import { createPool } from '../src/db/pool.ts';
import { migrate, MIGRATIONS_DIR } from '../src/db/migrate.ts';
import { silentLog } from '../src/lib/log.ts';
import { tenant } from '../src/db/tenant.ts';
import { many, sql, onePlan } from '../src/db/query.ts';
const dataDir = await mkdtemp(join(tmpdir(), 'heliograph-bench-'));
const server = await startEmbedded({ dataDir, log: silentLog });
const pool = createPool(server.connectionString, { max: 8, applicationName: 'b', log: silentLog });
await migrate(pool, { dir: MIGRATIONS_DIR, log: silentLog });
await pool.query(
  "INSERT INTO account (name) SELECT 'a'||i FROM generate_series(1,1000) i; INSERT INTO credit_balance SELECT id FROM account; ANALYZE",
);
const q = (id: number) => onePlan(sql`SELECT currency, available_micros FROM credit_balance WHERE account_id = ${id}`);
const stm = (id: number) => {
  const { text, values } = q(id);
  return { text, values, name: 'bal' };
};
class TQ extends (pg.Query as any) {
  constructor(cfg: any, acc_: string, cb: any) {
    super(cfg, undefined, cb);
    (this as any).acc = acc_;
  }
  prepare(connection: any) {
    const name = 'tenant_enter';
    if (connection.submittedNamedStatements[name] === undefined) {
      connection.parse({
        text: "SELECT set_config('app.account_id', $1, true), set_config('role', 'heliograph_tenant', true)",
        name,
      });
      connection.submittedNamedStatements[name] = 'x';
    }
    connection.bind({ statement: name, values: [(this as any).acc], portal: '', valueMapper: (x: any) => x });
    connection.execute({ portal: '', rows: 0 });
    super['prepare'](connection);
  }
  handleDataRow(msg: any) {
    if (!(this as any).entered) return;
    super['handleDataRow'](msg);
  }
  handleCommandComplete(msg: any, c: any) {
    if (!(this as any).entered) {
      (this as any).entered = true;
      return;
    }
    super['handleCommandComplete'](msg, c);
  }
}
const variants: Record<string, (id: number) => Promise<unknown>> = {
  plain: (id) => many(pool, q(id)),
  A: (id) => many(tenant(pool, { accountId: id }), q(id)),
  B: async (id) => {
    const client = await pool.connect();
    const r = await Promise.allSettled([
      client.query(`BEGIN;SET LOCAL ROLE heliograph_tenant;SET LOCAL app.account_id=${id}`),
      client.query(stm(id)),
      client.query('COMMIT'),
    ]);
    client.release();
    return r;
  },
  C: async (id) => {
    const client = await pool.connect();
    try {
      return await new Promise((resolve, reject) => {
        client.query(new TQ(stm(id), String(id), (e: any, r: any) => (e ? reject(e) : resolve(r))) as any);
      });
    } finally {
      client.release();
    }
  },
};
console.log(((await variants['C']!(5)) as any).rows, (await variants['A']!(5)) as any);
const main = Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
const pgc = () => {
  let t = 0;
  for (const p of readdirSync('/proc')) {
    if (!/^\d+$/.test(p)) continue;
    try {
      const f = readFileSync(`/proc/${p}/stat`, 'utf8').split(') ')[1]!.split(' ');
      if (Number(f[1]) === main) t += (Number(f[11]) + Number(f[12])) * 10;
    } catch {}
  }
  return t;
};
const N = 15000;
for (let round = 0; round < 3; round++)
  for (const [name, run] of Object.entries(variants)) {
    const p0 = pgc(),
      c0 = process.cpuUsage();
    let n = 0;
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        while (n++ < N) await run(1 + (n % 1000));
      }),
    );
    const c = process.cpuUsage(c0);
    console.log(
      round,
      name,
      'client µs',
      ((c.user + c.system) / N).toFixed(1),
      'pg µs',
      (((pgc() - p0) * 1000) / N).toFixed(1),
    );
  }
await pool.end();
await server.stop();
await rm(dataDir, { recursive: true });
