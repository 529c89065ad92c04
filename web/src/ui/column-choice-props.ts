/** A column that can be shown and hidden. */
export type HideableColumn = { readonly id: string; readonly header: string; readonly hidden?: boolean };

export type ColumnChoiceProps = {
  readonly columns: readonly HideableColumn[];
  readonly hidden: ReadonlySet<string>;
  readonly setHidden: (ids: ReadonlySet<string>) => void;
};
