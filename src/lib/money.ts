const MICROS = 1_000_000;

/** Micro-units as a number of currency units, for answers: 35,000 is 0.035. Exact up to 9 billion units. */
export const fromMicros = (micros: number): number => micros / MICROS;

/**
 * Currency units as micro-units. Null when the amount is no finite number, finer than a millionth, or too large to be
 * exact.
 */
export function toMicros(amount: number): number | null {
  const micros = Math.round(amount * MICROS);
  const exact =
    Number.isSafeInteger(micros) && Math.abs(micros / MICROS - amount) < 1e-9 * Math.max(1, Math.abs(amount));
  return exact ? micros : null;
}
