import type { App } from './app.ts';

/**
 * Remembers which methods every path pattern has, for 405 and its Allow header. Call it before the routes are
 * registered. The answer is the union over all patterns that match: where `/list` and `/:id` both exist, `/list`
 * takes the methods of either, as the router does.
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

/** Of a router pattern: `:name` is one segment, `*` the rest; a slash at the end does not count. */
function expression(pattern: string): RegExp {
  const source = pattern
    .replace(/\/$/, '')
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replace(/:\w+/g, '[^/]+');
  return new RegExp(`^${source}/?$`);
}
