import type { Db } from '../../../platform/db/query.ts';
import type { GuardStatus } from '../../../messaging/restore-guard/sql.ts';
import { listMissed } from '../../../messaging/schedules/sql.ts';
import type { WorkerRow } from '../../workers/sql.ts';
import type { ConnectionRow } from '../connections/sql.ts';
import { type Concern, countOpenIssues, listCreditConcerns, listWebhookConcerns } from './sql.ts';

/** Something that a person should look at. */
export type Attention = Omit<Concern, 'severity'> & { readonly severity: Concern['severity'] | 'info' };

/** A queue whose oldest due message has waited for so long goes too slowly, or not at all. */
const STUCK_SECONDS = 300;

type Seen = {
  readonly fence: GuardStatus;
  readonly workers: readonly WorkerRow[];
  readonly connections: readonly ConnectionRow[];
};

/** What needs somebody, over all accounts; the worst first. */
export async function listAttention(db: Db, { fence, workers, connections }: Seen): Promise<Attention[]> {
  const [webhooks, credit] = [await listWebhookConcerns(db), await listCreditConcerns(db)];
  const all = [
    ...(fence.state === 'paused' ? [of('sending_paused', { since: fence.since, detail: fence.reason })] : []),
    ...(workers.some(({ alive }) => alive) ? [] : [of('no_worker', {})]),
    ...connections.flatMap(concernsOf),
    ...webhooks,
    ...credit,
    ...(await openConcerns(db)),
  ];
  return all.toSorted((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
}

const SEVERITIES: readonly Attention['severity'][] = ['error', 'warning', 'info'];

const of = (kind: string, more: Partial<Attention>): Attention => ({
  kind,
  severity: 'error',
  count: null,
  subject: null,
  subjectId: null,
  since: null,
  detail: null,
  ...more,
});

function concernsOf(row: ConnectionRow): Attention[] {
  const { name: subject, id: subjectId, fault: detail, lastError } = row;
  if (row.status === 'paused') return row.queued > 0 ? [waiting(row, 'warning')] : [];
  return [
    ...(detail === null ? [] : [of('connection_fault', { subject, subjectId, detail })]),
    ...(row.up || detail !== null
      ? []
      : [of('connection_down', { subject, subjectId, since: row.downSince, detail: lastError })]),
    ...(row.up && row.oldestSeconds > STUCK_SECONDS ? [waiting(row, 'error')] : []),
  ];
}

const waiting = (
  { name: subject, id: subjectId, queued: count, oldestSeconds }: ConnectionRow,
  severity: 'error' | 'warning',
) => of('queue_stuck', { subject, subjectId, count, severity, since: new Date(Date.now() - oldestSeconds * 1000) });

async function openConcerns(db: Db): Promise<Attention[]> {
  const { unknowns, unknownsSince, unmatched, unmatchedSince, agents } = await countOpenIssues(db);
  const missed = await listMissed(db);
  const warn = (kind: string, count: number, since: Date | null): Attention[] =>
    count === 0 ? [] : [of(kind, { severity: 'warning', count, since })];
  return [
    ...warn('missed_schedules', missed.length, missed[0]?.dueAt ?? null),
    ...warn('unknown_outcomes', unknowns, unknownsSince),
    ...warn('receipts_unmatched', unmatched, unmatchedSince),
    ...(agents === 0 ? [] : [of('agents_requested', { severity: 'info', count: agents })]),
  ];
}
