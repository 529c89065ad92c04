/** One attempt that reached a carrier. */
export type Attempt = { readonly at: number; readonly accepted: boolean };

/** A time during which a carrier had one limit, in attempts per second. Its beginning is left to the search for it. */
export type Phase = { readonly limit: number; readonly from: number; readonly to: number };

/** What a carrier took in a phase, as a share of its limit, and which share of the attempts it refused. */
export type Share = { readonly taken: number; readonly refused: number };

/** Measures a phase. */
export function measure(attempts: readonly Attempt[], { limit, from, to }: Phase): Share {
  const within = attempts.filter(({ at }) => at >= from && at < to);
  const accepted = within.filter((attempt) => attempt.accepted).length;
  return {
    taken: round(accepted / (((to - from) / 1000) * limit)),
    refused: round((within.length - accepted) / Math.max(1, within.length)),
  };
}

/** The share of all attempts that were refused. */
export const refusedShare = (attempts: readonly Attempt[]): number =>
  round(attempts.filter(({ accepted }) => !accepted).length / Math.max(1, attempts.length));

const round = (ratio: number): number => Math.round(ratio * 1000) / 1000;
