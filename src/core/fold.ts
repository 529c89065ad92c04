/** Characters without a shape: format characters (general category Cf) and variation selectors. */
const INVISIBLE = /[\p{Cf}\p{Variation_Selector}]/gu;

/** Removes characters that are neither seen nor typed: programs and phones add them when a text is copied. */
export const withoutInvisible = (text: string): string => text.replace(INVISIBLE, '');

/** The dot that stays over the i of a lower-cased capital İ. Composed letters with a dot, such as ż, do not have it. */
const DOT_ABOVE = /\u0307/g;

/**
 * Folds a text for comparison with what people type: in lower case and without invisible characters; full-width and
 * other compatibility forms are their plain letters, and I, İ, ı and i are one letter, because keyboards of different
 * languages write the same word with different ones. Accents stay. The function `fold_text` of the database is the
 * same.
 */
export const foldText = (text: string): string =>
  withoutInvisible(text.normalize('NFKC')).toLowerCase().replaceAll('ı', 'i').replace(DOT_ABOVE, '');
