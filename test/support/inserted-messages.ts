import pg from 'pg';
import { vi } from 'vitest';

/** Watches the statements of all pools. Returns a function that ends this and returns how many messages each inserted. */
export function watchInserts(): () => Promise<number[]> {
  const query = vi.spyOn(pg.Client.prototype, 'query');
  return async () => {
    const inserting = query.mock.results.filter((_, i) => {
      const [statement] = query.mock.calls[i] ?? [];
      return (statement as { text?: string } | undefined)?.text?.startsWith('INSERT INTO message ') === true;
    });
    query.mockRestore();
    const results = await Promise.all(inserting.map(({ value }) => value as Promise<pg.QueryResult>));
    return results.map(({ rowCount }) => rowCount ?? 0);
  };
}
