import { useLocalStorage } from '@mantine/hooks';
import { useRouterState } from '@tanstack/react-router';
import { useSession } from '../api/session.ts';

/** A named state of a page's URL: its filters and their order. */
export type View = { readonly name: string; readonly search: Readonly<Record<string, string>> };

const isView = (given: unknown): given is View =>
  typeof given === 'object' &&
  given !== null &&
  'name' in given &&
  typeof given.name === 'string' &&
  'search' in given &&
  typeof given.search === 'object' &&
  given.search !== null &&
  Object.values(given.search).every((value) => typeof value === 'string');

/** Reads stored views; entries in another format are ignored. */
export function readViews(stored: unknown): readonly View[] {
  return Array.isArray(stored) ? stored.filter(isView) : [];
}

/** The views after one was saved; one of the same name is replaced. They are in the order of their names. */
export const withView = (views: readonly View[], view: View): readonly View[] =>
  [...views.filter(({ name }) => name !== view.name), view].toSorted((a, b) => a.name.localeCompare(b.name));

/**
 * The views of the current page, kept in this browser for each user and account: the lists of two accounts have
 * different contents. The page number is not part of a view.
 */
export function useViews() {
  const { account, user } = useSession();
  const { pathname, search } = useRouterState({ select: ({ location }) => location });
  const [stored, setStored] = useLocalStorage<unknown>({
    key: `heliograph-views-${account.id}-${user.username}-${pathname}`,
    defaultValue: [],
    getInitialValueInEffect: false,
  });
  const views = readViews(stored);
  const kept = Object.entries(search as Readonly<Record<string, unknown>>).filter(([name]) => name !== 'page');
  const texts = Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
  return {
    views,
    save: (name: string) => setStored(withView(views, { name, search: texts })),
    remove: (name: string) => setStored(views.filter((view) => view.name !== name)),
  };
}
