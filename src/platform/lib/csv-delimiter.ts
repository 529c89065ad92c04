export const DELIMITERS = [',', ';', '\t', '|'] as const;
/** The delimiter of the cells of a CSV file. */
export type Delimiter = (typeof DELIMITERS)[number];

/** Length of the part of a file that is examined. */
export const SAMPLE_CHARACTERS = 64 * 1024;
const SAMPLE_LINES = 20;

/**
 * Detects the delimiter of the cells of a CSV file: the sign with the largest minimum count per line among its first
 * lines.
 */
export function detectDelimiter(sample: string): Delimiter {
  const lines = linesOf(sample.slice(0, SAMPLE_CHARACTERS)).slice(0, SAMPLE_LINES);
  const rated = DELIMITERS.map((delimiter) => {
    const counts = lines.map((line) => line.split(delimiter).length - 1);
    return { delimiter, least: Math.min(...counts), all: counts.reduce((sum, n) => sum + n, 0) };
  });
  const best = rated.reduce((a, b) => (b.least > a.least || (b.least === a.least && b.all > a.all) ? b : a));
  return best.all === 0 ? ',' : best.delimiter;
}

/** Returns the lines without quoted parts, and without the last line if the sample cuts it. */
function linesOf(sample: string): string[] {
  const lines = sample
    .replaceAll(/"(?:[^"]|"")*"/g, '')
    .split(/\r\n|\r|\n/)
    .filter((line) => line.trim() !== '');
  return sample.length >= SAMPLE_CHARACTERS && lines.length > 1 ? lines.slice(0, -1) : lines;
}
