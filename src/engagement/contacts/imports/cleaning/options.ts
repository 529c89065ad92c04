/** Handling of a column with whole names: kept as it is, or split into first and last name. */
export const NAME_ORDERS = ['keep', 'firstLast', 'lastFirst'] as const;
export type NameOrder = (typeof NAME_ORDERS)[number];

/** Cells of a row, by their columns from 1, that replace those of the file. */
export type Edit = { readonly line: number; readonly cells: Readonly<Record<string, string>> };

/** Options for cleaning faulty values of a file. Without them, each faulty value rejects its row. */
export type Cleaning = {
  readonly names: NameOrder;
  /** Fields whose faulty values are dropped (`email`, `customFields.born`); `row`: cells beyond the last column. */
  readonly drop: readonly string[];
  /** Countries (ISO 3166-1 alpha-2), in this order, for numbers that cannot be read with the country of the file. */
  readonly countries: readonly string[];
  /** True if numbers that have no plus and are not valid in the country may begin with a country code. */
  readonly plus: boolean;
  /** True if a number is searched for in a cell that has other text. */
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
