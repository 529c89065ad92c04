const MICROS = 1_000_000;
/** Up to this amount the product with a million is off by a tenth at most; far beyond it, rounding would be wrong. */
const MAX_EXACT_AMOUNT = 1e9;

/** Converts micro-units to currency units, for responses: 35,000 is 0.035. Exact up to a billion units. */
export const fromMicros = (micros: number): number => micros / MICROS;

/**
 * Converts currency units to micro-units. Null if the amount is not finite, is finer than a millionth, or is too large
 * to be exact.
 */
export function toMicros(amount: number): number | null {
  const micros = Math.round(amount * MICROS);
  // A decimal number and its quotient are the same double, so no tolerance is needed.
  return Math.abs(amount) <= MAX_EXACT_AMOUNT && micros / MICROS === amount ? micros : null;
}
