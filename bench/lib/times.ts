const quantile = (times: readonly number[], share: number): number =>
  times.toSorted((x, y) => x - y)[Math.floor(times.length * share)] ?? 0;

/** The median of times in any order. */
export const p50 = (times: readonly number[]): number => quantile(times, 0.5);
/** The 99th percentile of times in any order. */
export const p99 = (times: readonly number[]): number => quantile(times, 0.99);

/** The median and the 99th percentile of times, as figures with this name. */
export const timeFigures = (name: string, times: readonly number[]): Record<string, number> => ({
  [`${name}.p50Ms`]: p50(times),
  [`${name}.p99Ms`]: p99(times),
});

/** The same for several series, with `prefix` before each name. */
export const allTimeFigures = (
  times: Readonly<Record<string, readonly number[]>>,
  prefix = '',
): Record<string, number> =>
  Object.assign({}, ...Object.entries(times).map(([name, taken]) => timeFigures(prefix + name, taken)));
