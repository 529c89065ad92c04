import { invalidFields } from '../../platform/errors.ts';

/** The name of an account, without blanks around it. Errors: 400 when it is empty or longer than 200 characters. */
export function readName(text: string): string {
  const name = text.trim();
  if (name === '' || name.length > 200 || name.includes('\0'))
    throw invalidFields([{ field: 'name', message: 'must have 1 to 200 characters' }]);
  return name;
}
