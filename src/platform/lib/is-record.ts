/** Returns true if a value of unknown type is an object with named members; arrays count too. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
