import autocannon from 'autocannon';
import { readFileSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from './processes.ts';
const dataDir = await mkdtemp(join(tmpdir(), 'heliograph-bench-'));
const g = await runCommand(['serve'], { DATA_DIR: dataDir, PORT: '0' });
const key = (g.ready['demo'] as { apiKey: string }).apiKey;
const address = String(g.ready['address']);
const send = await fetch(`${address}/api/message-server/sms/send`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-api-key': key },
  body: JSON.stringify({ phoneNumber: '+393331234567', message: 'x', customerMessageId: 'abc' }),
});
const { messageId } = (await send.json()) as { messageId: string };
function cpu(pid: number) {
  const f = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(f[11]) + Number(f[12])) * 10;
}
const tree = () =>
  readdirSync('/proc')
    .filter((p) => /^\d+$/.test(p))
    .map(Number)
    .filter((p) => {
      try {
        return (
          readFileSync(`/proc/${p}/cmdline`, 'utf8').startsWith('postgres: heliograph') ||
          readFileSync(`/proc/${p}/cmdline`, 'utf8').includes(dataDir)
        );
      } catch {
        return false;
      }
    });
const pgPids = () => {
  const out: number[] = [];
  const main = Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
  for (const p of readdirSync('/proc')) {
    if (!/^\d+$/.test(p)) continue;
    try {
      const f = readFileSync(`/proc/${p}/stat`, 'utf8').split(') ')[1]!.split(' ');
      if (Number(f[1]) === main) out.push(Number(p));
    } catch {}
  }
  return out;
};
void tree;
const paths = {
  byClient: `/api/partner-gateway/v1/messages/status/abc`,
  byId: `/api/partner-gateway/v1/messages/status/${messageId}`,
  credit: '/services/sms/credit',
};
for (let round = 0; round < 2; round++)
  for (const [name, path] of Object.entries(paths)) {
    await autocannon({ url: address + path, connections: 32, amount: 3000, headers: { 'x-api-key': key } });
    const before = new Map(pgPids().map((p) => [p, cpu(p)]));
    const g0 = cpu(g.pid);
    const N = 20000;
    const r = await autocannon({ url: address + path, connections: 32, amount: N, headers: { 'x-api-key': key } });
    let pg = 0;
    for (const p of pgPids()) pg += cpu(p) - (before.get(p) ?? 0);
    console.log(
      name,
      r.requests.average,
      'req/s',
      'gateway µs',
      (((cpu(g.pid) - g0) * 1000) / N).toFixed(0),
      'pg µs',
      ((pg * 1000) / N).toFixed(0),
      'non2xx',
      r.non2xx,
      'p99',
      r.latency.p99,
    );
  }
await g.stop();
await rm(dataDir, { recursive: true, force: true });
