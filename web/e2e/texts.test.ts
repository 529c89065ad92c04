import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { IMPORTED_FIELDS, PLACEHOLDERS } from '../../src/contacts/contact-fields.ts';
import { CHECKS } from '../../src/operate/doctor-checks.ts';
import { CONNECTION_KINDS, kindOf } from '../../src/routing/kinds.ts';
import { LANGUAGES } from '../src/api/data.ts';

const SRC = join(import.meta.dirname, '../src');
const features = globSync('*/en.json', { cwd: SRC }).map((file) => dirname(file));

type Texts = { readonly [key: string]: string | Texts };

const read = (feature: string, language: string): Texts =>
  JSON.parse(readFileSync(join(SRC, feature, `${language}.json`), 'utf8'));

/** The keys of all texts, such as `create.open`. */
const keysOf = (texts: Texts, above = ''): string[] =>
  Object.entries(texts).flatMap(([key, value]) =>
    typeof value === 'string' ? [`${above}${key}`] : keysOf(value, `${above}${key}.`),
  );
/** A key without its plural suffix, which differs between languages. */
const withoutPlural = (key: string): string => key.replace(/_(zero|one|two|few|many|other)$/, '');
const keys = (feature: string, language: string): string[] => [
  ...new Set(keysOf(read(feature, language)).map(withoutPlural)),
];

const textAt = (texts: Texts, key: string): string => {
  const found = key
    .split('.')
    .reduce<string | Texts | undefined>((at, part) => (typeof at === 'object' ? at[part] : undefined), texts);
  return typeof found === 'string' ? found : '';
};
const placeholders = (text: string): string[] =>
  [...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name = '']) => name).sort();

test('there are texts', () => {
  expect(features.length).toBeGreaterThan(3);
});

test.each(features)('%s has the same keys in every language', (feature) => {
  for (const language of LANGUAGES)
    expect(keys(feature, language).sort(), language).toEqual(keys(feature, 'en').sort());
});

test.each(LANGUAGES)('every check of the doctor has a name in %s', (language) => {
  const texts = read('operator', language);
  expect(CHECKS.filter((name) => textAt(texts, `health.finding.${name}`) === '')).toEqual([]);
});

test.each(LANGUAGES)('every field of contacts has a name in %s', (language) => {
  const texts = read('ui', language);
  const fields = [...IMPORTED_FIELDS, ...PLACEHOLDERS];
  expect(fields.filter((name) => textAt(texts, `contactField.${name}`) === '')).toEqual([]);
});

test.each(LANGUAGES)('every setting, secret and choice of a connection has its texts in %s', (language) => {
  const texts = read('operator', language);
  const wanted = CONNECTION_KINDS.flatMap((kind) => {
    const { settings, secret } = kindOf({ kind });
    const names = [...settings, ...secret.fields].map(({ name }) => `${kind}.${name}`);
    return [
      ...names.flatMap((name) => [`setting.${name}`, `settingHint.${name}`]),
      ...settings.flatMap(({ name, options }) => options.map((option) => `settingOption.${name}.${option}`)),
    ];
  });
  expect(wanted.filter((key) => textAt(texts, key) === '')).toEqual([]);
});

test.each(features)('%s has every plural of its language', (feature) => {
  for (const language of LANGUAGES) {
    const all = keysOf(read(feature, language));
    const wanted = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
    const counted = new Set(all.filter((key) => withoutPlural(key) !== key).map(withoutPlural));
    for (const key of counted)
      for (const category of wanted) expect(all, `${language} of ${feature}`).toContain(`${key}_${category}`);
  }
});

test.each(features)('%s has the same placeholders in every language', (feature) => {
  const en = read(feature, 'en');
  for (const language of LANGUAGES) {
    const texts = read(feature, language);
    const shared = keysOf(en).filter((key) => textAt(texts, key) !== '' && withoutPlural(key) === key);
    for (const key of shared)
      expect(placeholders(textAt(texts, key)), `${key} in ${language}`).toEqual(placeholders(textAt(en, key)));
  }
});

test('every text that a page names by a literal key exists', () => {
  const missing: string[] = [];
  const known = new Map(features.map((feature) => [feature, new Set(keys(feature, 'en'))]));
  for (const file of globSync('**/*.{ts,tsx}', { cwd: SRC })) {
    const source = readFileSync(join(SRC, file), 'utf8');
    const hooks = [...source.matchAll(/useTranslation\('([\w-]+)'\)/g)];
    const direct = [...source.matchAll(/\bt\(\s*'([^']+)'/g)].map(({ 1: named = '', index }) => ({ named, index }));
    const ofQuestions = [...source.matchAll(/\bquestionTexts\(t, '([^']+)'/g)].flatMap(({ 1: key, index }) =>
      ['title', 'text', 'submit', 'done'].map((part) => ({ named: `${key}.${part}`, index })),
    );
    for (const { named, index } of [...direct, ...ofQuestions]) {
      // Each component takes its `t` before it uses it.
      const own = hooks.findLast((hook) => hook.index < index) ?? hooks[0];
      const [feature = '', key = ''] = named.includes(':') ? named.split(':', 2) : [own?.[1] ?? '', named];
      if (!known.get(feature)?.has(withoutPlural(key))) missing.push(`${file}: ${feature}:${key}`);
    }
  }
  expect(missing).toEqual([]);
});

test('no page writes markup', () => {
  for (const file of globSync('**/*.{ts,tsx}', { cwd: SRC })) {
    if (basename(file) === 'trusted-types.ts') continue;
    expect(readFileSync(join(SRC, file), 'utf8'), file).not.toMatch(
      /dangerouslySetInnerHTML|\.innerHTML|insertAdjacentHTML/,
    );
  }
});
