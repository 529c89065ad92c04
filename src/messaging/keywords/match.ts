/** The keyword of a rule for all messages that match no other keyword. */
export const ANY_KEYWORD = '*';

/** Scope of a rule. */
export type Matcher = {
  /** The number that was written to, without a plus; null: any. */
  readonly number: string | null;
  readonly keyword: string;
};

const BETWEEN = /\s+/gu;

/** Normalizes a keyword, or the text of a message, for comparison: lower case, single spaces. */
export const plainText = (text: string): string => text.normalize('NFC').toLowerCase().replace(BETWEEN, ' ').trim();

/** Matches the end of a keyword in a message. */
const WORD_END = /^(?![\p{L}\p{N}])/u;

const beginsWith = (text: string, keyword: string): boolean =>
  text.startsWith(keyword) && WORD_END.test(text.slice(keyword.length));

/**
 * Finds the rule for a message: first among those for its number, then among those for any number, the longest keyword
 * with which it begins, as a whole word; then the rule for all messages. Undefined if there is none. Keywords are in
 * `plainText`.
 */
export function findRule<R extends Matcher>(
  rules: readonly R[],
  { number, text }: { readonly number: string; readonly text: string },
): R | undefined {
  const plain = plainText(text);
  const rank = (rule: R): number => {
    const own = rule.number === null ? 0 : MAX_KEYWORD_LENGTH + 1;
    return own + (rule.keyword === ANY_KEYWORD ? 0 : rule.keyword.length);
  };
  return rules
    .filter((rule) => rule.number === null || rule.number === number)
    .filter(({ keyword }) => keyword === ANY_KEYWORD || beginsWith(plain, keyword))
    .toSorted((a, b) => rank(b) - rank(a))[0];
}

export const MAX_KEYWORD_LENGTH = 100;
