/** Maximum price of a campaign, and its parts. Amounts are null for users who may not see them. */
export type Price = {
  readonly currency: string;
  readonly price: number | null;
  readonly breakdown: readonly {
    readonly channel: string;
    /** ISO 3166-1 alpha-2; empty if the numbers belong to no country. */
    readonly country: string;
    readonly parts: number;
    readonly count: number;
    readonly unitPrice: number | null;
    readonly price: number | null;
  }[];
};
