import type { HttpSmsSecrets } from './settings.ts';

/**
 * Creates a function that replaces each secret in a text by its name, in every form in which a request can have it.
 * Carriers repeat requests in their errors, and errors are shown to accounts.
 */
export function createHider(
  secrets: HttpSmsSecrets,
  { account = '', username }: { readonly account?: string | undefined; readonly username: string },
): (text: string) => string {
  const user = username.replaceAll('{{account}}', account);
  const forms = Object.entries(secrets)
    .filter(([, value]) => value !== '')
    .flatMap(([name, value]) => formsOf(user, value).map((form) => [name, form] as const))
    // A form may contain another one.
    .toSorted(([, a], [, b]) => b.length - a.length);
  return (text) => forms.reduce((shown, [name, form]) => shown.replaceAll(form, `<${name}>`), text);
}

/** A secret as texts, queries, forms and URLs write it, and as they write a URL that contains it. */
function formsOf(user: string, value: string): string[] {
  const plain = [value, encodeURIComponent(value), inForm(value), inUserInfo(value)];
  const nested = plain.flatMap((form) => [form, encodeURIComponent(form), inForm(form)]);
  const all = [...nested, ...nested.map((form) => JSON.stringify(form).slice(1, -1))];
  return [...new Set([...all, basic(user, value), basic('', value)])];
}

/** Forms and the parameters of a URL encode more characters than `encodeURIComponent`. */
const inForm = (value: string): string => new URLSearchParams([['', value]]).toString().slice(1);

function inUserInfo(value: string): string {
  const url = new URL('https://localhost');
  url.password = value;
  return url.password;
}

const basic = (username: string, password: string): string => Buffer.from(`${username}:${password}`).toString('base64');
