import { type Static, type TSchema, Type } from 'typebox';

/** The query fields of every list: page from 0, limit 10 by default and at most 1,000 (else 400). */
export const PageQuery = Type.Object({
  page: Type.Integer({ minimum: 0, maximum: 1_000_000_000, default: 0, description: 'Page number, from 0.' }),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 10, description: 'Entries per page.' }),
});

/** The fields of `PageQuery`, for lists that also filter or sort: `Type.Object({ ...pageFields, search: … })`. */
export const pageFields = PageQuery.properties;

/** The response schema of every list. */
export const PageOf = <S extends TSchema>(item: S) =>
  Type.Object({
    data: Type.Array(item),
    page: Type.Integer(),
    limit: Type.Integer(),
    total: Type.Integer({ description: 'Exact number of entries on all pages.' }),
  });

export type PageRequest = Static<typeof PageQuery>;
export type Page<T> = PageRequest & { readonly data: T[]; readonly total: number };

/** The OFFSET of a page: the number of rows to skip. */
export const offsetOf = ({ page, limit }: PageRequest): number => page * limit;

/** Builds the response of a list. */
export const pageOf = <T>({ page, limit }: PageRequest, data: T[], total: number): Page<T> => ({
  data,
  page,
  limit,
  total,
});
