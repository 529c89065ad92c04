import type { Alert } from './alert.ts';

type Place = { readonly to: string; readonly search?: Readonly<Record<string, string>> };

const HEALTH = '/operator/health';
const PLACES: Readonly<Partial<Record<Alert['kind'], Place>>> = {
  sending_paused: { to: '/operator' },
  no_worker: { to: '/operator/queues' },
  worker_missing: { to: '/operator/queues' },
  unknown_outcomes: { to: '/operator/unknowns' },
  receipts_unmatched: { to: HEALTH, search: { tab: 'receipts' } },
  missed_schedules: { to: '/operator/queues' },
  disk_low: { to: HEALTH, search: { tab: 'doctor' } },
  certificate_expiring: { to: HEALTH, search: { tab: 'doctor' } },
  lookups_used_up: { to: '/operator/routes' },
  sold_under_cost: { to: '/operator/prices', search: { tab: 'margins' } },
  agents_requested: { to: '/operator/senders' },
};
const OF_ACCOUNTS: readonly Alert['kind'][] = ['low_credit', 'webhook_failing', 'webhook_disabled', 'token_expiring'];

/** The page where an alert is resolved; null if there is none. */
export function placeOf({ kind, subject, subjectId }: Alert): Place | null {
  const place = PLACES[kind];
  if (place !== undefined) return place;
  if (OF_ACCOUNTS.includes(kind)) return subjectId === null ? null : { to: `/operator/accounts/${subjectId}` };
  return subject === null ? null : { to: `/operator/connections/${encodeURIComponent(subject)}` };
}
