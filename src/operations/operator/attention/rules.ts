import type { Db } from '../../../platform/db/query.ts';
import { type AttentionKind, KIND_NAMES, kindNamed, type Unit } from './kinds.ts';
import { listRules } from './sql.ts';

/** Rule by which a kind of condition is an alert. */
export type Rule = {
  readonly kind: AttentionKind;
  readonly enabled: boolean;
  /** Time that it must hold, in seconds. */
  readonly forSeconds: number;
  /** Threshold from which it needs attention, in `unit`; both null if there is nothing to set. */
  readonly threshold: number | null;
  readonly unit: Unit | null;
};

/** Reads the rules of all kinds: those that operators have set, or the defaults. */
export async function readRules(db: Db): Promise<Rule[]> {
  const rows = new Map((await listRules(db)).map(({ kind, ...row }) => [kind, row]));
  return KIND_NAMES.map((kind) => {
    const { enabled, forSeconds, threshold } = kindNamed(kind);
    const set = rows.get(kind);
    return {
      kind,
      enabled: set?.enabled ?? enabled,
      forSeconds: set?.forSeconds ?? forSeconds,
      threshold: threshold && (set?.threshold ?? threshold.value),
      unit: threshold && threshold.unit,
    };
  });
}

/** Returns a function that finds the threshold of a kind in the unit of that kind. */
export function thresholdsOf(rules: readonly Rule[]): (kind: AttentionKind) => number {
  const values = new Map(rules.map(({ kind, threshold }) => [kind, threshold]));
  return (kind) => values.get(kind) ?? 0;
}
