import { between, type RandomSource, oneOf } from '../lib/proof.ts';

/** The query fields that have a meaning, besides the path. */
const FIELDS = ['size', 'account', 'version', 'expires', 'key', 'signature'];
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~%&=+;,/?# \t"\\';

/** What a link means, whatever its spelling: two links with the same meaning are the same link. */
function meaningOf(link: string): string {
  const { pathname, searchParams } = new URL(link, 'http://127.0.0.1');
  const path = decoded(pathname).replace(/\/+$/, '');
  // Exports have only one size.
  const fields = FIELDS.filter((name) => name !== 'size' || path.startsWith('/api/files/'));
  return JSON.stringify([path, ...fields.map((name) => searchParams.getAll(name))]);
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

type Mutation = (run: RandomSource, link: string, others: readonly string[]) => string;

const randomIndex = (run: RandomSource, text: string): number => between(run, 0, text.length - 1);
const randomLetter = (run: RandomSource): string => LETTERS[between(run, 0, LETTERS.length - 1)] ?? 'a';

const withField = (link: string, name: string, change: (value: string) => string): string =>
  link.replace(new RegExp(`([?&]${name}=)([^&]*)`), (_, head: string, value: string) => `${head}${change(value)}`);
const fieldOf = (link: string, name: string): string => new RegExp(`[?&]${name}=([^&]*)`).exec(link)?.[1] ?? '';

/** Mutations that know nothing of the link's structure. */
const BLIND_MUTATIONS: readonly Mutation[] = [
  (run, link) => link.replace(link.charAt(randomIndex(run, link)), randomLetter(run)),
  (run, link) => {
    const i = randomIndex(run, link);
    return link.slice(0, i) + randomLetter(run) + link.slice(i + 1);
  },
  (run, link) => {
    const i = randomIndex(run, link);
    return link.slice(0, i) + link.slice(i + 1);
  },
  (run, link) => {
    const i = randomIndex(run, link);
    return link.slice(0, i) + randomLetter(run) + link.slice(i);
  },
  (run, link) => link.slice(0, between(run, 1, link.length - 1)),
  (run, link) => {
    const [i, j] = [randomIndex(run, link), randomIndex(run, link)].toSorted((a, b) => a - b);
    return (
      link.slice(0, i) +
      (link[j ?? 0] ?? '') +
      link.slice((i ?? 0) + 1, j) +
      (link[i ?? 0] ?? '') +
      link.slice((j ?? 0) + 1)
    );
  },
];

/** Mutations that know the fields of the link. */
const FIELD_MUTATIONS: readonly Mutation[] = [
  (run, link) => withField(link, 'expires', (value) => String(Number(value) + between(run, 1, 1_000_000))),
  (run, link) =>
    withField(link, 'expires', (value) =>
      oneOf(run, [`${value}0`, `9${value}`, '9'.repeat(15), `+${value}`, `${value}.5`]),
    ),
  (run, link) => withField(link, 'version', (value) => String(Number(value) + between(run, 1, 9))),
  (run, link) => withField(link, 'account', (value) => String(Math.max(1, Number(value) + between(run, -3, 3)))),
  (run, link) =>
    withField(link, oneOf(run, FIELDS), () =>
      oneOf(run, ['', '0', 'null', 'undefined', 'NaN', '[]', '1e9', '0x1', '-1']),
    ),
  (run, link) => withField(link, 'key', () => Buffer.alloc(4, between(run, 0, 255)).toString('hex')),
  (run, link) => withField(link, 'signature', (value) => value.slice(0, between(run, 0, value.length - 1))),
  (run, link) =>
    withField(link, 'signature', (value) =>
      oneOf(run, [
        value.toUpperCase(),
        value.toLowerCase(),
        `${value}=`,
        Buffer.from(value, 'base64url').toString('hex'),
      ]),
    ),
  (run, link) => withField(link, 'signature', (value) => value.slice(0, -1) + randomLetter(run)),
  (run, link, others) => withField(link, 'signature', () => fieldOf(oneOf(run, others), 'signature')),
  (run, link, others) => `${oneOf(run, others).split('?', 1)[0]}?${link.split('?')[1]}`,
  (_, link) => (link.includes('size=') ? link.replace('size=thumbnail&', '') : link.replace('?', '?size=thumbnail&')),
  (run, link) => `${link}&${oneOf(run, FIELDS.slice(1))}=${between(run, 0, 9)}`,
  (run, link) => {
    const name = oneOf(run, FIELDS.slice(1));
    return `${link}&${name}=${fieldOf(link, name)}`;
  },
  (run, link) => link.replace(`${oneOf(run, FIELDS)}=`, `${oneOf(run, FIELDS)}=`),
  (run, link) => link.replace(`${oneOf(run, FIELDS)}=`, (field) => `${field.slice(0, -1)}[]=`),
];

/**
 * Whether a mutation can be requested and differs in meaning from the link. The root is left out: it names the program to
 * anybody, so its 200 says nothing about links.
 */
function isAnotherLink(mutation: string, link: string): boolean {
  if (!mutation.startsWith('/') || !URL.canParse(mutation, 'http://127.0.0.1')) return false;
  return new URL(mutation, 'http://127.0.0.1').pathname !== '/' && meaningOf(mutation) !== meaningOf(link);
}

/** Returns a link with another meaning, made from this one. `others` are links whose parts may be borrowed. */
export function mutate(run: RandomSource, link: string, others: readonly string[]): string {
  for (;;) {
    const mutation = oneOf(run, run.random.chance(0.5) ? BLIND_MUTATIONS : FIELD_MUTATIONS)(run, link, others);
    if (isAnotherLink(mutation, link)) return mutation;
  }
}
