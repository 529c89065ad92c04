/** Makes the key of a standing: of a connection, by a policy, in a country. */
export const keyOf = (row: {
  readonly policyId: number;
  readonly connectionId: number;
  readonly country: string;
}): string => `${row.policyId}/${row.connectionId}/${row.country}`;
