import { setTimeout as delay } from 'node:timers/promises';
import type { SandboxRbm } from '../src/carriers/sandbox/rbm/server.ts';
import { mobileOf } from './campaigns.ts';
import { claimsOf, copiesOf } from './fallback/copies.ts';
import { AFTER_MS, AFTER_SECONDS, AGENT, openNetwork } from './fallback/network.ts';
import { startCrew } from './kills.ts';
import { untilQuiet } from './messages.ts';
import { between, type Findings, judge, type Mode, type Proof, type Run } from './proof.ts';
import { openStage, type Stage } from './stage.ts';

type Size = { readonly sends: number; readonly kills: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { sends: 150, kills: 1 },
  quick: { sends: 1500, kills: 4 },
  full: { sends: 50_000, kills: 60 },
};
const WORKERS = 2;
const CLIENTS = 16;
/** Longer than what a killed worker had in hand stays its own. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 300;

export const fallbackSends: Proof = {
  promise: 'A single send that is not delivered on one channel goes on to the next, and nobody ever gets two copies.',
  sabotage: {
    fault: 'when its time is over the next message is made, without taking the first one back',
    file: new URL('./sabotage/fallback-sends.ts', import.meta.url),
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const size = SIZES[run.mode];
  await using stage = await openStage(run, {
    gateway: 'api',
    script: { receiptDelayMs: 50 },
    settings: { window: 100 },
  });
  const rbm = await openNetwork(run, stage);
  try {
    return await race(run, stage, rbm, size);
  } finally {
    await rbm.close();
  }
}

async function race(run: Run, stage: Stage, rbm: SandboxRbm, size: Size): Promise<Findings> {
  const destinations = Array.from({ length: size.sends }, (_, n) => mobileOf(n));
  const crew = await startCrew(run, stage, WORKERS);
  const sending = sendAll(stage, destinations);
  for (let kill = 0; kill < size.kills; kill++) {
    await delay(between(run, 0, AFTER_MS));
    await crew.killOne();
  }
  await sending;
  await crew.settled();
  const ended = await untilDecided(stage);
  await untilQuiet(stage, PATIENCE_MS);
  const copies = await copiesOf(run, stage, rbm, destinations);
  const figures = { sends: destinations.length, ...copies, kills: crew.kills };
  return judge(figures, { ...claimsOf(copies), 'all is decided': ended });
}

async function sendAll(stage: Stage, destinations: readonly string[]): Promise<void> {
  const open = destinations.values();
  const work = async (): Promise<void> => {
    for (const destination of open) await sendOne(stage, destination);
  };
  await Promise.all(Array.from({ length: CLIENTS }, work));
}

/** Clients may ask for 30 seconds at least: the time until the next channel is shortened in the database. */
async function sendOne({ client, pool }: Stage, destination: string): Promise<void> {
  const body = { agentId: AGENT, destination, body: { type: 'TEXT', text: 'Hello' }, fallbackSms: { body: 'Hello' } };
  const answer = await client.request('POST', '/api/message-server/rcs/send', { body });
  const id = (answer.body as { messageId?: string }).messageId;
  if (id === undefined) throw new Error(`not accepted: ${JSON.stringify(answer.body)}`);
  await pool.query(
    `UPDATE message_fallback SET due_at = now() + $1 * interval '1 second'
     WHERE message_id = $2 AND due_at > now() + interval '4 minutes'`,
    [AFTER_SECONDS, id],
  );
}

/** Waits until nothing follows any more; a message in doubt waits for whatever ends that. False when that does not come. */
async function untilDecided({ pool }: Stage): Promise<boolean> {
  const query = `SELECT (SELECT count(*) FROM dispatch_chunk) + (
      SELECT count(*) FROM message_fallback f
      LEFT JOIN message_state s ON s.account_id = f.account_id AND s.id = f.message_id
      WHERE f.due_at IS NOT NULL AND s.status IS DISTINCT FROM 0) AS open`;
  let [seen, at] = [-1, performance.now()];
  while (performance.now() - at < PATIENCE_MS) {
    const { rows } = await pool.query<{ open: number }>(query);
    const open = rows[0]?.open ?? 0;
    if (open === 0) return true;
    if (open !== seen) [seen, at] = [open, performance.now()];
    await delay(LOOK_MS);
  }
  return false;
}
