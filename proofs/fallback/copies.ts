import type { SandboxRbm } from '../../src/sandbox/rbm-server.ts';
import { takenByDestination } from '../lib/carrier.ts';
import { listEverUnknown } from '../lib/messages.ts';
import type { Run } from '../lib/proof.ts';
import type { Stage } from '../lib/stage.ts';

/** The history of at most this many recipients without a message is logged. */
const MAX_HISTORIES = 20;

type Made = { readonly id: string; readonly destination: string; readonly channel: string };

/** Lists all messages of the run. */
const listAll = async ({ pool }: Stage): Promise<Made[]> =>
  (await pool.query<Made>('SELECT id, destination, channel FROM message')).rows;

/** Lists who got a message on the next channel, although the RCS network never had theirs to take or refuse. */
function listUntried(rbm: SandboxRbm, messages: readonly Made[]): string[] {
  const tried = rbm.ledger.messages().filter(({ status }) => status !== 'RESOURCE_EXHAUSTED');
  const destinations = new Set(tried.map(({ destination }) => destination));
  return messages.flatMap(({ channel, destination: to }) => (channel === 'SMS' && !destinations.has(to) ? [to] : []));
}

/**
 * Counts what people have received, by the ledgers of both networks. Logs the history of recipients that got nothing.
 */
export async function countCopies(run: Run, stage: Stage, rbm: SandboxRbm, destinations: readonly string[]) {
  const shown = rbm.ledger.messages().filter(({ delivered }) => delivered);
  const rcs = new Map([...Map.groupBy(shown, ({ destination }) => destination)].map(([to, own]) => [to, own.length]));
  const taken = takenByDestination(await stage.carrier.ledger());
  const doubted = await listEverUnknown(stage);
  const messages = await listAll(stage);
  const made = new Set(messages.map(({ destination }) => destination));
  const inDoubt = new Set(messages.filter((message) => doubted.has(message.id)).map(({ destination }) => destination));
  const copies = (to: string): number => (rcs.get(to) ?? 0) + (taken.get(to)?.length ?? 0);
  const nothing = destinations.filter((to) => copies(to) === 0 && !inDoubt.has(to));
  for (const to of nothing.slice(0, MAX_HISTORIES)) run.log(`nothing for ${to}: ${await historyOf(stage, to)}`);
  return {
    byRcs: rcs.size,
    bySms: taken.size,
    inDoubt: inDoubt.size,
    nothing: nothing.length,
    revoked: rbm.ledger.counts().revoked,
    revokesRefused: rbm.ledger.counts().revokesRefused,
    throttled: rbm.ledger.messages().filter(({ status }) => status === 'RESOURCE_EXHAUSTED').length,
    untried: listUntried(rbm, messages).length,
    forgotten: destinations.filter((to) => !made.has(to)).length,
    twoCopies: destinations.filter((to) => copies(to) > 1).length,
  };
}

/** Returns a recipient's messages with their states, due times and events from the database, as JSON. */
async function historyOf({ pool }: Stage, to: string): Promise<string> {
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

export type Copies = Awaited<ReturnType<typeof countCopies>>;

/** The claims that hold for every recipient, whatever the networks report and whatever is killed. */
export const claimsOf = (copies: Copies): Record<string, boolean> => ({
  'no recipient gets two copies': copies.twoCopies === 0,
  'no recipient is moved without a try': copies.untried === 0 && copies.throttled > 0,
  'every recipient has a message': copies.forgotten === 0,
  'every recipient who got nothing has a message in doubt': copies.nothing === 0,
  'some were reached by RCS, some by SMS, and some are in doubt':
    copies.byRcs > 0 && copies.bySms > 0 && copies.inDoubt > 0,
  'some messages were revoked and some could not be': copies.revoked > 0 && copies.revokesRefused > 0,
});
