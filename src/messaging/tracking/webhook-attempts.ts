import { nameOfStatus } from '../states.ts';
import type { Delivery } from '../webhooks/delivery-log/sql.ts';
import type { TimelineEvent } from './schema.ts';

type Entry = Omit<TimelineEvent, 'at'> & { readonly at: Date };

/** Every attempt to tell the webhook of a message, and what its receiver answered. */
export function webhookAttempts({ kind, status, state, failures, responseCode, ...last }: Delivery): Entry[] {
  const entry = (at: Date, attempt: number, text: string): Entry => ({
    at,
    kind: 'WEBHOOK',
    connection: null,
    attempt,
    text: `${kind}: ${text}`,
    ...(status === null ? {} : { status: nameOfStatus(status) }),
  });
  const failed = failures.map(({ at, code, reason, ms }, i) =>
    entry(new Date(at), i + 1, `${reason ?? `answered ${code}`}, after ${ms} ms`),
  );
  if (state !== 'DELIVERED') return failed;
  const acknowledged = `acknowledged with ${responseCode} after ${last.durationMs} ms`;
  return [...failed, entry(last.updatedAt, failures.length + 1, acknowledged)];
}
