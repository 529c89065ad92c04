import type { FieldError } from '../../platform/errors.ts';
import { mediaOf } from './compose.ts';
import { placeholdersOf } from './placeholders.ts';
import type { Placeholder, Sendable } from './template.ts';

/** Values for a template's placeholders: in their order, or by what they are called (`1`, `header.1`, `first_name`). */
export type Given = readonly string[] | Readonly<Record<string, string>>;

export type Filled = { readonly values: readonly string[]; readonly faults: readonly FieldError[] };

/** Puts the values of one send in the order of the placeholders, and says what is wrong with them. */
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

/** A name means the same in header and body; a number does not. */
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
  return missing.map(({ label }) => ({ field: `template.variables.${label}`, message: 'is required and not empty' }));
}

function headerFaults(template: Sendable, headerLink: string | undefined): FieldError[] {
  const media = template.channel === 'WHATSAPP' ? mediaOf(template) : null;
  return media !== null && !(headerLink ?? template.headerLink)
    ? [{ field: 'template.headerLink', message: `is required: the header of this template shows a ${media}` }]
    : [];
}
