/** Maximum number of words: more only make a search slower. */
const MAX_WORDS = 10;

/**
 * Builds the query for PostgreSQL: all words of the text, each as a prefix; null when it has no letter or digit.
 * `inbox_words` (db/migrations/0001_schema.sql) separates words in the same way.
 */
export function toWordQuery(search: string): string | null {
  const words = search.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  return words.length === 0
    ? null
    : words
        .slice(0, MAX_WORDS)
        .map((word) => `'${word}':*`)
        .join(' & ');
}
