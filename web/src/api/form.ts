import { ApiError, type FieldFault } from './errors.ts';

/** A form of @mantine/form, as far as errors go. */
export type AnyForm = {
  setErrors(errors: Record<string, string>): void;
  getValues(): Record<string, unknown>;
};

/** `rows[0].name` as @mantine/form writes it: `rows.0.name`. */
const pathOf = (field: string): string => field.replaceAll(/\[(\d+)\]/g, '.$1');

/** The field of the form that shows it: the field itself, or the nearest one above it. */
function ownerOf(values: Record<string, unknown>, field: string): string | undefined {
  const path = pathOf(field);
  const top = path.split('.', 1)[0] ?? '';
  if (!(top in values)) return undefined;
  return typeof values[top] === 'object' && values[top] !== null && !Array.isArray(values[top]) ? path : top;
}

/**
 * Puts what the server refuses onto the fields of a form. True when every fault found its field: then nothing else
 * needs saying.
 */
export function takeFaults(form: AnyForm, error: unknown): boolean {
  if (!(error instanceof ApiError) || error.details.length === 0) return false;
  const values = form.getValues();
  const owned = error.details.map((fault): [string | undefined, FieldFault] => [ownerOf(values, fault.field), fault]);
  const errors: Record<string, string> = {};
  for (const [owner, { message }] of owned) {
    if (owner !== undefined) errors[owner] = errors[owner] ? `${errors[owner]}; ${message}` : message;
  }
  form.setErrors(errors);
  return owned.every(([owner]) => owner !== undefined);
}
