import { Resolver } from 'node:dns';
import { isIP, isIPv6 } from 'node:net';
import { resolve } from 'node:path';
import { missingScopes, type Platform } from './channels.ts';
import { readTls, splitHosts } from './db/database-url.ts';
import { trimCharacter, trimCharacterEnd } from './schema.ts';

/** Throws the error of a rule: like those of all rules here, its message completes the sentence "<KEY> …". */
const must = (what: string): never => {
  throw new Error(`must be ${what}`);
};

/** A parser of texts, with the word for its texts in docs/configuration.md. */
export type Rule<T> = ((value: string) => T) & { readonly type: string };
const rule = <T>(type: string, parse: (value: string) => T): Rule<T> => Object.assign(parse, { type });

export const text = (type: string) => rule(type, (value) => value);
/** Resolves the path of a file or folder. */
export const path = rule('path', (value) => resolve(value));
/** Accepts the path of a folder in a bucket, which then ends with a slash; empty for the bucket itself. */
export const folder = rule('path', (value) => {
  const name = trimCharacter(value, '/');
  return name === '' ? '' : `${name}/`;
});
/** Accepts a whole number within the bounds. */
export const integer = (min: number, max: number) =>
  rule('number', (value) =>
    /^\d{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max
      ? Number(value)
      : must(`a whole number from ${min} to ${max}`),
  );
/** Accepts a whole number of MiB within the bounds, and returns bytes. */
export const mebibytes = (min: number, max: number) => rule('number', (value) => integer(min, max)(value) * 1024 ** 2);
/** Applies a rule, and turns an empty text into undefined. */
export const optional = <T>(parse: Rule<T>) => rule(parse.type, (value) => (value === '' ? undefined : parse(value)));
export const oneOf = <T extends string>(choices: readonly T[]) =>
  rule(
    choices.join(', '),
    (value) => choices.find((choice) => choice === value) ?? must(`one of ${choices.join(', ')}`),
  );

/** Accepts a URL with one of the protocols (such as `https:`). */
export const url = (protocols: readonly string[], example: string) =>
  rule('URL', (value) =>
    protocols.includes(URL.parse(value)?.protocol ?? '') ? value : must(`a URL such as ${example}`),
  );

/**
 * Accepts the URL at which others reach the server, and returns it without a trailing slash: links are made by adding to
 * it, and it is shown, so it has no user, password, query or fragment, and nothing that a parser would drop.
 */
export const publicUrl = rule('URL', (value) => {
  url(['http:', 'https:'], 'https://messages.example.com')(value);
  if (/[\s?#\\\p{Cc}]/u.test(value)) return must('a URL without spaces, query and fragment');
  const { username = '', password = '' } = URL.parse(value) ?? {};
  // The message must not contain the value, which has a password.
  return username === '' && password === '' ? trimCharacterEnd(value, '/') : must('a URL without user and password');
});

/** Accepts a URL of PostgreSQL with one or several hosts and consistent TLS parameters. */
export const databaseUrl = rule('URL', (value) => {
  const isUrl = (one: string): boolean => /^postgres(ql)?:$/.test(URL.parse(one)?.protocol ?? '');
  const example = 'postgres://user:password@host:5432/database, with several hosts as host1:5432,host2:5432';
  // A parser drops line breaks, and joins the text of two lines: perhaps two secrets.
  if (/\p{Cc}/u.test(value)) return must('a single-line URL');
  if (!splitHosts(value).every(isUrl)) return must(`a URL such as ${example}`);
  readTls(value);
  return value;
});

/** Parses the databases of several cells, as number=URL separated by spaces. */
export const cellDatabases = rule('list', (value): ReadonlyMap<number, string> => {
  const databases = new Map<number, string>();
  for (const part of value.split(/\s+/).filter((one) => one !== '')) {
    const [, number, address] = /^(\d{1,4})=(.+)$/.exec(part) ?? [];
    // The message must not contain the value: URLs contain passwords.
    if (number === undefined || address === undefined || Number(number) > 8190 || databases.has(Number(number)))
      return must('one number=URL for each cell, such as 0=postgres://user:password@host/name, separated by spaces');
    databases.set(Number(number), databaseUrl(address));
  }
  return databases;
});

function isAddressBlock(value: string): boolean {
  const [address = '', bits, ...rest] = value.split('/');
  if (isIP(address) === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (isIPv6(address) ? 128 : 32));
}

/** Parses comma-separated IP addresses and CIDR blocks. */
export const addressBlocks = rule('list', (value): readonly string[] => {
  const blocks = value
    .split(',')
    .map((block) => block.trim())
    .filter((block) => block !== '');
  const wrong = blocks.find((block) => !isAddressBlock(block));
  return wrong === undefined ? blocks : must(`comma-separated IP addresses or CIDR blocks; "${wrong}" is neither`);
});

/** Parses comma-separated ports. */
export const ports = rule('list', (value): readonly number[] => {
  const numbers = value.split(',').map((port) => (/^\s*\d{1,5}\s*$/.test(port) ? Number(port) : 0));
  return numbers.every((port) => port >= 1 && port <= 65_535)
    ? [...new Set(numbers)]
    : must('comma-separated ports from 1 to 65535');
});

/** Parses comma-separated addresses of name servers, each with an optional port. */
export const nameServers = rule('list', (value): readonly string[] => {
  const servers = value.split(',').flatMap((server) => server.trim() || []);
  try {
    new Resolver().setServers(servers);
    return servers;
  } catch {
    return must('comma-separated addresses such as 192.0.2.1, 192.0.2.1:5353 or [2001:db8::1]:53');
  }
});

/** Tags that the gateway itself writes or reads: payload, segments, receipts, and the client's own id of a message. */
const OWN_TLV_TAGS: ReadonlySet<number> = new Set([
  0x001e, 0x020c, 0x020e, 0x020f, 0x0423, 0x0424, 0x0425, 0x0427, 0x3fe0,
]);

/** Parses comma-separated tags of optional parameters in hexadecimal; empty for none. */
export const tlvTags = rule('list', (value): ReadonlySet<number> => {
  const names = value.split(',').flatMap((name) => name.trim() || []);
  const tags = names.map((name) => (/^0x[0-9a-f]{1,4}$/i.test(name) ? Number(name) : 0));
  const wrong = names.find((_, i) => tags[i] === 0 || OWN_TLV_TAGS.has(tags[i] ?? 0));
  return wrong === undefined
    ? new Set(tags)
    : must(
        `comma-separated tags such as 0x1400, of parameters that the gateway does not use itself; "${wrong}" is not one`,
      );
});

/** Parses OAuth scopes, separated by commas or spaces: the required ones of the network must be among them. */
export const scopesOf = (platform: Platform) =>
  rule('list', (value): readonly string[] => {
    const scopes = [...new Set(value.split(/[\s,]+/).filter((scope) => scope !== ''))];
    const wrong = scopes.find((scope) => !/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/.test(scope));
    if (wrong !== undefined) return must(`comma-separated scopes; "${wrong}" is not one`);
    const missing = missingScopes(platform, scopes);
    return missing.length === 0 ? scopes : must(`scopes that include ${missing.join(' and ')}`);
  });

export const matching = (type: string, pattern: RegExp, example: string) =>
  rule(type, (value) => (pattern.test(value) ? value : must(`such as ${example}`)));

/** Accepts a plain mail address without a name. */
export const mailAddress = rule('address', (value) =>
  value.length <= 254 && /^[^\s<>@,;:"()]{1,64}@[^\s<>@,;:"()]{1,253}$/.test(value)
    ? value
    : must('an email address such as messages@example.com'),
);

/** Decodes a 256-bit key in hex or base64url. */
export const secretKey = rule('key', (value) => {
  const bytes = Buffer.from(value, /^[0-9a-f]{64}$/i.test(value) ? 'hex' : 'base64url');
  // The message must not contain the value, which would end up in a log.
  return bytes.length === 32 ? bytes : must('32 random bytes in hex (64 digits) or base64url (43 characters)');
});
