/**
 * The number of random cases that a property test tries: a few with every change, and PROPERTY_RUNS times as many at night
 * (.ci/nightly).
 */
export const runs = (few: number): number => few * Number(process.env['PROPERTY_RUNS'] ?? 1);
