import { ApiError, type FieldFault } from './errors.ts';

/** The part of a @mantine/form form that errors need. */
export type AnyForm = {
  setErrors(errors: Record<string, string>): void;
  getValues(): Record<string, unknown>;
};

/** The field path in the notation of @mantine/form, which has a dot and no brackets around an index. */
const pathOf = (field: string): string => field.replaceAll(/\[(\d+)\]/g, '.$1');

/**
 * The form field that shows an error of this field: the field itself or its nearest ancestor; undefined if there is
 * none.
 */
function nearestField(values: Record<string, unknown>, field: string): string | undefined {
  const path = pathOf(field);
  const top = path.split('.', 1)[0] ?? '';
  if (!(top in values)) return undefined;
  return typeof values[top] === 'object' && values[top] !== null && !Array.isArray(values[top]) ? path : top;
}

/**
 * Shows the server's field errors at the fields of a form. Returns true if every error found its field, so that
 * nothing else needs to be shown.
 */
export function setFieldErrors(form: AnyForm, error: unknown): boolean {
  if (!(error instanceof ApiError) || error.details.length === 0) return false;
  const values = form.getValues();
  const owned = error.details.map((fault): [string | undefined, FieldFault] => [
    nearestField(values, fault.field),
    fault,
  ]);
  const errors: Record<string, string> = {};
  for (const [owner, { message }] of owned) {
    if (owner !== undefined) errors[owner] = errors[owner] ? `${errors[owner]}; ${message}` : message;
  }
  form.setErrors(errors);
  return owned.every(([owner]) => owner !== undefined);
}
