import { AFTER_MS, AFTER_SECONDS, AGENT } from './network.ts';
import { openRace } from './race.ts';
import type { PollResult } from '../lib/poll.ts';
import type { Findings, Mode, Proof, Run } from '../lib/proof.ts';
import type { Stage } from '../lib/stage.ts';

type Size = { readonly sends: number; readonly kills: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { sends: 150, kills: 1 },
  quick: { sends: 1500, kills: 4 },
  full: { sends: 50_000, kills: 60 },
};
const CLIENTS = 16;

export const fallbackSends: Proof = {
  promise: 'A single send not delivered on one channel is tried on the next, and nobody ever gets two copies.',
  sabotage: {
    fault: 'on a time-out the next message is made without revoking the first one',
    file: new URL('../sabotage/fallback-sends.ts', import.meta.url),
    breaks: ['nobody gets two copies'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const { sends, kills } = SIZES[run.mode];
  await using race = await openRace(run, sends);
  const { stage, destinations } = race;
  const crew = await race.startCrew();
  const sending = sendAll(stage, destinations);
  await race.killWorkers(crew, kills, AFTER_MS);
  await sending;
  return await race.conclude(crew, { sends }, () => pollPending(stage));
}

async function sendAll(stage: Stage, destinations: readonly string[]): Promise<void> {
  const open = destinations.values();
  const work = async (): Promise<void> => {
    for (const destination of open) await sendOne(stage, destination);
  };
  await Promise.all(Array.from({ length: CLIENTS }, work));
}

/** Sends one message. The API allows time-outs of 30 seconds at least, so the time-out is shortened in the database. */
async function sendOne({ client, pool }: Stage, destination: string): Promise<void> {
  const body = { agentId: AGENT, destination, body: { type: 'TEXT', text: 'Hello' }, fallbackSms: { body: 'Hello' } };
  const answer = await client.request('POST', '/api/message-server/rcs/send', { body });
  const id = (answer.body as { messageId?: string }).messageId;
  if (id === undefined) throw new Error(`not accepted: ${JSON.stringify(answer.body)}`);
  await pool.query(
    `UPDATE message_fallback SET due_at = now() + $1::int * interval '1 second',
            hops = jsonb_set(hops::jsonb, '{0,afterSeconds}', to_jsonb($1::int))::json
     WHERE message_id = $2 AND due_at > now() + interval '4 minutes'`,
    [AFTER_SECONDS, id],
  );
}

/** Whether nothing is pending any more; a message in doubt waits for whatever settles it. */
async function pollPending({ pool }: Stage): Promise<PollResult> {
  const query = `SELECT (SELECT count(*) FROM dispatch_chunk) + (
      SELECT count(*) FROM message_fallback f
      LEFT JOIN message_state s ON s.account_id = f.account_id AND s.id = f.message_id
      WHERE f.due_at IS NOT NULL AND s.status IS DISTINCT FROM 0) AS open`;
  const { rows } = await pool.query<{ open: number }>(query);
  const open = rows[0]?.open ?? 0;
  return { done: open === 0, progress: open };
}
