import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LANGUAGES } from '../core/mail.ts';
import { CONNECTION_KINDS, kindOf } from './kinds.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/**
 * The program without its carriers and simulators, which know their own protocols, and the platform, which knows no
 * kind.
 */
const PROGRAM = globSync('{src,web/src}/**/*.{ts,tsx}', { cwd: ROOT }).filter(
  (file) => !/^src\/(channels|smpp|sandbox|core)\/|\.test\.ts$/.test(file),
);

type Texts = { readonly [key: string]: string | Texts };
const textAt = (texts: Texts, path: string): string | Texts | undefined =>
  path
    .split('.')
    .reduce<string | Texts | undefined>((at, key) => (typeof at === 'object' ? at[key] : undefined), texts);

describe.each(CONNECTION_KINDS)('the kind %s', (kind) => {
  const { title, settings, secret, callbacks } = kindOf({ kind });

  test.each(LANGUAGES)('has its texts in the console (web/src/operator/%s.json)', (language) => {
    const texts: Texts = JSON.parse(read(`web/src/operator/${language}.json`));
    const tokens = secret.fields.filter(({ generated }) => generated);
    const wanted = [
      ...['name', 'about', 'needs', 'next', ...(callbacks ? ['callback'] : [])].map((key) => `kind.${kind}.${key}`),
      ...tokens.map(({ name }) => `wizard.token.${name}`),
    ];
    expect(wanted.filter((key) => typeof textAt(texts, key) !== 'string')).toEqual([]);
  });

  test.each(LANGUAGES)('has no text in the console for a setting that does not exist (%s)', (language) => {
    const texts: Texts = JSON.parse(read(`web/src/operator/${language}.json`));
    const names = new Set([...settings, ...secret.fields].map(({ name }) => name));
    for (const part of ['setting', 'settingHint'])
      expect(Object.keys(textAt(texts, `${part}.${kind}`) ?? {}).filter((name) => !names.has(name))).toEqual([]);
  });

  test('describes each of its settings and secrets in full sentences', () => {
    const all = [...settings, ...secret.fields];
    expect(all.filter(({ description }) => !/^\S.*\.$/s.test(description)).map(({ name }) => name)).toEqual([]);
  });

  test('is in docs/carriers.md (npm run generate)', () => {
    expect(read('docs/carriers.md')).toContain(`## ${title}\n`);
  });

  test('is compared by its name nowhere: what depends on it is a property of `Kind`', () => {
    const comparison = new RegExp(`([!=]==|case) '${kind}'|includes\\('${kind}'\\)`);
    expect(PROGRAM.filter((file) => comparison.test(read(file)))).toEqual([]);
  });

  test(`has a carrier that runs the conformance suite (src/channels/${kind}/*.test.ts)`, () => {
    const tests = globSync(`src/channels/${kind}{,-sms}/*.test.ts`, { cwd: ROOT });
    expect(tests.filter((file) => /^carrierConformance\(/m.test(read(file)))).not.toEqual([]);
  });
});
