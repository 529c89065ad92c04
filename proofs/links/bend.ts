import { between, type Chance, oneOf } from '../proof.ts';

/** The parts of a link that mean something: its path and these fields of its query. */
const FIELDS = ['size', 'account', 'version', 'expires', 'key', 'signature'];
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~%&=+;,/?# \t"\\';

/** Where a link leads, whatever its spelling: two links of one meaning are the same link. */
function meaningOf(link: string): string {
  const { pathname, searchParams } = new URL(link, 'http://127.0.0.1');
  const path = decoded(pathname).replace(/\/+$/, '');
  // Of an export there is one size only.
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

type Bend = (run: Chance, link: string, others: readonly string[]) => string;

const at = (run: Chance, text: string): number => between(run, 0, text.length - 1);
const letter = (run: Chance): string => LETTERS[between(run, 0, LETTERS.length - 1)] ?? 'a';

const withField = (link: string, name: string, change: (value: string) => string): string =>
  link.replace(new RegExp(`([?&]${name}=)([^&]*)`), (_, head: string, value: string) => `${head}${change(value)}`);
const fieldOf = (link: string, name: string): string => new RegExp(`[?&]${name}=([^&]*)`).exec(link)?.[1] ?? '';

/** Without knowing what it means… */
const BLIND: readonly Bend[] = [
  (run, link) => link.replace(link.charAt(at(run, link)), letter(run)),
  (run, link) => {
    const i = at(run, link);
    return link.slice(0, i) + letter(run) + link.slice(i + 1);
  },
  (run, link) => {
    const i = at(run, link);
    return link.slice(0, i) + link.slice(i + 1);
  },
  (run, link) => {
    const i = at(run, link);
    return link.slice(0, i) + letter(run) + link.slice(i);
  },
  (run, link) => link.slice(0, between(run, 1, link.length - 1)),
  (run, link) => {
    const [i, j] = [at(run, link), at(run, link)].toSorted((a, b) => a - b);
    return (
      link.slice(0, i) +
      (link[j ?? 0] ?? '') +
      link.slice((i ?? 0) + 1, j) +
      (link[i ?? 0] ?? '') +
      link.slice((j ?? 0) + 1)
    );
  },
];

/** … and as somebody who does. */
const KNOWING: readonly Bend[] = [
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
  (run, link) => withField(link, 'signature', (value) => value.slice(0, -1) + letter(run)),
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

/** Another link, made of this one. */
export function bend(run: Chance, link: string, others: readonly string[]): string {
  for (;;) {
    const bent = oneOf(run, run.random.chance(0.5) ? BLIND : KNOWING)(run, link, others);
    if (URL.canParse(bent, 'http://127.0.0.1') && meaningOf(bent) !== meaningOf(link) && bent.startsWith('/'))
      return bent;
  }
}
