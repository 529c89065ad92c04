import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '../../test/support/client.ts';
import { TEST_CERT } from '../../test/support/http/certificate.ts';
import { until } from '../../test/support/until.ts';
import { type Crew, killPoints, killPostgres, startCrew } from '../lib/kills.ts';
import { pollUntilDone } from '../lib/poll.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { openStage, type Stage } from '../lib/stage.ts';
import { PLACES_AT_RANDOM } from '../sabotage/in-database.ts';
import { compare, type Expected, type Undelivered } from './compare.ts';
import { compareFeed, keepFeed, startReader } from './feed.ts';
import { type Behaviour, type Receivers, startReceivers } from './receivers.ts';
import { addEndpoints, compareSeveral, countWanted } from './several.ts';

const WORKERS = 2;
const STALL_TIMEOUT_MS = 30_000;
const POLL_MS = 20;
const RETRY_NOW_MS = 500;
const UNDELIVERED_SHOWN = 5;
const DESTINATIONS_PER_REQUEST = 2000;
const WEBHOOK = '/api/partner-gateway/v1/webhooks/delivery-status';

/** `hostile` is the number of messages whose events can only be given up; `several` that of the account with endpoints. */
type Size = {
  readonly messages: number;
  readonly several: number;
  readonly hostile: number;
  readonly kills: number;
  readonly postgresKills: number;
};

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { messages: 400, several: 95, hostile: 20, kills: 3, postgresKills: 0 },
  quick: { messages: 5000, several: 1300, hostile: 100, kills: 15, postgresKills: 2 },
  // Three events of each message, for five endpoints and the feed.
  full: { messages: 50_000, several: 66_700, hostile: 500, kills: 200, postgresKills: 10 },
};

