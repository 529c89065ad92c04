import type { Pool } from 'pg';
import type { Carrier, Submission } from '../carriers/carrier.ts';
import type { ReceiptState } from '../carriers/events.ts';
import type { Outcome } from '../carriers/outcome.ts';
import { listTraces } from '../messaging/messages/events/sql.ts';
import type { OnMatched } from '../messaging/receipts/process.ts';
import type { PumpDeps } from '../network/dispatch/pump.ts';
import { boundsOf } from '../platform/lib/ids.ts';
import { readTraceContext, type TraceContext } from '../platform/traceparent.ts';
import { createTracing, findTracer, type MessageKey, type Tracing } from '../platform/tracing.ts';
import type { Base } from './base.ts';

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
export type DispatchTrace = {
  load(connection: string, load: PumpDeps['load']): PumpDeps['load'];
  carrier(connection: string, carrier: Carrier): Carrier;
};

/**
 * Creates the wrappers that record the spans `claim` and `submit`: from the claim of a chunk to its messages, and of
 * each attempt.
 */
export function traceDispatch(tracing: Tracing): DispatchTrace {
  /** The accounts of the traced messages that wait in a pump: a carrier does not know them. */
  const accounts = new WeakMap<Submission, number>();
  return {
    load: (connection, load) => async (chunks) => {
      const startMs = Date.now();
      const loaded = await load(chunks);
      const endMs = Date.now();
      for (const [i, { accountId }] of chunks.entries())
        for (const job of loaded[i] ?? []) {
          if (!job || !tracing.follows(job.messageId)) continue;
          accounts.set(job, accountId);
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
