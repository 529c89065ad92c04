import { readFileSync } from 'node:fs';
import { createPool } from '/work/main/src/db/pool.ts';
import { silentLog } from '/work/main/src/lib/log.ts';
import { listGoalRows, recipientsSql } from '/work/main/src/campaigns/goal/sql.ts';
import { parseText } from '/work/main/src/campaigns/text/parse.ts';
import { listPrices } from '/work/main/src/pricing/sql.ts';
import { tenantTransaction } from '/work/main/src/db/tenant.ts';
import { many, sql } from '/work/main/src/db/query.ts';
const pool = createPool(readFileSync('/tmp/cwork/url','utf8').trim(), { max: 4, applicationName: 'c', log: silentLog });
const accountId = (await pool.query("select max(id) m from account")).rows[0].m;
const lists = (await pool.query("select array_agg(id order by id) a from contact_list where account_id=$1",[accountId])).rows[0].a.map(Number);
const prices = await listPrices(pool);
const text='Hello {{firstName|friend}} {{lastName}}, your parcel comes tomorrow between 10 and 12, reply STOP to opt out of it all.';
const plan = { accountId, campaignId: 1, mode: process.argv[2]??'SMS', listIds: null, pieces: parseText(text, []).pieces, walk: true, prices };
const time=async(what,f)=>{const t=performance.now(); const r=await f(); console.log(what, Math.round(performance.now()-t),'ms'); return r;};
for (const listIds of [[lists[3]], lists.slice(0,3)]) for (let k=0;k<2;k++) {
  const base = await time('count distinct', ()=>tenantTransaction(pool,{accountId},tx=>many(tx, sql`SELECT count(DISTINCT c.phone_number) AS n FROM contact_list_member m JOIN contact c ON c.account_id=${accountId} AND c.id=m.contact_id WHERE m.account_id=${accountId} AND m.list_id = ANY(${'{'+listIds+'}'}::bigint[])`)));
  const rows = await time('goal', ()=>tenantTransaction(pool,{accountId},tx=>listGoalRows(tx, {...plan, listIds})));
  console.log(base, JSON.stringify(rows));
}
for (const walk of [true,false]) {
 const r=await time('chunk 5000 walk '+walk, ()=>many(pool, recipientsSql({...plan, listIds:[lists[3]], walk},{after:'+393335000000',limit:5000})));
 console.log(r.length, r[0], r.at(-1));
 const r2=await time('chunk 5000 walk '+walk, ()=>many(pool, sql`SELECT count(*), sum(reserve_micros) FROM (${recipientsSql({...plan, listIds:[lists[3]], walk},{after:'+393335000000',limit:5000})}) r`));
}
if (process.argv[3]) { const q = process.argv[3]==='goal'? (await (async()=>{let out; await listGoalRows({query:(x)=>{out=x;return {rows:[]}}},{...plan,listIds:[lists[3]]}); return out;})()) : recipientsSql({...plan, listIds:[lists[3]]},{after:'+393335000000',limit:5000});
 for (const r of (await pool.query({text:'EXPLAIN (ANALYZE,BUFFERS OFF) '+q.text, values:q.values})).rows) console.log(Object.values(r)[0]); }
await pool.end();
