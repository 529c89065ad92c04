import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { expect, test } from 'vitest';
import { refresh } from './refresh.ts';

/** A visible list for whose loads the test returns the responses, one after the other. */
function openList() {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const loads: PromiseWithResolvers<string>[] = [];
  const observer = new QueryObserver(queries, {
    queryKey: ['media', { page: 1 }],
    queryFn() {
      const load = Promise.withResolvers<string>();
      loads.push(load);
      return load.promise;
    },
  });
  const close = observer.subscribe(() => undefined);
  return { queries, loads, shown: () => observer.getCurrentResult().data, [Symbol.dispose]: close };
}

test('a change during the first load is shown, although that load began before it', async () => {
  using list = openList();
  const refreshed = refresh(list.queries, ['media']);
  list.loads[0]?.resolve('before the change');
  await expect.poll(() => list.loads.length).toBe(2);
  list.loads[1]?.resolve('after it');
  await refreshed;
  expect(list.shown()).toBe('after it');
});

test('a list that is loaded is fetched again once, and other lists are not', async () => {
  using list = openList();
  list.loads[0]?.resolve('before the change');
  await expect.poll(list.shown).toBe('before the change');
  await refresh(list.queries, ['contacts']);
  expect(list.loads.length).toBe(1);
  const refreshed = refresh(list.queries, ['media']);
  list.loads[1]?.resolve('after it');
  await refreshed;
  expect([list.shown(), list.loads.length]).toEqual(['after it', 2]);
});
