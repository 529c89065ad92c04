import autocannon from 'autocannon';
import { freePort } from '../test/support/free-port.ts';
import { type Costs, costFigures, countCosts, memoryFigures } from './lib/costs.ts';
import type { Report } from './lib/report.ts';
import { openStage, type Stage, until } from './lib/stage.ts';
import { type Submitted, sendSubmits } from './lib/submits-process.ts';
import { p50, p99 } from './lib/times.ts';

const CONNECTIONS = 64;
const BINDS = 4;
const WINDOW = 100;
const SECONDS = 10;
const WARM_UP_SECONDS = 3;
const DESTINATION = '393331234567';
const TEXT = 'Your code is 123456';
const ROUNDS = 2;

type Credential = { readonly systemId: string; readonly password: string };
type Measured = { readonly perSecond: number; readonly costs: Costs };

/**
 * Single messages over HTTP and over SMPP in turns, in one run: each gets a response when it is committed. The connection to the
 * carrier is paused, so that messages wait in the queue. Then submits at half of the rate that SMPP reached, with the times
 * to their responses.
 */
export async function benchSmppServer(): Promise<Report> {
  const port = await freePort();
  await using stage = await openStage({ SMPP_PORT: String(port) });
  await stage.operate('account', 'change', 'Demo', '--rate-per-minute', '100000000');
  const credential = await newCredential(stage);
  await stage.operate('connection', 'pause', 'bench');
  await until(async () => (await stage.pool.query('SELECT 1 FROM connection_status')).rowCount === 0);
  const submit = (seconds: number, perSecond: number | null): Promise<Submitted> =>
    sendSubmits({
      port,
      ...credential,
      binds: BINDS,
      window: WINDOW,
      seconds,
      perSecond,
      destination: DESTINATION,
      text: TEXT,
    });

  const [http, smpp]: [(Measured & autocannon.Result)[], (Measured & Submitted)[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    http.push(await measureHttp(stage));
    await submit(WARM_UP_SECONDS, null);
    const costsOf = await countCosts(stage);
    const submitted = await submit(SECONDS, null);
    const perSecond = submitted.accepted / SECONDS;
    smpp.push({ ...submitted, perSecond, costs: await costsOf(submitted.accepted) });
  }
  const [httpPerSecond, smppPerSecond] = [mean(http), mean(smpp)];
  const half = await submit(SECONDS, smppPerSecond / 2);
  const times = smpp.flatMap((each) => each.times);
  return {
    name: 'smpp-server',
    ratio: smppPerSecond / httpPerSecond,
    target: 2,
    figures: {
      httpPerSecond: Math.round(httpPerSecond),
      smppPerSecond: Math.round(smppPerSecond),
      httpP99Ms: Math.max(...http.map(({ latency }) => latency.p99)),
      smppP50Ms: p50(times),
      smppP99Ms: p99(times),
      halfLoadPerSecond: Math.round(half.accepted / SECONDS),
      halfLoadP50Ms: p50(half.times),
      halfLoadP99Ms: p99(half.times),
      failed:
        http.reduce((sum, { non2xx, errors }) => sum + non2xx + errors, 0) +
        [...smpp, half].reduce((sum, { refused }) => sum + refused, 0),
      ...lastCosts('http', http),
      ...lastCosts('smpp', smpp),
      ...memoryFigures(stage),
    },
  };
}

const lastCosts = (name: string, measured: readonly Measured[]): Record<string, number> =>
  Object.assign({}, ...measured.slice(-1).map(({ costs }) => costFigures(name, costs)));

const mean = (measured: readonly Measured[]): number =>
  measured.reduce((sum, { perSecond }) => sum + perSecond, 0) / measured.length;

async function measureHttp(stage: Stage): Promise<Measured & autocannon.Result> {
  await load(stage, WARM_UP_SECONDS);
  const costsOf = await countCosts(stage);
  const result = await load(stage, SECONDS);
  return { ...result, perSecond: result.requests.average, costs: await costsOf(result['2xx']) };
}

const load = ({ address, apiKey }: Stage, duration: number): Promise<autocannon.Result> =>
  autocannon({
    url: `${address}/api/message-server/sms/send`,
    connections: CONNECTIONS,
    duration,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
    body: JSON.stringify({ phoneNumber: `+${DESTINATION}`, message: TEXT }),
  });

async function newCredential({ address, apiKey }: Stage): Promise<Credential> {
  const answer = await fetch(`${address}/api/partner-gateway/v1/smpp/credentials`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
    body: JSON.stringify({ name: 'bench', maxBinds: 10, window: WINDOW }),
  });
  if (answer.status !== 201) throw new Error(`the credential was refused: ${await answer.text()}`);
  return (await answer.json()) as Credential;
}
