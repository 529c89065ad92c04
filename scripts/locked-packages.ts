// Packages of package-lock.json, by their places in node_modules.

/** Entry of a package in the lock file. */
export type Locked = {
  readonly version: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
};
export type Lock = { readonly packages: Readonly<Record<string, Locked>> };

/** `node_modules/a/node_modules/@b/c` is `@b/c`. */
export const nameOf = (path: string): string => path.split('node_modules/').at(-1) ?? path;

/** The places of the packages that the server installs: all that not only development needs. */
export const serverPackages = ({ packages }: Lock): string[] =>
  Object.keys(packages).filter((path) => path !== '' && packages[path]?.dev !== true);

/**
 * The places of packages and of all that they depend on, as Node finds them: the nearest `node_modules` counts. What the packages
 * in `without` depend on is left out, and so are peers. Throws for a name that the lock file has not.
 */
export function closureOf(
  lock: Lock,
  names: readonly string[],
  { without = [] }: { readonly without?: readonly string[] } = {},
): string[] {
  const found = new Set<string>();
  const visit = (name: string, from: string): void => {
    const path = find(lock, name, from);
    if (path === undefined) throw new Error(`package-lock.json has no ${name}`);
    if (found.has(path)) return;
    found.add(path);
    if (without.includes(name)) return;
    for (const each of Object.keys(lock.packages[path]?.dependencies ?? {})) visit(each, path);
  };
  for (const name of names) visit(name, '');
  return [...found];
}

function find({ packages }: Lock, name: string, from: string): string | undefined {
  const place = from === '' ? `node_modules/${name}` : `${from}/node_modules/${name}`;
  if (place in packages) return place;
  if (from === '') return undefined;
  return find(
    { packages },
    name,
    from.includes('/node_modules/') ? from.slice(0, from.lastIndexOf('/node_modules/')) : '',
  );
}
