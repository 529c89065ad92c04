import type { Client } from '../test/support/client.ts';
import { CAMPAIGN } from '../src/engagement/campaigns/states.ts';
import { type Look, waitPatiently } from './patience.ts';
import type { Stage } from './stage.ts';

export type StatusRecord = Awaited<ReturnType<Client['status']>>;

const DESTINATIONS_A_REQUEST = 2000;
const LOOK_MS = 300;

/** A number of its own for each message, whose last four digits ask the sandbox for nothing special. */
export const destinationOf = (n: number): string =>
  `+39${300_000_000 + Math.floor(n / 9000)}${String(n % 9000).padStart(4, '0')}`;

export type Sent = { readonly destination: string; readonly body: string };

/** Sends each text to its number; answers our ids, in that order. Every one must be accepted. */
export async function sendEach({ client }: Pick<Stage, 'client'>, messages: readonly Sent[]): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < messages.length; i += DESTINATIONS_A_REQUEST) {
    const part = messages.slice(i, i + DESTINATIONS_A_REQUEST);
    const bodies = part.map(({ destination, body }) => ({ destinations: [destination], sender: 'Acme', body }));
    const { results } = await client.bulk({ messages: bodies });
    ids.push(...results.flatMap(({ id }) => id ?? []));
  }
  if (ids.length !== messages.length) throw new Error(`${ids.length} of ${messages.length} were accepted`);
  return ids;
}

/** Sends one text to all these numbers. */
export const sendBulk = (
  stage: Pick<Stage, 'client'>,
  destinations: readonly string[],
  body: string,
): Promise<string[]> =>
  sendEach(
    stage,
    destinations.map((destination) => ({ destination, body })),
  );

/**
 * Waits until no message waits for a submit any more, or for being made, and every answer is recorded: the queue is empty,
 * the inbox of receipts too, and campaigns that have begun have made their messages. Gives up when nothing has moved for `patienceMs`; what is missing then shows in the comparison.
 */
export const untilQuiet = ({ pool, carrier }: Stage, patienceMs: number): Promise<boolean> =>
  waitPatiently(
    async () => {
      const now = await lookAt(pool).catch(() => 'away');
      const { submits, receiptsAcked, owed } = await carrier.counts();
      const done = owed === 0 && now === QUIET && (await lookAt(pool).catch(() => 'away')) === QUIET;
      return { done, seen: `${now}/${submits}/${receiptsAcked}/${owed}` };
    },
    { patienceMs, lookMs: LOOK_MS },
  );

const QUIET = '0/0/0';

async function lookAt(pool: Stage['pool']): Promise<string> {
  const { rows } = await pool.query(
    `SELECT (SELECT coalesce(sum(size - intent), 0) + count(*) FROM dispatch_chunk) AS queued,
            (SELECT count(*) FROM receipt_batch) AS arrived,
            (SELECT count(*) FROM campaign c JOIN campaign_run r ON r.account_id = c.account_id AND r.campaign_id = c.id
             WHERE c.status = ${CAMPAIGN.SENDING} AND (NOT r.expanded OR EXISTS (
               SELECT FROM campaign_lane l WHERE l.account_id = c.account_id AND l.campaign_id = c.id AND NOT l.done))
            ) AS unmade`,
  );
  return `${rows[0].queued}/${rows[0].arrived}/${rows[0].unmade}`;
}

/**
 * What the interface says of these messages, once it says what is `expected` of each, or whatever it says when none
 * has come any nearer to that for `patienceMs`.
 */
export async function exportStatuses(
  { client }: Stage,
  ids: readonly string[],
  expected: (record: StatusRecord) => boolean,
  patienceMs: number,
): Promise<StatusRecord[]> {
  const records = new Map<string, StatusRecord>();
  const isOpen = (id: string): boolean => {
    const record = records.get(id);
    return record === undefined || !expected(record);
  };
  let open = ids;
  const look = async (): Promise<Look> => {
    for (const record of await client.statuses(open)) records.set(record.messageId, record);
    open = open.filter(isOpen);
    return { done: open.length === 0, seen: open.length };
  };
  await waitPatiently(look, { patienceMs, lookMs: LOOK_MS });
  return ids.flatMap((id) => records.get(id) ?? []);
}

export type Doubt = { readonly messageId: string; readonly reason: string };

/** The list of messages whose outcome nobody knows. */
export async function listUnknown({ pool }: Stage): Promise<Doubt[]> {
  const { rows } = await pool.query<Doubt>('SELECT message_id AS "messageId", reason FROM unknown_outcome');
  return rows;
}

/**
 * The messages that were in doubt at any time, also those that a receipt has settled since: never answered, or perhaps
 * taken back.
 */
export async function listInDoubt({ pool }: Stage): Promise<Set<string>> {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT DISTINCT message_id AS id FROM message_event WHERE kind IN ('attempt', 'revoke') AND details->>'outcome' = 'UNKNOWN'`,
  );
  return new Set(rows.map(({ id }) => id));
}
