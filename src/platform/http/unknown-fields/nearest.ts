/**
 * Maximum length of a compared name: longer ones are not typing errors, and comparing them would cost more than it is
 * worth.
 */
const MAX_LENGTH = 64;

/**
 * Returns the known name that was most likely meant, or null: the same name in another case, or the one that the fewest
 * typing errors (a character added, omitted, replaced, or two exchanged) turn into it, at most one for every three
 * characters.
 */
export function nearestName(name: string, known: readonly string[]): string | null {
  if (name.length > MAX_LENGTH) return null;
  const wanted = name.toLowerCase();
  let nearest: string | null = null;
  let fewest = Math.floor(name.length / 3) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= fewest) continue;
    const slips = slipsBetween(wanted, candidate.toLowerCase());
    if (slips < fewest) [nearest, fewest] = [candidate, slips];
  }
  return nearest;
}

/** The edit distance of two texts in which two exchanged neighbours count once (optimal string alignment). */
function slipsBetween(a: string, b: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, i) => i)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const least = Math.min(replaced, at(last, j) + 1, at(row, j - 1) + 1);
      const isExchange = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(isExchange ? Math.min(least, at(before, j - 2) + 1) : least);
    }
    [before, last] = [last, row];
  }
  return at(last, b.length);
}

const at = (row: readonly number[], index: number): number => row[index] ?? 0;
