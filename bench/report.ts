/** One bench: a ratio to a limit that was measured in the same run, and the figures behind it. */
export type Report = {
  readonly name: string;
  readonly ratio: number;
  /** What the ratio should reach. */
  readonly target: number;
  readonly figures: Readonly<Record<string, number>>;
};

export function show({ name, ratio, target, figures }: Report): string {
  const lines = Object.entries(figures).map(([key, value]) => `  ${key.padEnd(24)} ${value.toLocaleString('en')}`);
  const verdict = ratio >= target ? 'reached' : 'MISSED';
  return [`${name}: ratio ${ratio.toFixed(3)}, target ${target} ${verdict}`, ...lines].join('\n');
}
