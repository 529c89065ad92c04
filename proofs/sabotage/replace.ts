import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/** A piece of a program file's text, and what to put in its place. */
export type Replacement = {
  /** The path of the file from the root of the repository. */
  readonly file: string;
  readonly find: string;
  readonly put: string;
};

/** The changed texts of all sabotages that this process has loaded, by URL. */
export const faultySources = new Map<string, string>();

/**
 * Builds a fault into the program as it is loaded: a module that calls this is loaded before the program
 * (`node --import`). Throws if a text is not found exactly once in its file, so that no sabotage becomes stale unnoticed.
 */
export function sabotage(replacements: readonly Replacement[]): void {
  const faulty = new Map<string, string>();
  for (const { file, find, put } of replacements) {
    const url = new URL(`../../${file}`, import.meta.url);
    const source = faulty.get(url.href) ?? readFileSync(url, 'utf8');
    const [before, after, ...more] = source.split(find);
    if (before === undefined || after === undefined || more.length > 0)
      throw new Error(`${file} must contain this text exactly once: "${find}"`);
    faulty.set(url.href, before + put + after);
  }
  for (const [url, source] of faulty) faultySources.set(url, source);
  registerHooks({
    load(url, context, nextLoad) {
      const source = faulty.get(url);
      return source === undefined
        ? nextLoad(url, context)
        : { format: 'module-typescript', source, shortCircuit: true };
    },
  });
}
