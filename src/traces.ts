import type { Pool } from 'pg';
import type { Base } from './base.ts';
import type { Carrier, Outcome, ReceiptState, Submission } from './channels/carrier.ts';
import { boundsOf } from './core/ids.ts';
import {
  createTracing,
  findTracer,
  type MessageKey,
  readTraceContext,
  type TraceContext,
  type Tracing,
} from './core/tracing.ts';
import type { Lane } from './dispatch/express.ts';
import type { PumpDeps } from './dispatch/pump.ts';
import { listTraces } from './messages/events.ts';
import type { OnMatched } from './messages/receipts.ts';

/** Opens the traces of messages; null if no SDK creates spans for them. */
export function openTracing({ pool, log, onStop }: Pick<Base, 'pool' | 'log' | 'onStop'>): Tracing | null {
  const tracer = findTracer();
  if (tracer === null) return null;
  const tracing = createTracing({ tracer, log, findContexts: (keys) => findContexts(pool, keys) });
  onStop('traces', tracing.settled);
  return tracing;
}

async function findContexts(pool: Pool, keys: readonly MessageKey[]): Promise<(TraceContext | null)[]> {
  const [firstId, lastId] = boundsOf(keys.map(({ messageId }) => messageId));
  const rows = await listTraces(pool, { keys, firstId, lastId });
  const found = new Map(rows.map((row) => [row.messageId, readTraceContext(row.traceparent, row.state ?? undefined)]));
  return keys.map(({ messageId }) => found.get(messageId) ?? null);
}

/** Wrappers for the work of a pump. Without traces nothing is wrapped, so a message costs nothing more. */
type DispatchTrace = {
  load(connection: string, load: PumpDeps['load']): PumpDeps['load'];
  carrier(connection: string, carrier: Carrier): Carrier;
  lane(lane: Lane): Lane;
};

/**
 * Creates the wrappers that record the spans `claim` and `submit`: from the claim of a chunk to its messages, which
 * express sends do not have, and of each attempt.
 */
export function traceDispatch(tracing: Tracing): DispatchTrace {
  /** The accounts of the traced messages that wait in a pump: a carrier does not know them. */
  const accounts = new WeakMap<Submission, number>();
  function follow(job: Submission, accountId: number): boolean {
    const follows = tracing.follows(job.messageId);
    if (follows) accounts.set(job, accountId);
    return follows;
  }
  return {
    lane: (lane) => ({
      reserve: (chunk, jobs) =>
        lane.reserve(chunk, () => {
          const own = jobs();
          for (const job of own) follow(job, chunk.accountId);
          return own;
        }),
    }),
    load: (connection, load) => async (chunks) => {
      const startMs = Date.now();
      const loaded = await load(chunks);
      const endMs = Date.now();
      for (const [i, { accountId }] of chunks.entries())
        for (const job of loaded[i] ?? []) {
          if (!job || !follow(job, accountId)) continue;
          const { messageId, channel } = job;
          tracing.record({ name: 'claim', accountId, messageId, startMs, endMs, channel, connection });
        }
      return loaded;
    },
    carrier: (connection, carrier) => ({
      ...carrier,
      submit(submission) {
        const accountId = accounts.get(submission);
        const submitted = carrier.submit(submission);
        if (accountId === undefined) return submitted;
        const { messageId } = submission;
        const startMs = Date.now();
        return submitted.then((outcome) => {
          const result = resultOf(outcome);
          tracing.record({ name: 'submit', accountId, messageId, startMs, endMs: Date.now(), connection, ...result });
          return outcome;
        });
      },
    }),
  };
}

const STATUSES = { accepted: 'ACCEPTED', refused: 'REFUSED', retry: 'RETRY', unknown: 'UNKNOWN' } as const;

const resultOf = (outcome: Outcome) => ({
  status: STATUSES[outcome.kind],
  code: 'code' in outcome ? outcome.code : null,
  failed: outcome.kind !== 'accepted',
});

const GOOD_STATES: ReadonlySet<ReceiptState> = new Set(['ACCEPTED', 'DELIVERED', 'READ', 'UNKNOWN']);

/** Creates the wrapper that records the spans `receipt`: from the arrival of a receipt to the commit of its changes. */
export const traceReceipts =
  (tracing: Tracing): OnMatched =>
  (receipts) => {
    const endMs = Date.now();
    for (const { accountId, messageId, receivedAt, receipt } of receipts) {
      if (!tracing.follows(messageId)) continue;
      tracing.record({
        name: 'receipt',
        accountId,
        messageId,
        startMs: receivedAt.getTime(),
        endMs,
        status: receipt.state,
        code: receipt.errorCode,
        failed: !GOOD_STATES.has(receipt.state),
      });
    }
  };
