import type { Pool } from 'pg';
import { findGuardStatus } from '../../../messaging/restore-guard/sql.ts';
import { listUnusableConnections } from '../../../network/routing/coverage/sql.ts';
import type { Db } from '../../../platform/db/query.ts';
import type { Actor } from '../../../platform/lib/actor.ts';
import type { Scope } from '../../../platform/lib/scope.ts';
import { type Attention, ATTENTION_KINDS, type AttentionKind, SEVERITIES } from '../schema.ts';
import { listAttention } from './sql.ts';

/** The scopes of which a caller needs at least one to see a kind. The other kinds are visible to every caller. */
const SCOPES_OF: Readonly<Partial<Record<AttentionKind, readonly Scope[]>>> = {
  webhook_failing: ['webhooks'],
  webhook_disabled: ['webhooks'],
  campaign_failed: ['campaigns'],
  campaign_paused: ['campaigns'],
  import_failed: ['contacts'],
  export_failed: ['exports'],
  social_disconnected: ['social'],
  template_rejected: ['WHATSAPP', 'RCS', 'campaigns'],
};

const NOTHING = { count: null, subject: null, subjectId: null, since: null, detail: null };

type Viewer = Pick<Actor, 'accountId' | 'operations' | 'channels'>;

/** Lists what needs attention according to the account's own tables, as far as the caller may see it. */
export async function listOwnAttention(db: Db, { accountId, operations }: Viewer): Promise<Attention[]> {
  const kinds = ATTENTION_KINDS.filter((kind) => SCOPES_OF[kind]?.some((scope) => operations.has(scope)) ?? true);
  const rows = await listAttention(db, { accountId, kinds });
  return rows.map((row) => ({ ...row, since: row.since?.toISOString() ?? null }));
}

/** Lists what needs attention in the data that all accounts share: the carriers, and whether sending is paused. */
export async function listSharedAttention(pool: Pool, { accountId, channels }: Viewer): Promise<Attention[]> {
  const [guard, unusable] = await Promise.all([
    findGuardStatus(pool),
    listUnusableConnections(pool, { accountId, channels: [...channels] }),
  ]);
  const paused: Attention = {
    ...NOTHING,
    kind: 'sending_paused',
    severity: 'error',
    since: guard.since.toISOString(),
    detail: guard.reason,
  };
  // A paused connection is not a problem if another one replaces it.
  const carriers = unusable
    .filter(({ status, covered }) => status === 'active' || !covered)
    .map(
      ({ name, status, since, covered }): Attention => ({
        ...NOTHING,
        kind: status === 'active' ? 'carrier_down' : 'carrier_paused',
        severity: covered ? 'warning' : 'error',
        subject: name,
        since: since?.toISOString() ?? null,
      }),
    );
  return guard.state === 'paused' ? [paused, ...carriers] : carriers;
}

type Money = { readonly availableMicros: number; readonly unlimited: boolean };

/** Reports low credit: none is left, or less than the last day cost. */
export function creditAttention({ availableMicros, unlimited }: Money, lastDayMicros: number): Attention[] {
  if (unlimited || (availableMicros > 0 && availableMicros >= lastDayMicros)) return [];
  return [{ ...NOTHING, kind: 'low_credit', severity: availableMicros > 0 ? 'warning' : 'error' }];
}

/** Sorts by severity, worst first, and then in the order of `ATTENTION_KINDS`. */
export const compareAttention = (a: Attention, b: Attention): number =>
  SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
  ATTENTION_KINDS.indexOf(a.kind) - ATTENTION_KINDS.indexOf(b.kind);
