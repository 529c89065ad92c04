import { AFTER_MS, AFTER_SECONDS, AGENT } from './fallback/network.ts';
import { openRace } from './fallback/race.ts';
import type { Look } from './patience.ts';
import type { Findings, Mode, Proof, Run } from './proof.ts';
import type { Stage } from './stage.ts';

type Size = { readonly sends: number; readonly kills: number };

const SIZES: Readonly<Record<Mode, Size>> = {
  tiny: { sends: 150, kills: 1 },
  quick: { sends: 1500, kills: 4 },
  full: { sends: 50_000, kills: 60 },
};
const CLIENTS = 16;

export const fallbackSends: Proof = {
  promise: 'A single send that is not delivered on one channel goes on to the next, and nobody ever gets two copies.',
  sabotage: {
    fault: 'when its time is over the next message is made, without taking the first one back',
    file: new URL('./sabotage/fallback-sends.ts', import.meta.url),
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const { sends, kills } = SIZES[run.mode];
  await using race = await openRace(run, sends);
  const { stage, destinations } = race;
  const crew = await race.startCrew();
  const sending = sendAll(stage, destinations);
  await race.killOften(crew, kills, AFTER_MS);
  await sending;
  return await race.conclude(crew, { sends }, () => lookAtRest(stage));
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

/** Whether nothing follows any more; a message in doubt waits for whatever ends that. */
async function lookAtRest({ pool }: Stage): Promise<Look> {
  const query = `SELECT (SELECT count(*) FROM dispatch_chunk) + (
      SELECT count(*) FROM message_fallback f
      LEFT JOIN message_state s ON s.account_id = f.account_id AND s.id = f.message_id
      WHERE f.due_at IS NOT NULL AND s.status IS DISTINCT FROM 0) AS open`;
  const { rows } = await pool.query<{ open: number }>(query);
  const open = rows[0]?.open ?? 0;
  return { done: open === 0, seen: open };
}
