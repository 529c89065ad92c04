import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { packagesOf } from './release-sbom.ts';

const run = promisify(execFile);
const SCRIPT = join(import.meta.dirname, 'release-sbom.ts');

type Component = { readonly name: string; readonly version: string; readonly hashes?: readonly object[] };

test('the bill of materials names exactly the packages of the server, with their hashes, without a network', async () => {
  const { stdout } = await run(process.execPath, [SCRIPT], {
    maxBuffer: 2 ** 26,
    env: { ...process.env, npm_config_registry: 'http://127.0.0.1:9' },
  });
  const { bomFormat, metadata, components, dependencies } = JSON.parse(stdout);
  expect(bomFormat).toBe('CycloneDX');
  expect(metadata.component).toMatchObject({ name: 'heliograph', version: packageJson.version });
  const named = components.map(({ name, version }: Component) => `${name} ${version}`).toSorted();
  const locked = packagesOf(JSON.parse(readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8')));
  expect(named).toEqual([...locked].toSorted());
  const own = { ...packageJson.dependencies, ...packageJson.optionalDependencies };
  expect(Object.entries(own).filter(([name, version]) => !named.includes(`${name} ${version}`))).toEqual([]);
  // Both need it: npm alone would leave it out.
  expect(named.join()).toContain('pg-protocol ');
  expect(named.filter((name: string) => name.startsWith('vitest '))).toEqual([]);
  expect(components.filter(({ hashes = [] }: Component) => hashes.length === 0)).toEqual([]);
  expect(dependencies).toHaveLength(components.length + 1);
});
