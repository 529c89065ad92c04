/** A column, as far as it can be shown and hidden. */
export type Choosable = { readonly id: string; readonly header: string; readonly hidden?: boolean };

export type ColumnChoiceProps = {
  readonly columns: readonly Choosable[];
  readonly hidden: ReadonlySet<string>;
  readonly setHidden: (ids: ReadonlySet<string>) => void;
};
