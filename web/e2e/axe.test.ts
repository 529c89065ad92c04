import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { until } from '../../test/support/until.ts';
import { RULES } from './check-page.ts';
import { openSite, type Person, type Site, type Window } from './harness.ts';
import { settle } from './settle.ts';
import type { Watch } from './watch.ts';

type Listed = {
  readonly path: string;
  readonly need?: { readonly operator?: boolean; readonly scope?: string; readonly write?: boolean };
};

/** Imported by URL, because its types belong to the project of the browser code (web/tsconfig.json). */
const LIST = new URL('../src/pages.ts', import.meta.url).href;
const { PAGES } = (await import(LIST)) as { readonly PAGES: readonly Listed[] };

/** Pages about a single item are checked in the tests of their features. */
const WALKED = PAGES.filter(({ path }) => !path.includes('$'));
const OF_ACCOUNT = WALKED.filter(({ need }) => need?.operator !== true);
const OF_OPERATOR = WALKED.filter(({ need }) => need?.operator === true);

let site: Site;
// About thirty pages in a row.
vi.setConfig({ testTimeout: 600_000 });

beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

async function open(page: Page, path: string): Promise<void> {
  await page.goto(site.url(path));
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await settle(page);
}

/** All rules in the light scheme; in the dark one only contrast, since only colours differ. */
async function violations(page: Page, scheme: 'light' | 'dark'): Promise<readonly string[]> {
  const axe = new AxeBuilder({ page });
  const rules = scheme === 'light' ? axe.withTags(RULES) : axe.withRules(['color-contrast']);
  const { violations: found } = await rules.analyze();
  return found.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${scheme}: ${id}: ${target.join(' ')}`));
}

/** A key shown instead of its text: `column.name`, `ui:close`, `create.open`. File names and URLs are excluded by `NO_KEYS`. */
const KEY = /(?<![\w./@:-])(?:[a-z][\w-]*:)?[a-z][a-zA-Z-]*(?:\.[a-z][a-zA-Z-]*)+(?![\w./@:-])/g;
const NO_KEYS = /\.(?:com|org|net|io|it|example|test|local|csv|xlsx|json|jpg|png|mp4)$|^(?:e\.g|i\.e)$/;

/** Everything on the page that looks like a key or an unfilled placeholder. */
const untranslated = async (page: Page): Promise<readonly string[]> => {
  const said = await page.evaluate<string>(
    `[document.body.innerText, ...[...document.querySelectorAll('[aria-label],[placeholder],[title]')].flatMap((each) =>
      ['aria-label', 'placeholder', 'title'].map((name) => each.getAttribute(name) ?? ''))].join('\\n')`,
  );
  const keys = [...said.matchAll(KEY)].map(([key]) => key).filter((key) => !NO_KEYS.test(key));
  return [...keys, ...(said.match(/\{\{[a-z]\w*\}\}|\[object \w+\]|\bundefined\b/g) ?? [])];
};

/** Checks each page: axe in both themes, no missing text, keyboard access, no errors in the window. */
async function walk({ page, watch }: Window, paths: readonly string[]): Promise<readonly string[]> {
  const faults: string[] = [];
  expectNoWebhook(watch);
  for (const path of paths) {
    await open(page, path);
    const found = [...(await untranslated(page)), ...(await keyboardFaults(page))];
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await settle(page);
      found.push(...(await violations(page, colorScheme)));
    }
    faults.push(...found.map((fault) => `${path}: ${fault}`));
  }
  return [...faults, ...watch.problems()];
}

/** The API answers 404 for an account without a webhook. */
function expectNoWebhook(watch: Watch): void {
  watch.expect(/^answer: 404 GET .*\/webhooks\/delivery-status$/);
  watch.expect('console: Failed to load resource: the server responded with a status of 404');
}

/** Whether the focus is in the content and visible: by an outline, or on a field, whose border shows it. */
const FOCUSED = `(() => {
  const at = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(at);
  const shows = (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || at.matches('input, select, textarea');
  return at.closest('main') !== null && shows ? '' : at.tagName + ' ' + at.textContent.trim().slice(0, 40);
})()`;

/** After the skip link, one Tab must reach the first control of the page, with a visible focus. */
async function keyboardFaults(page: Page): Promise<readonly string[]> {
  await page.getByRole('link', { name: 'Skip to content' }).focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  const lost = await page.evaluate<string>(FOCUSED);
  return lost === '' ? [] : [`the focus is at ${lost}`];
}

const pathsOf = (pages: typeof WALKED): string[] => pages.map(({ path }) => path);

test('every account page is accessible to an owner and by keyboard, with no text missing', async () => {
  expect(OF_ACCOUNT.length).toBeGreaterThan(10);
  expect(await walk(await site.signIn(), pathsOf(OF_ACCOUNT))).toEqual([]);
});

test('every account page is accessible to a viewer and by keyboard, with no text missing', async () => {
  expect(await walk(await site.signIn(await site.person('viewer')), pathsOf(OF_ACCOUNT))).toEqual([]);
});

test('every operator page is accessible in both themes and by keyboard, with no text missing', async () => {
  expect(OF_OPERATOR.length).toBeGreaterThan(3);
  expect(await walk(await site.signIn(await site.operator()), pathsOf(OF_OPERATOR))).toEqual([]);
});

test('no page lacks a text in Italian, and the language of the document is Italian', async () => {
  const window = await inItalian(await site.operator());
  const faults: string[] = [];
  expectNoWebhook(window.watch);
  for (const path of pathsOf(WALKED)) {
    await open(window.page, path);
    expect(await window.page.locator('html').getAttribute('lang')).toBe('it');
    faults.push(...(await untranslated(window.page)).map((key) => `${path}: ${key}`));
  }
  expect([...faults, ...window.watch.problems()]).toEqual([]);
});

async function inItalian(person: Person): Promise<Window> {
  const window = await site.signIn(person);
  await window.page.getByRole('button', { name: /sign out/ }).click();
  await window.page.getByRole('menuitemradio', { name: 'Italiano' }).click();
  await until('Italian', async () => (await window.page.locator('html').getAttribute('lang')) === 'it');
  return window;
}

test('when the API answers 503 to everything, each page shows the error with the request ID', async () => {
  const { page, watch } = await site.signIn();
  watch.expect('503');
  const body = JSON.stringify({ status: 503, error: 'Service Unavailable', message: 'Try again later' });
  const headers = { 'x-request-id': 'the-request', 'content-type': 'application/json' };
  await page.route(
    (url) => url.pathname.startsWith('/api/') && !url.pathname.endsWith('/v1/session'),
    (route) => route.fulfill({ status: 503, headers, body }),
  );
  for (const path of ['/users', '/security', '/contacts', '/campaigns']) {
    await page.goto(site.url(path));
    await page.getByRole('alert').getByText('the-request').first().waitFor();
    await page.getByRole('button', { name: 'Try again' }).first().waitFor();
  }
  expect(watch.problems()).toEqual([]);
});
