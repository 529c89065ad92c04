import type { Pool } from 'pg';
import type { Outcome } from '../../../src/channels/carrier.ts';
import { exec, many, one, sql } from '../../../src/core/db/query.ts';
import { transaction } from '../../../src/core/db/transaction.ts';
import { silentLog } from '../../../src/core/log.ts';
import { STATUS, type StatusName } from '../../../src/core/message-state.ts';
import type { Job } from '../../../src/dispatch/held.ts';
import type { Waker } from '../../../src/dispatch/pump.ts';
import { type Accept, createAccept } from '../../../src/messages/accept.ts';
import { endMessages } from '../../../src/messages/end.ts';
import { createFallbackPoller } from '../../../src/messages/fallback.ts';
import type { NextChannel } from '../../../src/messages/fallback-store.ts';
import type { Revoke } from '../../../src/messages/next-channel.ts';
import type { Draft } from '../../../src/messages/read-send.ts';
import { settleOutcomes } from '../../../src/messages/settle.ts';
import { actor, draft, flatPrice, freeOver } from '../drafts.ts';
import { createAccountWithCredit } from '../money.ts';

export const PRICE_MICROS = 10_000;
const IDLE: Waker = { wake() {}, wakeHere() {}, setShared() {}, onWake: () => () => {} };
const CONNECTION = 1;

export type ChainMessage = {
  id: string;
  channel: string;
  status: number | null;
  errorText: string | null;
  clientId: string | null;
};

/** A database in which single sends with fallbacks run without carriers: the test decides what becomes of messages. */
export type FallbackStage = {
  readonly accountId: number;
  readonly accept: Accept;
  /** Sends a message on the first of these channels, with the others as fallbacks; returns its id. */
  send(chain: readonly NextChannel['channel'][], more?: Partial<Draft>, rule?: Partial<NextChannel>): Promise<string>;
  /** Lets a worker do everything that is due. */
  run(accept?: Pick<Accept, 'once'>): Promise<void>;
  /** Lets this much time pass for all messages and their fallbacks. */
  pass(seconds: number): Promise<void>;
  /** Lists the messages of the account in order. */
  messages(): Promise<ChainMessage[]>;
  /** Reports a carrier's response for the newest message. */
  settle(outcome: Outcome): Promise<void>;
  /** Ends the newest message, or the given one. */
  end(status: StatusName, more?: { id?: string; errorCode?: string }): Promise<void>;
};

export const TAKEN: Outcome = { kind: 'accepted', carrierIds: ['x'] };

export async function openFallbackStage(
  pool: Pool,
  { revoke, creditMicros = 1_000_000 }: { revoke: Revoke; creditMicros?: number },
): Promise<FallbackStage> {
  const accountId = await createAccountWithCredit(pool, creditMicros);
  const tables = { ...freeOver(() => [CONNECTION]), findPrice: flatPrice(PRICE_MICROS) };
  const accept = createAccept({ pool, tables, waker: IDLE, recentMessages: null });
  const messages = (): Promise<ChainMessage[]> => listMessages(pool, accountId);
  const newest = async (): Promise<string> => (await messages()).at(-1)?.id ?? '';

  return {
    accountId,
    accept,
    messages,
    async send([first, ...others], more, rule) {
      const nextChannels = others.map((channel) => ({ ...toNext(channel), ...rule }));
      const verdict = await accept.one(actor(accountId), draft({ ...toNext(first ?? 'SMS'), nextChannels, ...more }));
      if (verdict.kind !== 'accepted') throw new Error(`not accepted: ${verdict.kind}`);
      return verdict.messageId;
    },
    async run(by = accept) {
      const fallbacks = createFallbackPoller({ pool, accept: by, revoke, now: () => new Date(), log: silentLog });
      while ((await fallbacks.poll()) > 0) await fallbacks.stop();
    },
    async pass(seconds) {
      const earlier = sql`- ${seconds} * interval '1 second'`;
      await exec(pool, sql`UPDATE message_fallback SET due_at = due_at ${earlier}`);
      await exec(pool, sql`UPDATE message_state SET submitted_at = submitted_at ${earlier}`);
      // The time at which a message was made is in its id, so a schedule stands for it.
      await exec(pool, sql`UPDATE message SET scheduled_at = coalesce(scheduled_at, now()) ${earlier}`);
    },
    async settle(outcome) {
      const job = await findJob(pool, await newest());
      const fixed = { accountId, connectionId: CONNECTION, attempt: 1, answeredAt: new Date(), resubmit: false };
      await transaction(pool, async (tx) => {
        await exec(tx, sql`DELETE FROM dispatch_chunk WHERE ids && ${[job.messageId]}::uuid[]`);
        await settleOutcomes(tx, [{ ...fixed, messageId: job.messageId, job, outcome }], true);
      });
    },
    async end(status, { id, errorCode = null } = {}) {
      const move = { accountId, id: id ?? (await newest()), status: STATUS[status], errorCode };
      await transaction(pool, (tx) => endMessages(tx, [{ ...move, doneAt: new Date(), errorText: null }]));
    },
  };
}

function contentOf(channel: NextChannel['channel']): NextChannel['content'] {
  if (channel === 'SMS') return null;
  const text = 'Hello';
  return channel === 'RCS' ? { channel, message: { text } } : { channel, message: { type: 'text', text } };
}

const toNext = (channel: NextChannel['channel']): NextChannel => ({
  channel,
  sender: channel === 'SMS' ? 'ACME' : 'agent',
  body: `over ${channel}`,
  content: contentOf(channel),
  afterSeconds: 300,
  maxWaitSeconds: null,
  onStatus: null,
});

const listMessages = (pool: Pool, accountId: number): Promise<ChainMessage[]> =>
  many(
    pool,
    sql`SELECT m.id, m.channel, s.status, s.error_text AS "errorText", m.client_id AS "clientId" FROM message m
        LEFT JOIN message_state s ON s.account_id = m.account_id AND s.id = m.id
        WHERE m.account_id = ${accountId} ORDER BY m.id`,
  );

const findJob = (pool: Pool, id: string): Promise<Job> =>
  one(
    pool,
    sql`SELECT m.id AS "messageId", destination, sender, body, NULL AS "validUntil", true AS "wantReceipt", parts,
               price_micros AS "priceMicros", refund_undelivered AS "refundUndelivered", channel,
               campaign_id AS "campaignId", keeps_reserve AS "keepsReserve"
        FROM message m WHERE m.id = ${id}`,
  );
