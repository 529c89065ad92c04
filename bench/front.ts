import { Agent, get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import autocannon from 'autocannon';
import { nginxIsMissing, startNginx } from '../test/support/nginx.ts';
import { cpuSecondsOf, runCommand } from './lib/processes.ts';
import type { NotRun, Report } from './lib/report.ts';
import { openStage, until } from './lib/stage.ts';
import { timeFigures } from './lib/times.ts';

const CONNECTIONS = 64;
const SECONDS = 8;
const WARM_UP_SECONDS = 3;
const ROUNDS = 2;
/** Interval of the queries during the load, long enough not to be a load themselves. */
const BESIDE_PAUSE_MS = 10;

/**
 * Single sends through nginx and the directory compared with the same sends to the cell itself, in turns: one load
 * generator, one gateway, all on this machine, so that proxy and directory take their CPU time from the gateway. Also
 * the times of the directory's own responses: without load, and under load, where they include what this process, which also
 * makes the load, and a machine without an idle core take to read them.
 */
export async function benchFront(): Promise<Report | NotRun> {
  const missing = nginxIsMissing();
  if (missing !== undefined) return { name: 'front', notRun: missing };
  await using opened = new AsyncDisposableStack();
  const stage = opened.use(await openStage({ TRUST_PROXY: '127.0.0.1' }));
  const { address, apiKey, connectionString, pool } = stage;
  await pool.query('CREATE DATABASE directory');
  const directoryUrl = new URL(connectionString);
  directoryUrl.pathname = '/directory';
  const directory = await runCommand(['directory'], {
    PORT: '0',
    DIRECTORY_URL: directoryUrl.href,
    CELL_DATABASES: `0=${connectionString}`,
  });
  opened.defer(directory.stop);
  const directoryAt = String(directory.ready['address']);
  const cell = new URL(address).host;
  const nginx = await startNginx({ directory: new URL(directoryAt).host, cells: [cell, cell] });
  opened.defer(nginx.stop);
  await stage.operate('account', 'change', 'Demo', '--rate-per-minute', '100000000');
  // Messages wait in the queue, so that nothing else is measured.
  await stage.operate('connection', 'pause', 'bench');
  await until(async () => (await pool.query('SELECT 1 FROM connection_status')).rowCount === 0);

  const alone = await askFor(directoryAt, apiKey, SECONDS);
  const [direct, through]: [autocannon.Result[], autocannon.Result[]] = [[], []];
  const besideLoad: number[] = [];
  let directoryCpu = 0;
  for (let round = 0; round < ROUNDS; round++) {
    await load(address, apiKey, WARM_UP_SECONDS);
    direct.push(await load(address, apiKey, SECONDS));
    await load(nginx.origin, apiKey, WARM_UP_SECONDS);
    const before = cpuSecondsOf(directory.pid);
    const [result, times] = await Promise.all([
      load(nginx.origin, apiKey, SECONDS),
      askFor(directoryAt, apiKey, SECONDS - 1, BESIDE_PAUSE_MS),
    ]);
    directoryCpu += cpuSecondsOf(directory.pid) - before;
    through.push(result);
    besideLoad.push(...times);
  }
  const rateOf = (results: readonly autocannon.Result[]): number =>
    results.reduce((sum, { requests }) => sum + requests.average, 0) / results.length;
  const answered = through.reduce((sum, result) => sum + result['2xx'], besideLoad.length);
  return {
    name: 'front',
    ratio: rateOf(through) / rateOf(direct),
    target: 0.6,
    figures: {
      throughFrontPerSecond: Math.round(rateOf(through)),
      directPerSecond: Math.round(rateOf(direct)),
      throughFrontP99Ms: Math.max(...through.map(({ latency }) => latency.p99)),
      directP99Ms: Math.max(...direct.map(({ latency }) => latency.p99)),
      failed: [...direct, ...through].reduce((sum, { non2xx, errors }) => sum + non2xx + errors, 0),
      ...timeFigures('directoryAlone', alone),
      ...timeFigures('directoryBesideLoad', besideLoad),
      directoryCpuMicros: Math.round((directoryCpu * 1e6) / answered),
    },
  };
}

const load = (origin: string, apiKey: string, duration: number): Promise<autocannon.Result> =>
  autocannon({
    url: `${origin}/api/message-server/sms/send`,
    connections: CONNECTIONS,
    duration,
    method: 'POST',
    // The gateway refuses plain HTTP that does not come from its proxy.
    headers: { 'content-type': 'application/json', 'x-api-key': apiKey, 'x-forwarded-proto': 'https' },
    body: JSON.stringify({ phoneNumber: '+393331234567', message: 'Your code is 123456' }),
  });

/** Asks the directory about a known caller, one question after the other, and returns the times to the responses in ms. */
async function askFor(directory: string, apiKey: string, seconds: number, pauseMs = 0): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { 'x-api-key': apiKey, 'x-original-uri': '/api/message-server/sms/send' };
  const ask = async (): Promise<number> => {
    const start = performance.now();
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    get(`${directory}/cell`, { agent, headers }, (answer) => {
      if (answer.headers['x-heliograph-cell'] !== 'cell_0') reject(new Error(`returned ${answer.statusCode}`));
      answer.resume().on('end', () => resolve(performance.now() - start));
    }).on('error', reject);
    return promise;
  };
  await ask();
  const times: number[] = [];
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    times.push(await ask());
    if (pauseMs > 0) await delay(pauseMs);
  }
  agent.destroy();
  return times;
}
