import { readFile } from 'node:fs/promises';
import { invalidFields } from '../../../platform/errors.ts';
import type { SecretReader } from '../../../platform/secret-input.ts';

/**
 * Reads `name=value` pairs: `window=5` is a number, `tls=true` a boolean, `phoneNumberIds=["1","2"]` a list,
 * `answer={"id":"/id"}` an object, `appId="5"` a text, and so is everything else.
 */
const readSettings = (pairs: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(
    pairs.map((pair) => {
      const [name = '', ...rest] = pair.split('=');
      const value = rest.join('=');
      if (value === 'true' || value === 'false') return [name, value === 'true'];
      if (/^[[{"]/.test(value)) return [name, readJson(value)];
      return [name, /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value];
    }),
  );

/**
 * Divides `name=value` pairs into settings and fields of the secret, which are texts and are named in `secretNames`.
 */
export function divideSettings(
  pairs: readonly string[],
  secretNames: ReadonlySet<string>,
): { settings: Record<string, unknown>; secret: Record<string, string> } {
  const isSecret = (pair: string): boolean => secretNames.has(pair.split('=', 1)[0] ?? '');
  const secret = pairs.filter(isSecret).map((pair): [string, string] => {
    const [name = '', ...rest] = pair.split('=');
    return [name, rest.join('=')];
  });
  return { settings: readSettings(pairs.filter((pair) => !isSecret(pair))), secret: Object.fromEntries(secret) };
}

/** Reads the secrets of `name=value` pairs: `name=@PATH` from a file, `name=-` from standard input or a prompt. */
export async function readPairs(
  secrets: SecretReader,
  pairs: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const read: Record<string, string> = {};
  for (const [name, value] of Object.entries(pairs)) read[name] = await secrets.ofPair(name, value);
  return read;
}

/** Parses JSON; invalid JSON stays a text, which the validation of that setting then rejects. */
function readJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** Reads a file with one JSON object. Errors: 400 naming the option. */
export async function readJsonFile(option: string, path: string): Promise<Record<string, unknown>> {
  const text = await readFile(path, 'utf8').catch((cause: Error) => refuse(option, cause.message));
  const json: unknown = await new Response(text).json().catch(() => refuse(option, 'the file is not JSON'));
  return typeof json === 'object' && json !== null
    ? { ...json }
    : refuse(option, 'the file must contain one JSON object');
}

function refuse(field: string, message: string): never {
  throw invalidFields([{ field, message }]);
}
