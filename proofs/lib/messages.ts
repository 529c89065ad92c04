import { CAMPAIGN } from '../../src/campaigns/store.ts';
import type { Client } from '../../test/support/client.ts';
import { type PollResult, pollUntilDone } from './poll.ts';
import type { Stage } from './stage.ts';

export type StatusRecord = Awaited<ReturnType<Client['status']>>;

const DESTINATIONS_PER_REQUEST = 2000;
const POLL_MS = 300;

/** Returns a distinct number for each message; its last four digits request no special outcome from the sandbox. */
export const destinationOf = (n: number): string =>
  `+39${30_000_000 + Math.floor(n / 9000)}${String(n % 9000).padStart(4, '0')}`;

export type Sent = { readonly destination: string; readonly body: string };

/** Sends each text to its number; returns our message ids in the same order. Throws if one is not accepted. */
export async function sendEach({ client }: Pick<Stage, 'client'>, messages: readonly Sent[]): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < messages.length; i += DESTINATIONS_PER_REQUEST) {
    const part = messages.slice(i, i + DESTINATIONS_PER_REQUEST);
    const bodies = part.map(({ destination, body }) => ({ destinations: [destination], sender: 'Acme', body }));
    const { results } = await client.bulk({ messages: bodies });
    ids.push(...results.flatMap(({ id }) => id ?? []));
  }
  if (ids.length !== messages.length) throw new Error(`${ids.length} of ${messages.length} were accepted`);
  return ids;
}

/** Sends the same text to all numbers; returns our message ids. */
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
 * Waits until nothing is pending: the dispatch queue and the receipt inbox are empty, campaigns that have begun have
 * made their messages, and the carrier owes no receipt. Returns false when there has been no progress for
 * `stallTimeoutMs`; the comparison then shows what is missing.
 */
export const untilIdle = ({ pool, carrier }: Stage, stallTimeoutMs: number): Promise<boolean> =>
  pollUntilDone(
    async () => {
      const now = await readPending(pool).catch(() => 'away');
      const { submits, receiptsAcked, owed } = await carrier.counts();
      const done =
        owed === 0 && now === NOTHING_PENDING && (await readPending(pool).catch(() => 'away')) === NOTHING_PENDING;
      return { done, progress: `${now}/${submits}/${receiptsAcked}/${owed}` };
    },
    { stallTimeoutMs, pollMs: POLL_MS },
  );

const NOTHING_PENDING = '0/0/0';

async function readPending(pool: Stage['pool']): Promise<string> {
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
 * Returns the statuses of the messages by the API. Polls until each is as `expected`, or until no other one has become
 * so for `stallTimeoutMs`.
 */
export async function exportStatuses(
  { client }: Stage,
  ids: readonly string[],
  expected: (record: StatusRecord) => boolean,
  stallTimeoutMs: number,
): Promise<StatusRecord[]> {
  const records = new Map<string, StatusRecord>();
  const isOpen = (id: string): boolean => {
    const record = records.get(id);
    return record === undefined || !expected(record);
  };
  let open = ids;
  const poll = async (): Promise<PollResult> => {
    for (const record of await client.statuses(open)) records.set(record.messageId, record);
    open = open.filter(isOpen);
    return { done: open.length === 0, progress: open.length };
  };
  await pollUntilDone(poll, { stallTimeoutMs, pollMs: POLL_MS });
  return ids.flatMap((id) => records.get(id) ?? []);
}

export type UnknownOutcome = { readonly messageId: string; readonly reason: string };

/** Lists the messages whose outcome is unknown now, with the reason. */
export async function listUnknownOutcomes({ pool }: Pick<Stage, 'pool'>): Promise<UnknownOutcome[]> {
  const { rows } = await pool.query<UnknownOutcome>('SELECT message_id AS "messageId", reason FROM unknown_outcome');
  return rows;
}

/**
 * Returns the ids of messages whose outcome was unknown at any time, including those that a receipt has settled since:
 * a submit or a revocation that never got a response.
 */
export async function listEverUnknown({ pool }: Stage): Promise<Set<string>> {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT DISTINCT message_id AS id FROM message_event WHERE kind IN ('attempt', 'revoke') AND details->>'outcome' = 'UNKNOWN'`,
  );
  return new Set(rows.map(({ id }) => id));
}
