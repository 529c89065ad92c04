import type { App } from './app.ts';

/**
 * Collects the methods of every route, for 405 and its Allow header. Call it before the routes are registered. The
 * returned function returns the union over all matching patterns: if `/list` and `/:id` both exist, `/list` has the
 * methods of both, as in the router.
 */
export function collectMethods(app: App): (path: string) => readonly string[] {
  const patterns = new Map<string, { readonly matches: RegExp; readonly methods: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    const entry = patterns.get(url) ?? { matches: expression(url), methods: new Set<string>() };
    for (const each of [method].flat()) entry.methods.add(each);
    patterns.set(url, entry);
  });
  return (path) => {
    const matching = [...patterns.values()].filter((pattern) => pattern.matches.test(path));
    return [...new Set(matching.flatMap((pattern) => [...pattern.methods]))].sort();
  };
}

/** Turns a router pattern into an expression: `:name` is one segment, `*` the rest; a trailing slash is ignored. */
function expression(pattern: string): RegExp {
  const source = pattern
    .replace(/\/$/, '')
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replace(/:\w+/g, '[^/]+');
  return new RegExp(`^${source}/?$`);
}
