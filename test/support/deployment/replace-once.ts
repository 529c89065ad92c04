/**
 * Replaces each key in the text of a file by its value. Throws if one does not occur exactly once: the file has changed.
 *
 * @param name of the file, for the error
 */
export const replaceOnce = (name: string, text: string, replacements: Readonly<Record<string, string>>): string =>
  Object.entries(replacements).reduce((changed, [from, to]) => {
    const parts = changed.split(from);
    if (parts.length !== 2) throw new Error(`${name} has "${from}" ${parts.length - 1} times`);
    return parts.join(to);
  }, text);