export const webhooks: Proof = {
  promise: 'Every event reaches a receiver that accepts it, or is listed as dead, whatever is killed.',
  sabotage: {
    fault:
      'an event counts as delivered once it is sent, whatever the receiver responds, and events get places at random in the feed',
    module: new URL('../sabotage/webhooks.ts', import.meta.url),
    sql: PLACES_AT_RANDOM,
    breaks: ['every event reached the receivers that accept events', 'the feed has each event once and in order'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using receivers = await startReceivers(run);
  const caFile = join(run.folder, 'ca.pem');
  await writeFile(caFile, TEST_CERT);
  await using stage = await openStage(run, {
    gateway: 'api',
    environment: {
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
      WEBHOOK_PORTS: String(receivers.port),
      WEBHOOK_CA_FILE: caFile,
    },
  });
  const accounts = await openAccounts(stage, receivers);
  const each = Math.floor((size.messages - size.hostile) / 2);
  const expected: Expected[] = [
    ...(await simulate(accounts.good.client, 'good', each)),
    ...(await simulate(accounts.flaky.client, 'flaky', each)),
    ...(await simulate(accounts.hostile.client, 'hostile', size.hostile)),
  ];
  const { client: several } = await stage.newAccount({ plan: 'unlimited' });
  const severalSecrets = await addEndpoints(several, receivers.urlOfEndpoint);
  await keepFeed(several);
  const ofSeveral = await simulate(several, 'good', size.several);
  const readToEnd = startReader(run, several);
  run.log(`${expected.length + ofSeveral.length} messages are accepted; ${WORKERS} workers start`);

  const crew = await startCrew(run, stage, WORKERS);
  const postgresKills = run.databaseUrl === null ? size.postgresKills : 0;
  const stop = retryAtOnce(stage);
  const wanted = 2 * 2 * each;
  const kills = await killDuring(run, stage, { crew, receivers, wanted, kills: size.kills, postgresKills });
  await crew.allStarted();
  const wantedOfSeveral = countWanted(ofSeveral);
  await untilOrStalled(
    receivers,
    () => receivers.accepted.size >= wanted && receivers.acceptedBySeveral.size >= wantedOfSeveral,
  );
  receivers.goAway();
  // A new worker polls at once; the others may be in a pause of up to a minute.
  for (let n = 0; n < WORKERS; n++) await crew.killOne();
  await crew.allStarted();
  const left = await untilNonePending(stage);
  stop();

  const secrets = { good: accounts.good.secret, flaky: accounts.flaky.secret, hostile: accounts.hostile.secret };
  const dead = await countDead(accounts.hostile.client);
  const { undelivered, ...counts } = compare(expected, receivers.received, secrets);
  const endpoints = compareSeveral(ofSeveral, receivers.several, severalSecrets);
  const feed = await compareFeed(several, ofSeveral, await readToEnd());
  for (const event of undelivered.slice(0, UNDELIVERED_SHOWN)) run.log(await historyOf(stage, receivers, event));
  const figures = {
    ...counts,
    endpointEvents: wantedOfSeveral,
    endpointRequests: receivers.several.length,
    ...Object.fromEntries(Object.entries(endpoints).map(([name, count]) => [`endpoints.${name}`, count])),
    ...Object.fromEntries(Object.entries(feed).map(([name, count]) => [`feed.${name}`, count])),
    undelivered: undelivered.length,
    dead,
    left,
    kills: crew.kills,
    postgresKills: kills.postgres,
  };
  return judge(figures, {
    'every event reached the receivers that accept events': figures.undelivered === 0,
    'every other event is listed as dead': dead === 2 * size.hostile,
    'no event is left over': left === 0,
    'the events of a message arrive in order': figures.outOfOrder === 0,
    'no event was invented': figures.invented === 0,
    'an event keeps its id': figures.withSeveralIds === 0,
    'an independent library verifies every signature': figures.badSignatures === 0,
    'each endpoint gets exactly the events of its types and filters': endpoints.missing + endpoints.unwanted === 0,
    'each endpoint gets the events of a message in order': endpoints.outOfOrder === 0,
    'all endpoints get an event under one id, each signed with its own secret':
      endpoints.withSeveralIds + endpoints.unsigned === 0,
    'the feed has each event once and in order': feed.missing + feed.unwanted + feed.outOfOrder === 0,
    'the feed read again is the same': feed.changed === 0,
    'all kills took place': crew.kills === size.kills + WORKERS && kills.postgres === postgresKills,
  });
}

/**
 * Returns the records of the program and the receivers about an event that should have been accepted and was not, as
 * text.
 */
async function historyOf(
  { pool }: Stage,
  { received }: Receivers,
  { behaviour, messageId, code }: Undelivered,
): Promise<string> {
  const { rows: log } = await pool.query(
    'SELECT status, state, attempts, failure, tried_at FROM webhook_delivery WHERE message_id = $1',
    [messageId],
  );
  const { rows: state } = await pool.query('SELECT status FROM message_state WHERE id = $1', [messageId]);
  const requests = received.filter(({ request }) => request.body.includes(messageId));
  const seen = requests.map(({ acknowledged, request }) => ({ acknowledged, at: request.at, body: request.body }));
  return `not accepted: ${JSON.stringify({ behaviour, messageId, code, log, state, seen })}`;
}

type Account = { readonly client: Client; readonly secret: string };

async function openAccounts(stage: Stage, receivers: Receivers): Promise<Record<Behaviour, Account>> {
  const open = async (behaviour: Behaviour): Promise<Account> => {
    const { client } = await stage.newAccount({ plan: 'unlimited' });
    const { status, body } = await client.request('POST', WEBHOOK, {
      body: { callbackUrl: receivers.urlOf(behaviour) },
    });
    if (status !== 201) throw new Error(`returned ${status}: ${JSON.stringify(body)}`);
    return { client, secret: (body as { secret: string }).secret };
  };
  const [good, flaky, hostile] = [await open('good'), await open('flaky'), await open('hostile')];
  return { good, flaky, hostile };
}

/** Last four digits of the number, and the code of the final event of such a simulated message. */
const ENDINGS = [
  ['1111', 3],
  ['0001', 6],
  ['0002', 4],
  ['0003', 2],
] as const;

async function simulate(client: Client, behaviour: Behaviour, count: number): Promise<Expected[]> {
  const ends = Array.from({ length: count }, (_, n) => ENDINGS[n % ENDINGS.length] ?? ENDINGS[0]);
  const expected: Expected[] = [];
  for (let i = 0; i < count; i += DESTINATIONS_PER_REQUEST) {
    const part = ends.slice(i, i + DESTINATIONS_PER_REQUEST);
    const destinations = part.map(([digits], n) => `+39${320_000 + Math.floor((i + n) / 4)}${digits}`);
    const { results } = await client.bulk({
      simulation: true,
      messages: [{ destinations, sender: 'Acme', body: 'x' }],
    });
    results.forEach(({ id }, n) => expected.push({ behaviour, messageId: id ?? '', codes: [1, part[n]?.[1] ?? 3] }));
  }
  return expected;
}

type KillPlan = {
  readonly crew: Crew;
  readonly receivers: Receivers;
  readonly wanted: number;
  readonly kills: number;
  readonly postgresKills: number;
};

/** Kills workers and PostgreSQL at points along the way, measured by requests. */
async function killDuring(run: Run, stage: Stage, killing: KillPlan): Promise<{ postgres: number }> {
  const { crew, receivers, wanted, kills, postgresKills } = killing;
  const ofPostgres = new Set(killPoints(run, postgresKills, wanted));
  const points = [...killPoints(run, kills, wanted), ...ofPostgres].sort((a, b) => a - b);
  for (const [n, point] of points.entries()) {
    if (!(await untilOrStalled(receivers, () => receivers.received.length >= point))) break;
    if (ofPostgres.delete(point)) {
      // Without a database no worker can start.
      await crew.allStarted();
      await killPostgres(run, stage);
    } else await crew.killOne();
    if ((n + 1) % Math.ceil(points.length / 10) === 0) run.log(`${n + 1} kills at ${point} requests`);
  }
  return { postgres: postgresKills - ofPostgres.size };
}

/** Waits for a condition as long as requests arrive; returns false if they stopped before. */
const untilOrStalled = ({ received, several }: Receivers, isThere: () => boolean): Promise<boolean> =>
  pollUntilDone(() => ({ done: isThere(), progress: received.length + several.length }), {
    stallTimeoutMs: STALL_TIMEOUT_MS,
    pollMs: POLL_MS,
  });

/** Makes retries due at once: the schedule is not what is tested. Returns a function that ends this. */
function retryAtOnce({ pool }: Stage): () => void {
  let over = false;
  void (async () => {
    while (!over) {
      await pool.query('UPDATE webhook_retry SET due_at = now() WHERE due_at > now()').catch(() => undefined);
      await delay(RETRY_NOW_MS);
    }
  })();
  return () => {
    over = true;
  };
}

/** Waits until no event is pending; returns the number of those that are. */
async function untilNonePending({ pool }: Stage): Promise<number> {
  const count = async (): Promise<number> => {
    const { rows } = await pool.query<{ count: number }>(
      'SELECT (SELECT count(*) FROM webhook_outbox) + (SELECT count(*) FROM webhook_retry) AS count',
    );
    return rows[0]?.count ?? 0;
  };
  await until('no pending events', async () => (await count()) === 0, STALL_TIMEOUT_MS).catch(() => undefined);
  return count();
}

async function countDead(client: Client): Promise<number> {
  const { body } = await client.request('GET', `${WEBHOOK}/deliveries?status=DEAD`);
  return (body as { total: number }).total;
}
