import type { Answer, Init, Path } from './calls.ts';
import type { paths } from './schema.d.ts';

type Query<P extends keyof paths> = paths[P] extends { get: { parameters: { query?: infer Q } } }
  ? NonNullable<Q>
  : never;

/** The paths of lists that are read page by page. */
export type PagedPath = {
  [P in Path<'get'>]: [Query<P>] extends [never] ? never : 'page' extends keyof Query<P> ? P : never;
}[Path<'get'>];

/** An item of the list at this path. */
export type Item<P extends PagedPath> = ItemOf<Answer<'get', P>>;
type ItemOf<A> = A extends { data: readonly (infer T)[] } ? T : A extends readonly (infer T)[] ? T : never;

/** The options of `get` without the page; `limit` is the page size (default 200, at most 1,000). */
export type PageInit<P extends PagedPath> = WithoutPage<Init<'get', P>>;
type WithoutPage<I> = I extends { params: infer T }
  ? Omit<I, 'params'> & { params: WithoutPageIn<T> }
  : I extends { params?: infer T }
    ? Omit<I, 'params'> & { params?: WithoutPageIn<NonNullable<T>> }
    : I;
type WithoutPageIn<T> = T extends { query: infer Q }
  ? Omit<T, 'query'> & { query: Omit<Q, 'page'> }
  : T extends { query?: infer Q }
    ? Omit<T, 'query'> & { query?: Omit<NonNullable<Q>, 'page'> }
    : T;

type UntypedInit = { params?: { query?: { limit?: number } } };
type ReadPage = (init: object) => Promise<unknown>;

const PAGE_SIZE = 200;

/**
 * Yields every page of a list that is not empty, from the first one on. The next page is requested after the current
 * one was consumed.
 */
export async function* listPages(read: ReadPage, init: UntypedInit = {}): AsyncGenerator<unknown[], void, undefined> {
  const { params } = init;
  const limit = params?.query?.limit ?? PAGE_SIZE;
  for (let page = 0; ; page++) {
    const { items, total } = readPage(
      await read({ ...init, params: { ...params, query: { ...params?.query, limit, page } } }),
    );
    if (items.length > 0) yield items;
    if (items.length < limit || (page + 1) * limit >= total) return;
  }
}

/** Most pages are objects with a total; those of the history are plain arrays. */
function readPage(answer: unknown): { items: unknown[]; total: number } {
  if (Array.isArray(answer)) return { items: answer, total: Infinity };
  const { data, total }: { data?: unknown; total?: unknown } = Object(answer);
  return { items: Array.isArray(data) ? data : [], total: Number(total) };
}
