import type { FieldError } from '../../platform/errors.ts';
import { mediaOf } from './compose.ts';
import { placeholdersOf } from './placeholders.ts';
import type { Placeholder, Sendable } from './template.ts';

/**
 * The values of a template's placeholders as a client gives them: in their order, or by name (`1`, `header.1`,
 * `first_name`).
 */
export type Given = readonly string[] | Readonly<Record<string, string>>;

export type Filled = { readonly values: readonly string[]; readonly faults: readonly FieldError[] };

/** Puts the values of one send into the order of the placeholders, and returns their errors. */
export function fillTemplate(
  template: Sendable,
  { variables = [], headerLink }: { variables?: Given | undefined; headerLink?: string | undefined },
): Filled {
  const placeholders = placeholdersOf(template);
  const values = isList(variables) ? variables : placeholders.map((p) => valueOf(p, variables));
  return {
    values: values.map((value) => value ?? ''),
    faults: [...valueFaults(template, placeholders, values), ...headerFaults(template, headerLink)],
  };
}

/** Returns the value of a placeholder. A name has the same meaning in header and body; a number does not. */
const valueOf = ({ label, name }: Placeholder, values: Readonly<Record<string, string>>): string | undefined =>
  values[label] ?? (/^\d+$/.test(name) ? undefined : values[name]);

const isList = (given: Given): given is readonly string[] => Array.isArray(given);

function valueFaults(
  { channel }: Sendable,
  placeholders: readonly Placeholder[],
  values: readonly (string | undefined)[],
): FieldError[] {
  const names = placeholders.map(({ label }) => label).join(', ');
  if (values.length !== placeholders.length)
    return [
      { field: 'template.variables', message: `must be ${placeholders.length} (${names}), not ${values.length}` },
    ];
  const missing = placeholders.filter(
    (_, i) => values[i] === undefined || (channel === 'WHATSAPP' && values[i] === ''),
  );
  return missing.map(({ label }) => ({
    field: `template.variables.${label}`,
    message: 'is required and must not be empty',
  }));
}

function headerFaults(template: Sendable, headerLink: string | undefined): FieldError[] {
  const media = template.channel === 'WHATSAPP' ? mediaOf(template) : null;
  return media !== null && !(headerLink ?? template.headerLink)
    ? [{ field: 'template.headerLink', message: `is required: the header of this template shows a ${media}` }]
    : [];
}
