import type { Pool } from 'pg';
import type { Db } from '../../../platform/db/query.ts';
import { findGuardStatus } from '../../../messaging/restore-guard/sql.ts';
import type { Actor } from '../../../platform/http/actor.ts';
import type { Scope } from '../../../platform/lib/scope.ts';
import { type Attention, ATTENTION_KINDS, type AttentionKind, SEVERITIES } from '../schema.ts';
import { listAttention, listDownConnections } from './sql.ts';

/** The scopes of which a caller needs one to be told; everybody is told of the others. */
const NEEDS: Readonly<Partial<Record<AttentionKind, readonly Scope[]>>> = {
  webhook_failing: ['webhooks'],
  webhook_disabled: ['webhooks'],
  campaign_failed: ['campaigns'],
  campaign_paused: ['campaigns'],
  import_failed: ['contacts'],
  export_failed: ['exports'],
  social_disconnected: ['keys'],
  template_rejected: ['WHATSAPP', 'RCS', 'campaigns'],
};

const NOTHING = { count: null, subject: null, subjectId: null, since: null, detail: null };

type Watcher = Pick<Actor, 'accountId' | 'operations' | 'channels'>;

/** What an account's own tables say needs somebody, as far as the caller may know. */
export async function listOwnAttention(db: Db, { accountId, operations }: Watcher): Promise<Attention[]> {
  const kinds = ATTENTION_KINDS.filter((kind) => NEEDS[kind]?.some((scope) => operations.has(scope)) ?? true);
  const rows = await listAttention(db, { accountId, kinds });
  return rows.map((row) => ({ ...row, since: row.since?.toISOString() ?? null }));
}

/** The same of what all accounts stand on: the carriers, and whether anything is sent at all. */
export async function listSharedAttention(pool: Pool, { accountId, channels }: Watcher): Promise<Attention[]> {
  const [fence, down] = await Promise.all([
    findGuardStatus(pool),
    listDownConnections(pool, { accountId, channels: [...channels] }),
  ]);
  const paused: Attention = {
    ...NOTHING,
    kind: 'sending_paused',
    severity: 'error',
    since: fence.since.toISOString(),
    detail: fence.reason,
  };
  const carriers = down.map(
    ({ name, since, covered }): Attention => ({
      ...NOTHING,
      kind: 'carrier_down',
      severity: covered ? 'warning' : 'error',
      subject: name,
      since: since?.toISOString() ?? null,
    }),
  );
  return fence.state === 'paused' ? [paused, ...carriers] : carriers;
}

type Money = { readonly availableMicros: number; readonly unlimited: boolean };

/** Whether the credit is used up, or less than a day like the last one costs. */
export function creditAttention({ availableMicros, unlimited }: Money, lastDayMicros: number): Attention[] {
  if (unlimited || (availableMicros > 0 && availableMicros >= lastDayMicros)) return [];
  return [{ ...NOTHING, kind: 'low_credit', severity: availableMicros > 0 ? 'warning' : 'error' }];
}

/** The worst first, and then as the kinds are listed. */
export const compareAttention = (a: Attention, b: Attention): number =>
  SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
  ATTENTION_KINDS.indexOf(a.kind) - ATTENTION_KINDS.indexOf(b.kind);
