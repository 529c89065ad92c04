import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LANGUAGES } from '../src/api/data.ts';
import { ACTIONS } from '../src/security/entry.ts';

const ROOT = join(import.meta.dirname, '../..');
const TEXTS = join(ROOT, 'web/src/security');
const sources = globSync('src/**/*.ts', { cwd: ROOT })
  .filter((file) => !file.endsWith('.test.ts'))
  .map((file) => readFileSync(join(ROOT, file), 'utf8'));

/** Actions of operators on the gateway itself, which are in no account's log. */
const OF_THE_GATEWAY = [
  'alert',
  'alert-rule',
  'alert-target',
  'connection',
  'cost',
  'lookup',
  'price',
  'route',
  'route-policy',
  'sender-rule',
  'sending',
];
/** Names of that form that are no actions: kinds of jobs, columns and hosts. Types of events are none either. */
const OTHERS = [
  'ada.example',
  'contact.import',
  'erasures.carry',
  'inbox.auto-answer',
  'lists.id',
  'password.reset',
  'person.erasure',
  'proof.at',
];
const EVENTS = Object.keys(JSON.parse(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8')).webhooks);

/** The actions whose last part is a variable in the source. */
const COMPOSED: Readonly<Record<string, readonly string[]>> = {
  consent: ['in', 'out'],
  invitation: ['create', 'resend', 'revoke'],
};

const WORDS = String.raw`[a-z]{2,}(?:-[a-z]+)*`;
/** Names of files have the same form. */
const LITERAL = new RegExp(String.raw`'(${WORDS}\.(?!json')${WORDS})'`, 'g');
const COMPOSING = new RegExp(String.raw`action: ${'`'}(${WORDS})\.\$\{`, 'g');

const found = (pattern: RegExp, texts: readonly string[]): string[] => [
  ...new Set(texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name = '']) => name))),
];

/** The parts of the source that record: helpers take the action as an argument, so a whole file counts. */
const recording = sources.filter((source) => source.includes('recordAudit'));
const isOfAccount = (name: string): boolean => !OF_THE_GATEWAY.includes(name.split('.', 1)[0] ?? '');
const composed = Object.entries(COMPOSED).flatMap(([kind, verbs]) => verbs.map((verb) => `${kind}.${verb}`));
const recorded = [...new Set([...found(LITERAL, recording), ...composed])].filter(
  (name) => isOfAccount(name) && !OTHERS.includes(name) && !EVENTS.includes(name),
);

type Audit = {
  readonly action: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly subject: Readonly<Record<string, string>>;
};
const auditTexts = (language: string): Audit => JSON.parse(readFileSync(join(TEXTS, `${language}.json`), 'utf8')).audit;

test('the actions whose last part is a variable are those listed here', () => {
  expect(found(COMPOSING, recording).sort()).toEqual(Object.keys(COMPOSED));
});

test.each(LANGUAGES)('every action that the program records has a text in %s', (language) => {
  const texts = Object.entries(auditTexts(language).action).flatMap(([kind, verbs]) =>
    Object.keys(verbs).map((verb) => `${kind}.${verb}`),
  );
  expect(recorded.length).toBeGreaterThan(70);
  expect(recorded.filter((action) => !texts.includes(action))).toEqual([]);
});

test.each(LANGUAGES)('every kind of subject that the program records has a text in %s', (language) => {
  const kinds = found(new RegExp(String.raw`subject: ?${'`'}(${WORDS}):`, 'g'), recording).filter(isOfAccount);
  expect(kinds.length).toBeGreaterThan(15);
  expect(kinds.filter((kind) => !(kind in auditTexts(language).subject))).toEqual([]);
});

test('the audit log can be filtered by every action that the program records', () => {
  expect(recorded.filter((action) => !ACTIONS.some((known) => known === action))).toEqual([]);
});
