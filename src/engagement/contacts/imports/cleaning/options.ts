/** What becomes of a column with whole names: kept as it is, or split into first and last name. */
export const NAME_ORDERS = ['keep', 'firstLast', 'lastFirst'] as const;
export type NameOrder = (typeof NAME_ORDERS)[number];

/** Cells of a row, by their columns from 1, that replace those of the file. */
export type Edit = { readonly line: number; readonly cells: Readonly<Record<string, string>> };

/** How faulty values of a file are made usable. Without any of it, each of them rejects its row. */
export type Cleaning = {
  readonly names: NameOrder;
  /** The fields whose faulty values are left out (`email`, `customFields.born`); `row`: cells beyond the last column. */
  readonly drop: readonly string[];
  /** Countries (ISO 3166-1 alpha-2) for numbers that cannot be read with that of the file, in this order. */
  readonly countries: readonly string[];
  /** Whether numbers that have no plus, and are none of the country, may begin with a country code. */
  readonly plus: boolean;
  /** Whether a number is looked for in a cell that has other text. */
  readonly extract: boolean;
  readonly edits: readonly Edit[];
};

export const NO_CLEANING: Cleaning = {
  names: 'keep',
  drop: [],
  countries: [],
  plus: false,
  extract: false,
  edits: [],
};
