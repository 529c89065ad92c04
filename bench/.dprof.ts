import { startEmbedded } from '../src/db/embedded.ts';
import { migrate, MIGRATIONS_DIR } from '../src/db/migrate.ts';
import { ensurePartitions } from '../src/db/partitions.ts';
import { createPool } from '../src/db/pool.ts';
import { silentLog } from '../src/lib/log.ts';
import { transaction } from '../src/db/transaction.ts';
import { temporaryFolder } from '../src/testing/temporary-folder.ts';
import { removeDataDir } from '../src/testing/data-dir.ts';
import { createAccount } from '../src/accounts/create.ts';
import { destinationOf } from './traffic.ts';
import pg from 'pg';
import { from } from 'pg-copy-streams';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { recipientsSql } from '../src/campaigns/goal/sql.ts';
import { loadPlan } from '../src/campaigns/goal/plan.ts';
import { insertRecipients } from '../src/campaigns/run/expand/sql.ts';
import { claimRunning } from '../src/campaigns/run/sql.ts';
import { listCandidates, nextOfLane } from '../src/campaigns/feed/sql.ts';
import { loadTexts } from '../src/campaigns/feed/texts.ts';
import { recordContacted } from '../src/contacts/contacted.ts';
import { insertMessages } from '../src/messages/sql.ts';
import { newMessage } from '../src/testing/queue.ts';
import { sql, many } from '../src/db/query.ts';
import { insertRoute } from '../src/routing/sql.ts';
import { insertConnection } from '../src/connections/sql.ts';

const N = 200_000;
const dataDir = await temporaryFolder('heliograph-dprof-');
const server = await startEmbedded({ dataDir, log: silentLog, durable: true });
const pool = createPool(server.connectionString, { max: 4, applicationName: 'x', log: silentLog });
try {
  await migrate(pool, { dir: MIGRATIONS_DIR, log: silentLog });
  await ensurePartitions(pool, new Date());
  const { accountId: A } = await createAccount(pool, { name: 'a', plan: 'unlimited' });
  const c = await insertConnection(pool, { name: 'c1', kind: 'smpp', sandbox: false, settings: {} });
  await insertRoute(pool, { channel: 'SMS', prefix: '', connectionId: c!.id, priority: 1 });
  const db = new pg.Client({ connectionString: server.connectionString });
  await db.connect();
  function* lines() { let b = ''; for (let n = 0; n < N; n++) { b += `${A}\tName ${n % 1000}\t${destinationOf(n)}\tIT\tt\t1\n`; if (n % 1000 === 999) { yield b; b = ''; } } }
  await pipeline(Readable.from(lines()), db.query(from(`COPY contact (account_id, first_name, phone_number, country, is_valid, channels) FROM STDIN`)));
  const ids = (await db.query(`INSERT INTO contact_list (account_id, name) SELECT $1, 'L' || n FROM generate_series(1, 10) n RETURNING id`, [A])).rows.map((r: any) => Number(r.id));
  await db.query(`INSERT INTO contact_list_member (account_id, list_id, contact_id, name_key) SELECT account_id, ($2::bigint[])[1 + (id + shift) % 10], id, lower(full_name) FROM contact, unnest(ARRAY[0,3]) AS shift WHERE account_id = $1 ON CONFLICT DO NOTHING`, [A, ids]);
  await db.query(`UPDATE contact_list l SET contact_count = (SELECT count(*) FROM contact_list_member m WHERE m.list_id = l.id)`);
  await db.query('UPDATE contact_book SET contacts = $1', [N]);
  await db.query('VACUUM ANALYZE contact, contact_list_member');
  const body = 'Dear {{firstName|customer}}, your parcel arrives today between 10 and 12. Track it at example.com/t/4711.';
  const prices = [{ channel: 'SMS', prefix: '', unitMicros: 35000, refundUndelivered: false }];
  const id = Number((await db.query(`INSERT INTO campaign (account_id, name, status, sending_mode, sms_sender, sms_body, destination_type, contact_list_ids, ready_to_send, goal, reserved_micros, confirmed_at, started_at) VALUES ($1,'x',2,'SMS','ACME',$2,1,$3,true,$4,$5,now(),now()) RETURNING id`, [A, body, ids, JSON.stringify({ prices }), N * 35000])).rows[0].id);
  await db.query('INSERT INTO campaign_run (account_id, campaign_id, unused_micros) VALUES ($1,$2,$3)', [A, id, N * 35000]);
  await db.query('INSERT INTO campaign_job (campaign_id, account_id) VALUES ($1,$2)', [id, A]);
  const job = { accountId: A, campaignId: id };
  const t = { plan: 0, expand: 0, read: 0, contacted: 0, messages: 0 };
  const time = async (k: keyof typeof t, f: () => Promise<any>) => { const s = performance.now(); const r = await f(); t[k] += performance.now() - s; return r; };
  for (;;) {
    const done = await transaction(pool, async (tx) => {
      const campaign = (await claimRunning(tx, job))!;
      if (campaign.expanded) return true;
      const plan = await time('plan', () => loadPlan(tx, { accountId: A, campaign, prices: campaign.prices }));
      const args = { candidates: recipientsSql(plan, { after: campaign.expandedTo, limit: 5000 }), leftMicros: campaign.reservedMicros - campaign.allottedMicros, limit: 5000 };
      if (process.argv[2] === 'explain' && campaign.recipients === 50000) {
        const q: any = { text: '', values: [] };
        await insertRecipients({ query: async (s: any) => { q.text = s.text; q.values = s.values; return { rows: [{}], rowCount: 0 } as any; } }, job, args);
        const r = await tx.query({ text: 'EXPLAIN (ANALYZE, BUFFERS OFF) ' + q.text, values: q.values });
        console.log(r.rows.map((x: any) => x['QUERY PLAN']).join('\n'));
        throw new Error('stop');
      }
      await time('expand', () => insertRecipients(tx, job, args));
      return false;
    });
    if (done) break;
  }
  let fedTo = '';
  for (let i = 0; i < N / 5000; i++) {
    await transaction(pool, async (tx) => {
      const campaign = (await claimRunning(tx, job))!;
      const texts = await loadTexts({ tx, campaign });
      const source = nextOfLane(job, { country: 'IT', fedTo }, 5000);
      if (process.argv[2] === 'read' && i === 10) {
        const q: any = {};
        await listCandidates({ query: async (s: any) => { q.text = s.text; q.values = s.values; return { rows: [], rowCount: 0 } as any; } }, { accountId: A, texts, source });
        const r = await tx.query({ text: 'EXPLAIN (ANALYZE, BUFFERS OFF) ' + q.text, values: q.values });
        console.log(r.rows.map((x: any) => x['QUERY PLAN']).join('\n'));
      }
      const cand: any[] = await time('read', () => listCandidates(tx, { accountId: A, texts, source }));
      fedTo = cand.at(-1)[2];
      await time('contacted', () => recordContacted(tx, cand.map((x) => ({ accountId: A, contactId: x[3], channel: 'SMS', at: new Date(), campaignType: 'SMS' }))));
      for (let k = 0; k < 5; k++) await time('messages', () => insertMessages(tx, cand.slice(k * 1000, k * 1000 + 1000).map((x) => newMessage({ accountId: A, destination: x[2], body: x[8], parts: x[9], priceMicros: 35000, campaignId: id, source: 'CAMPAIGN' }))));
    });
  }
  for (const [k, v] of Object.entries(t)) console.log(k, ((v / N) * 1000).toFixed(1), 'us/recipient');
  await db.end();
} finally {
  await pool.end();
  await server.stop();
  await removeDataDir(dataDir);
}
