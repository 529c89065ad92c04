import type { GuardStatus } from '../../../messaging/restore-guard/sql.ts';
import { listMissed } from '../../../messaging/schedules/sql.ts';
import { describeUnderCost, listUnderCost } from '../../../money/under-cost/find.ts';
import { findInstallationUsedUp } from '../../../network/number-lookups/budget.ts';
import { listUnusableConnections } from '../../../network/routing/coverage/sql.ts';
import type { Db } from '../../../platform/db/query.ts';
import { SECOND_MS } from '../../../platform/lib/time.ts';
import type { WorkerRow } from '../../workers/sql.ts';
import type { ConnectionRow } from '../connections/sql.ts';
import { concern } from './concern.ts';
import type { AttentionKind } from './kinds.ts';
import { concernsOfMachines, concernsOfWorkers } from './machines.ts';
import { readRules, thresholdsOf } from './rules.ts';
import * as db from './sql.ts';
import { type Attention, SEVERITIES } from './sql.ts';

/** State that callers have read already. */
export type GatewayState = {
  readonly guard: GuardStatus;
  readonly workers: readonly WorkerRow[];
  readonly connections: readonly ConnectionRow[];
  readonly now: Date;
};

/** The thresholds of the kinds. */
type Thresholds = ReturnType<typeof thresholdsOf>;

/**
 * Lists everything that needs attention over all accounts, worst first. It is the only source of the overview and of
 * alerts.
 */
export async function listAttention(
  pool: Db,
  { guard, workers, connections, now }: GatewayState,
): Promise<Attention[]> {
  const from = thresholdsOf(await readRules(pool));
  const all = [
    ...(guard.state === 'paused' ? [concern('sending_paused', { since: guard.since, detail: guard.reason })] : []),
    ...concernsOfWorkers(workers),
    ...concernsOfMachines(workers, {
      minFreeBytes: from('disk_low') * GIB,
      minDays: from('certificate_expiring'),
      now,
    }),
    ...(await concernsOfConnections(pool, connections, from)),
    ...(await concernsOfAccounts(pool, from)),
    ...(await concernsOfCosts(pool)),
    ...(await concernsOfOpenIssues(pool, from)),
  ];
  return all.toSorted((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
}

const GIB = 1024 ** 3;

async function concernsOfConnections(
  pool: Db,
  connections: readonly ConnectionRow[],
  from: Thresholds,
): Promise<Attention[]> {
  const unusable = await listUnusableConnections(pool, { accountId: null });
  const uncovered = new Set(unusable.filter(({ covered }) => !covered).map(({ id }) => id));
  const falling = await db.listFallingDelivery(pool, { points: from('delivery_falling') });
  return [
    ...connections.flatMap((row) => concernsOf(row, uncovered.has(row.id), from('queue_stuck'))),
    ...falling.map((row) => concern('delivery_falling', { severity: 'warning', ...row })),
  ];
}

function concernsOf(row: ConnectionRow, isOnlyWay: boolean, stuckSeconds: number): Attention[] {
  const { name: subject, id: subjectId, queued: count, waitingAccounts: accounts, fault, lastError } = row;
  const of = { subject, subjectId, count, accounts };
  if (row.status === 'paused') {
    // Nothing is wrong with a paused connection that another one stands in for.
    if (!isOnlyWay && count === 0) return [];
    const severity = isOnlyWay ? 'error' : 'warning';
    return [concern('connection_paused', { ...of, severity, since: count > 0 ? waitingSince(row) : null })];
  }
  // The connections of a sandbox that no longer runs stay, without routes.
  if (row.sandbox && row.routes + row.senders + count === 0) return [];
  return [
    ...(fault === null ? [] : [concern('connection_fault', { ...of, detail: fault })]),
    ...(row.up || fault !== null
      ? []
      : [concern('connection_down', { ...of, since: row.downSince, detail: lastError })]),
    ...(row.up && row.oldestSeconds > stuckSeconds
      ? [concern('queue_stuck', { ...of, since: waitingSince(row) })]
      : []),
  ];
}

const waitingSince = ({ oldestSeconds }: ConnectionRow): Date => new Date(Date.now() - oldestSeconds * SECOND_MS);

async function concernsOfAccounts(pool: Db, from: Thresholds): Promise<Attention[]> {
  const webhooks = await db.listFailingWebhooks(pool, { hours: from('webhook_failing') });
  const credit = await db.listLowCredit(pool, { hours: from('low_credit') });
  const tokens = await db.listExpiringTokens(pool, { days: from('token_expiring') });
  return [
    ...webhooks.map(({ kind, ...row }) => concern(kind, row)),
    ...credit.map((row) => concern('low_credit', row)),
    ...tokens.map((row) => concern('token_expiring', { severity: 'warning', ...row })),
  ];
}

/** One line for each connection whose routes are priced below cost, with the largest loss. */
async function concernsOfCosts(pool: Db): Promise<Attention[]> {
  const byConnection = Map.groupBy(await listUnderCost(pool), ({ connection }) => connection);
  return [...byConnection].map(([subject, routes]) =>
    concern('sold_under_cost', {
      severity: 'warning',
      subject,
      count: routes.length,
      detail: routes.slice(0, 1).map(describeUnderCost).join(),
    }),
  );
}

async function concernsOfOpenIssues(pool: Db, from: Thresholds): Promise<Attention[]> {
  const issues = await db.countOpenIssues(pool, { hours: from('receipts_unmatched') });
  const missed = await listMissed(pool);
  const usedUp = await findInstallationUsedUp(pool);
  const warn = (kind: AttentionKind, count: number, since: Date | null): Attention[] =>
    count === 0 ? [] : [concern(kind, { severity: 'warning', count, since })];
  return [
    ...warn('missed_schedules', missed.length, missed[0]?.dueAt ?? null),
    ...(usedUp ? [concern('lookups_used_up', { severity: 'warning', count: usedUp.allowed })] : []),
    ...(issues.unknowns < from('unknown_outcomes')
      ? []
      : warn('unknown_outcomes', issues.unknowns, issues.unknownsSince)),
    ...warn('receipts_unmatched', issues.unmatched, issues.unmatchedSince),
    ...(issues.agents === 0 ? [] : [concern('agents_requested', { severity: 'info', count: issues.agents })]),
  ];
}
