import { invalidFields } from '../../platform/errors.ts';
import { placeholdersOf } from './placeholders.ts';
import type { Sendable } from './template.ts';

/**
 * Returns the contact fields of a template's placeholders: those given, otherwise the names of the placeholders, or
 * none when these are numbers. Errors: 400 when the number of given fields is not that of the placeholders.
 */
export function variablesFor(
  template: Pick<Sendable, 'channel' | 'content'>,
  given: readonly string[] | undefined,
): readonly string[] {
  const placeholders = placeholdersOf(template);
  if (given && given.length !== placeholders.length) {
    const labels = placeholders.map(({ label }) => label).join(', ');
    throw invalidFields([
      { field: 'variables', message: `must be ${placeholders.length}, one for each placeholder (${labels})` },
    ]);
  }
  if (given) return given;
  const names = placeholders.map(({ name }) => name);
  return names.every((name) => !/^\d+$/.test(name)) ? names : [];
}
