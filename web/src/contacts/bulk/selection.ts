/** The selected contacts: `ids`, or with `all` everything that matches the filters except `ids`. */
export type Selection = { readonly all: boolean; readonly ids: ReadonlySet<number> };

export const NOBODY: Selection = { all: false, ids: new Set() };
export const EVERYBODY: Selection = { all: true, ids: new Set() };

export const isSelected = ({ all, ids }: Selection, id: number): boolean => all !== ids.has(id);

export const countOf = ({ all, ids }: Selection, total: number): number =>
  all ? Math.max(0, total - ids.size) : ids.size;

export function toggled(selection: Selection, id: number): Selection {
  const ids = new Set(selection.ids);
  if (!ids.delete(id)) ids.add(id);
  return { ...selection, ids };
}
