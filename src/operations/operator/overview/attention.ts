import type { GuardStatus } from '../../../messaging/restore-guard/sql.ts';
import { describeUnderCost, listUnderCost } from '../../../money/under-cost/find.ts';
import { listMissed } from '../../../messaging/schedules/sql.ts';
import type { Db } from '../../../platform/db/query.ts';
import { SECOND_MS } from '../../../platform/lib/time.ts';
import type { WorkerRow } from '../../workers/sql.ts';
import type { ConnectionRow } from '../connections/sql.ts';
import { type Concern, countOpenIssues, listCreditConcerns, listWebhookConcerns } from './sql.ts';

/** Something that needs attention. */
export type Attention = Omit<Concern, 'severity'> & { readonly severity: Concern['severity'] | 'info' };

/** A queue is stuck, or too slow, when its oldest due message has waited for this time. */
const STUCK_SECONDS = 300;

type GatewayState = {
  readonly guard: GuardStatus;
  readonly workers: readonly WorkerRow[];
  readonly connections: readonly ConnectionRow[];
};

/** Lists what needs attention over all accounts, worst first. */
export async function listAttention(db: Db, { guard, workers, connections }: GatewayState): Promise<Attention[]> {
  const [webhooks, credit] = [await listWebhookConcerns(db), await listCreditConcerns(db)];
  const all = [
    ...(guard.state === 'paused' ? [concern('sending_paused', { since: guard.since, detail: guard.reason })] : []),
    ...(workers.some(({ alive }) => alive) ? [] : [concern('no_worker', {})]),
    ...connections.flatMap(concernsOf),
    ...webhooks,
    ...credit,
    ...(await concernsOfCosts(db)),
    ...(await concernsOfOpenIssues(db)),
  ];
  return all.toSorted((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
}

const SEVERITIES: readonly Attention['severity'][] = ['error', 'warning', 'info'];

const concern = (kind: string, fields: Partial<Attention>): Attention => ({
  kind,
  severity: 'error',
  count: null,
  subject: null,
  subjectId: null,
  since: null,
  detail: null,
  ...fields,
});

function concernsOf(row: ConnectionRow): Attention[] {
  const { name: subject, id: subjectId, fault: detail, lastError } = row;
  if (row.status === 'paused') return row.queued > 0 ? [stuckQueue(row, 'warning')] : [];
  return [
    ...(detail === null ? [] : [concern('connection_fault', { subject, subjectId, detail })]),
    ...(row.up || detail !== null
      ? []
      : [concern('connection_down', { subject, subjectId, since: row.downSince, detail: lastError })]),
    ...(row.up && row.oldestSeconds > STUCK_SECONDS ? [stuckQueue(row, 'error')] : []),
  ];
}

function stuckQueue(row: ConnectionRow, severity: 'error' | 'warning'): Attention {
  const { name: subject, id: subjectId, queued: count, oldestSeconds } = row;
  const since = new Date(Date.now() - oldestSeconds * SECOND_MS);
  return concern('queue_stuck', { subject, subjectId, count, severity, since });
}

/** One line for each connection whose routes sell under cost, with the largest loss. */
async function concernsOfCosts(db: Db): Promise<Attention[]> {
  const byConnection = Map.groupBy(await listUnderCost(db), ({ connection }) => connection);
  return [...byConnection].map(([subject, routes]) =>
    concern('sold_under_cost', {
      severity: 'warning',
      subject,
      count: routes.length,
      detail: routes.slice(0, 1).map(describeUnderCost).join(),
    }),
  );
}

async function concernsOfOpenIssues(db: Db): Promise<Attention[]> {
  const { unknowns, unknownsSince, unmatched, unmatchedSince, agents } = await countOpenIssues(db);
  const missed = await listMissed(db);
  const warn = (kind: string, count: number, since: Date | null): Attention[] =>
    count === 0 ? [] : [concern(kind, { severity: 'warning', count, since })];
  return [
    ...warn('missed_schedules', missed.length, missed[0]?.dueAt ?? null),
    ...warn('unknown_outcomes', unknowns, unknownsSince),
    ...warn('receipts_unmatched', unmatched, unmatchedSince),
    ...(agents === 0 ? [] : [concern('agents_requested', { severity: 'info', count: agents })]),
  ];
}
