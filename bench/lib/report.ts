/** The result of one bench: a ratio to a limit measured in the same run, and the figures behind it. */
export type Report = {
  readonly name: string;
  readonly ratio: number;
  /** The ratio that should be reached. */
  readonly target: number;
  readonly figures: Readonly<Record<string, number>>;
};

/** A bench that needs something which this machine does not have. */
export type NotRun = { readonly name: string; readonly notRun: string };

/** Formats a report for people to read. */
export function formatReport({ name, ratio, target, figures }: Report): string {
  const lines = Object.entries(figures).map(([key, value]) => `  ${key.padEnd(24)} ${value.toLocaleString('en')}`);
  const verdict = ratio >= target ? 'reached' : 'MISSED';
  return [`${name}: ratio ${ratio.toFixed(3)}, target ${target} ${verdict}`, ...lines].join('\n');
}
