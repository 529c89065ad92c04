const MICROS = 1_000_000;
/** Up to here the product with a million errs by a tenth at most; far beyond it the nearest millionth is missed. */
const LARGEST = 1e9;

/** Micro-units as a number of currency units, for answers: 35,000 is 0.035. Exact up to a billion units. */
export const fromMicros = (micros: number): number => micros / MICROS;

/**
 * Currency units as micro-units. Null when the amount is no finite number, finer than a millionth, or too large to be
 * exact.
 */
export function toMicros(amount: number): number | null {
  const micros = Math.round(amount * MICROS);
  // A decimal and the quotient that means it are read as the same double, so this is no question of tolerance.
  return Math.abs(amount) <= LARGEST && micros / MICROS === amount ? micros : null;
}
