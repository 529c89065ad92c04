import type { SandboxRbm } from '../../src/simulators/rbm/server.ts';
import { takenByDestination } from '../carrier.ts';
import { listInDoubt } from '../messages.ts';
import type { Run } from '../proof.ts';
import type { Stage } from '../stage.ts';

/** People without a message whose story is told. */
const MOST_TOLD = 20;

/** All messages of the run. */
async function listAll({ pool }: Stage): Promise<{ id: string; destination: string }[]> {
  return (await pool.query<{ id: string; destination: string }>('SELECT id, destination FROM message')).rows;
}

/** What people have on their handsets, by the ledgers of both networks. Tells the story of whoever has nothing. */
export async function copiesOf(run: Run, stage: Stage, rbm: SandboxRbm, destinations: readonly string[]) {
  const shown = rbm.ledger.messages().filter(({ delivered }) => delivered);
  const rcs = new Map([...Map.groupBy(shown, ({ destination }) => destination)].map(([to, own]) => [to, own.length]));
  const taken = takenByDestination(await stage.carrier.ledger());
  const doubted = await listInDoubt(stage);
  const messages = await listAll(stage);
  const made = new Set(messages.map(({ destination }) => destination));
  const inDoubt = new Set(messages.filter((message) => doubted.has(message.id)).map(({ destination }) => destination));
  const copies = (to: string): number => (rcs.get(to) ?? 0) + (taken.get(to)?.length ?? 0);
  const nothing = destinations.filter((to) => copies(to) === 0 && !inDoubt.has(to));
  for (const to of nothing.slice(0, MOST_TOLD)) run.say(`nothing for ${to}: ${await storyOf(stage, to)}`);
  return {
    byRcs: rcs.size,
    bySms: taken.size,
    inDoubt: inDoubt.size,
    nothing: nothing.length,
    revoked: rbm.ledger.counts().revoked,
    revokesRefused: rbm.ledger.counts().revokesRefused,
    forgotten: destinations.filter((to) => !made.has(to)).length,
    twoCopies: destinations.filter((to) => copies(to) > 1).length,
  };
}

/** What the database holds of a recipient's messages. */
async function storyOf({ pool }: Stage, to: string): Promise<string> {
  const { rows } = await pool.query<object>(
    `SELECT m.id, m.channel, s.status, s.submitted_at, s.updated_at, s.error_code,
            coalesce(b.due_at, f.due_at) AS due_at,
            (SELECT json_agg(json_build_object('at', e.at, 'kind', e.kind, 'text', e.text, 'details', e.details))
             FROM message_event e WHERE e.account_id = m.account_id AND e.message_id = m.id) AS events
     FROM message m LEFT JOIN message_state s ON s.account_id = m.account_id AND s.id = m.id
     LEFT JOIN campaign_batch b ON b.campaign_id = m.campaign_id AND m.id = ANY(b.message_ids)
     LEFT JOIN message_fallback f ON f.account_id = m.account_id AND f.message_id = m.id
     WHERE m.destination = $1 ORDER BY m.id`,
    [to],
  );
  return JSON.stringify(rows);
}

export type Copies = Awaited<ReturnType<typeof copiesOf>>;

/** What holds of everybody, whatever networks said and whoever was killed. */
export const claimsOf = (copies: Copies): Record<string, boolean> => ({
  'nobody gets two copies': copies.twoCopies === 0,
  'nobody is forgotten': copies.forgotten === 0,
  'whoever got nothing is in doubt': copies.nothing === 0,
  'some were reached by each way': copies.byRcs > 0 && copies.bySms > 0 && copies.inDoubt > 0,
  'some were taken back and some could not be': copies.revoked > 0 && copies.revokesRefused > 0,
});
