/** Names of the checks made with every peer, in this order. */
export const CHECKS = [
  'bind kinds',
  'submit',
  'receipts',
  'long messages',
  'UCS-2',
  'window',
  'throttling',
  'enquire_link',
  'reconnect',
  'unbind',
] as const;
export type CheckName = (typeof CHECKS)[number];

/** Result of a check; a skipped one states why the peer cannot take part in it. */
export type Verdict =
  | { readonly kind: 'pass'; readonly detail: string }
  | { readonly kind: 'fail'; readonly detail: string }
  | { readonly kind: 'skip'; readonly detail: string };

/** A check: resolves with what was seen, in a few words, and rejects when the peers do not understand each other. */
export type Check<P> = (peer: P) => Promise<string>;
export type Checks<P> = Readonly<Record<CheckName, Check<P>>>;

/** Error of a check for which the peer has no means. */
export class Skipped extends Error {}

/** Runs all checks with one peer, one after another; a failed one does not stop the others. */
export async function runChecks<P>(
  checks: Checks<P>,
  peer: P,
  tell: (name: CheckName, verdict: Verdict) => void = () => undefined,
): Promise<Map<CheckName, Verdict>> {
  const verdicts = new Map<CheckName, Verdict>();
  for (const name of CHECKS) {
    const verdict = await judge(() => checks[name](peer));
    verdicts.set(name, verdict);
    tell(name, verdict);
  }
  return verdicts;
}

const judge = (run: () => Promise<string>): Promise<Verdict> =>
  run().then(
    (detail) => ({ kind: 'pass', detail }),
    (error: unknown) => ({
      kind: error instanceof Skipped ? 'skip' : 'fail',
      detail: error instanceof Error ? error.message : String(error),
    }),
  );

/** Throws with these words unless the condition holds. */
export function ensure(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(what);
}
