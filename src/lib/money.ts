const MICROS = 1_000_000;
/** Beyond it, doubles are further apart than a millionth. */
const LARGEST = 8e9;

/** Micro-units as a number of currency units, for answers: 35,000 is 0.035. Exact up to 8 billion units. */
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
