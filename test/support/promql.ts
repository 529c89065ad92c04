/** Metrics and labels that a PromQL expression uses. */
export type Asked = { readonly metrics: readonly string[]; readonly labels: readonly string[] };

const STRINGS = /"[^"]*"|'[^']*'/g;
const SELECTORS = /\{([^}]*)\}/g;
const RANGES = /\[[^\]]*\]/g;
const GROUPINGS = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;
/** Names, but not those of functions. */
const NAMES = /\b[a-zA-Z_:][\w:]*\b(?!\s*\()/g;
const WORDS = new Set(['and', 'or', 'unless', 'bool', 'offset']);

const listed = (text: string): string[] => text.match(/[a-zA-Z_]\w*/g) ?? [];

/** Returns the metrics and the labels that an expression names. Labels are those in selectors and of groupings. */
export function readPromql(expression: string): Asked {
  const plain = expression.replaceAll(STRINGS, '""');
  const labels = [
    ...[...plain.matchAll(SELECTORS)].flatMap(([, inner = '']) => listed(inner)),
    ...[...plain.matchAll(GROUPINGS)].flatMap(([, inner = '']) => listed(inner)),
  ];
  const rest = plain.replaceAll(SELECTORS, '').replaceAll(RANGES, '').replaceAll(GROUPINGS, '');
  const metrics = (rest.match(NAMES) ?? []).filter((name) => !WORDS.has(name));
  return { metrics: [...new Set(metrics)], labels: [...new Set(labels)] };
}

/** Returns the names of the metrics on a page of /metrics, each with the labels that its values have. */
export function readMetrics(page: string): Map<string, Set<string>> {
  const metrics = new Map<string, Set<string>>();
  const labelsOf = (name: string): Set<string> =>
    metrics.get(name) ?? metrics.set(name, new Set()).get(name) ?? new Set();
  for (const [, name = '', type] of page.matchAll(/^# TYPE (\S+) (\S+)$/gm))
    for (const suffix of type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']) labelsOf(`${name}${suffix}`);
  for (const [, name = '', labels = ''] of page.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm))
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) labelsOf(name).add(label);
  return metrics;
}
