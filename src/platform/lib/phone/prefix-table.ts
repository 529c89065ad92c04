/** A table of values by number prefix, in which the longest matching prefix wins. */
export type PrefixTable<T> = {
  /** Finds the value for a destination, in E.164 with its plus. */
  find(group: string, destination: string): T | undefined;
};

/** Builds the table. The first of several rows with the same group and prefix counts; '' matches every number. */
export function prefixTable<T>(
  rows: readonly { readonly group: string; readonly prefix: string; readonly value: T }[],
): PrefixTable<T> {
  const table = new Map<string, T>();
  for (const { group, prefix, value } of rows.toReversed()) table.set(`${group}/${prefix}`, value);
  // Price lists of carriers have more rows than a call may have arguments.
  const longest = rows.reduce((length, { prefix }) => Math.max(length, prefix.length), 0);
  return {
    find(group, destination) {
      for (let length = Math.min(longest, destination.length - 1); length >= 0; length--) {
        const value = table.get(`${group}/${destination.slice(1, 1 + length)}`);
        if (value !== undefined) return value;
      }
      return undefined;
    },
  };
}
