/** What the interface calls `sort` and `direction`, from one word of the address: `-name` is by name, descending. */
export function orderOf<const S extends string>(sort: string, sortable: readonly S[]) {
  const column = sortable.find((each) => each === sort.replace(/^-/, ''));
  if (column === undefined) return {};
  return { sort: column, direction: sort.startsWith('-') ? ('desc' as const) : ('asc' as const) };
}
