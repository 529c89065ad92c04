import { type Static, type TSchema, Type } from 'typebox';

/** The query fields of every list (contract 1): page from 0, limit 10 unless said, at most 1,000 (beyond: 400). */
export const PageQuery = Type.Object({
  page: Type.Integer({ minimum: 0, maximum: 1_000_000_000, default: 0, description: 'From 0.' }),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 10, description: 'Entries on a page.' }),
});

/** Lists that filter and sort besides: `Type.Object({ ...pageFields, search: … })`. */
export const pageFields = PageQuery.properties;

/** The answer of every list. */
export const PageOf = <S extends TSchema>(item: S) =>
  Type.Object({
    data: Type.Array(item),
    page: Type.Integer(),
    limit: Type.Integer(),
    total: Type.Integer({ description: 'Entries on all pages, exact.' }),
  });

export type PageRequest = Static<typeof PageQuery>;
export type Page<T> = PageRequest & { readonly data: T[]; readonly total: number };

/** For SQL: how many rows to leave out. */
export const offsetOf = ({ page, limit }: PageRequest): number => page * limit;

export const pageOf = <T>({ page, limit }: PageRequest, data: T[], total: number): Page<T> => ({
  data,
  page,
  limit,
  total,
});
