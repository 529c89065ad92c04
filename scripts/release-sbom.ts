// Prints the bill of materials of the server in CycloneDX format, from the lock file alone and without a network:
// `npm run -s release:sbom > heliograph.cdx.json`.
//
// npm 11 leaves out too much with `--omit=dev`: also packages that the server needs, when a development package needs
// them too (30 of 243, pg-protocol among them). So npm lists all, and what only development needs is taken out here.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '..');

type Component = { readonly 'bom-ref': string; readonly name: string; readonly version: string };
type Dependency = { readonly ref: string; readonly dependsOn?: readonly string[] };
type Bom = {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly Dependency[];
};
type Lock = { readonly packages: Readonly<Record<string, { readonly version: string; readonly dev?: boolean }>> };

/** Returns the packages of the server in a lock file, as `name version`. */
export function packagesOf({ packages }: Lock): ReadonlySet<string> {
  const own = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true);
  return new Set(own.map(([path, { version }]) => `${path.split('node_modules/').at(-1)} ${version}`));
}

/** Returns the bill without the components that are not among the packages, and without edges to and from them. */
export function only(bom: Bom, packages: ReadonlySet<string>): Bom {
  const root = { ...bom.metadata.component, name: packageJson.name };
  const components = bom.components.filter(({ name, version }) => packages.has(`${name} ${version}`));
  const refs = new Set([root, ...components].map((component) => component['bom-ref']));
  const dependencies = bom.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) }));
  return { ...bom, metadata: { ...bom.metadata, component: root }, components, dependencies };
}

if (import.meta.main) {
  const args = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'];
  const all: Bom = JSON.parse(execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 }));
  const lock: Lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  process.stdout.write(`${JSON.stringify(only(all, packagesOf(lock)), null, 2)}\n`);
}
