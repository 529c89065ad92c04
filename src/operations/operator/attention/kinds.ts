/** Kind of condition that may need attention, with the default rule by which it becomes an alert. */
type Kind = {
  /** Kind of its subject. */
  readonly of: 'gateway' | 'connection' | 'account' | 'machine';
  readonly enabled: boolean;
  /** Time that it must hold before it is an alert, in seconds. */
  readonly forSeconds: number;
  /** Threshold from which it needs attention, and its unit; null if there is nothing to set. */
  readonly threshold: { readonly value: number; readonly unit: Unit } | null;
};

export const UNITS = ['seconds', 'hours', 'days', 'points', 'messages', 'gibibytes'] as const;
export type Unit = (typeof UNITS)[number];

const kind = (
  of: Kind['of'],
  forSeconds: number,
  threshold: Kind['threshold'] = null,
  more: Partial<Kind> = {},
): Kind => ({ of, enabled: true, forSeconds, threshold, ...more });
const from = (value: number, unit: Unit) => ({ value, unit });

/**
 * All kinds, in the order of the console. Carriers reconnect within seconds and workers are restarted, so these
 * conditions must hold for two minutes or one; those that are measured over a longer time count immediately.
 */
export const KINDS = {
  sending_paused: kind('gateway', 0),
  no_worker: kind('gateway', 60),
  worker_missing: kind('gateway', 60),
  connection_down: kind('connection', 120),
  connection_fault: kind('connection', 120),
  connection_paused: kind('connection', 120),
  queue_stuck: kind('connection', 0, from(300, 'seconds')),
  delivery_falling: kind('connection', 600, from(20, 'points')),
  unknown_outcomes: kind('gateway', 120, from(1, 'messages')),
  receipts_unmatched: kind('gateway', 0, from(1, 'hours')),
  missed_schedules: kind('gateway', 0),
  lookups_used_up: kind('gateway', 0),
  low_credit: kind('account', 60, from(24, 'hours')),
  webhook_failing: kind('account', 0, from(1, 'hours')),
  webhook_disabled: kind('account', 0),
  disk_low: kind('machine', 60, from(2, 'gibibytes')),
  certificate_expiring: kind('machine', 0, from(14, 'days')),
  token_expiring: kind('account', 0, from(7, 'days')),
  sold_under_cost: kind('gateway', 0, null, { enabled: false }),
  agents_requested: kind('gateway', 0, null, { enabled: false }),
} as const satisfies Readonly<Record<string, Kind>>;

export type AttentionKind = keyof typeof KINDS;

export const KIND_NAMES = Object.keys(KINDS) as readonly AttentionKind[];

/** Returns a kind as the common type of all kinds. */
export const kindNamed = (name: AttentionKind): Kind => KINDS[name];
