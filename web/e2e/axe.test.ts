import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../src/testing/until.ts';
import { PAGES } from '../src/pages.ts';
import { openSite, type Person, type Site, type Window } from './harness.ts';

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa'];
/** Pages about one thing are checked where there is one. */
const WALKED = PAGES.filter(({ path }) => !path.includes('$'));
const OF_ACCOUNT = WALKED.filter(({ need }) => need?.operator !== true);
const OF_OPERATOR = WALKED.filter(({ need }) => need?.operator === true);

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

/** Nothing loads and nothing moves. Asked from outside: the policy of the page lets no text run. */
const IS_STILL =
  'document.querySelectorAll("[data-animate].mantine-Skeleton-root").length === 0 && ' +
  'document.getAnimations().every((each) => each.playState !== "running" || each.effect.getComputedTiming().endTime === Infinity)';

async function open(page: Page, path: string): Promise<void> {
  await page.goto(site.url(path));
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await until('the page to be still', () => page.evaluate<boolean>(IS_STILL));
}

async function violations(page: Page): Promise<readonly string[]> {
  const { violations: found } = await new AxeBuilder({ page }).withTags(RULES).analyze();
  return found.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`));
}

/** A key in place of its text: `column.name`, `ui:close`, `create.open`; file names and addresses have other ends. */
const KEY = /(?<![\w./@:-])(?:[a-z][\w-]*:)?[a-z][a-zA-Z-]*(?:\.[a-z][a-zA-Z-]*)+(?![\w./@:-])/g;
const NO_KEYS = /\.(?:com|org|net|io|it|example|test|local|csv|xlsx|json|jpg|png|mp4)$|^(?:e\.g|i\.e)$/;

/** What looks like a key, or like a placeholder that nothing was put into. */
const untranslated = async (page: Page): Promise<readonly string[]> => {
  const said = await page.evaluate<string>(
    `[document.body.innerText, ...[...document.querySelectorAll('[aria-label],[placeholder],[title]')].flatMap((each) =>
      ['aria-label', 'placeholder', 'title'].map((name) => each.getAttribute(name) ?? ''))].join('\\n')`,
  );
  const keys = [...said.matchAll(KEY)].map(([key]) => key).filter((key) => !NO_KEYS.test(key));
  return [...keys, ...(said.match(/\{\{.*?\}\}|\[object \w+\]|\bundefined\b/g) ?? [])];
};

/** Each page once: axe in both themes, no key in place of a text, nothing wrong in the window. */
async function walk({ page, watch }: Window, paths: readonly string[]): Promise<readonly string[]> {
  const faults: string[] = [];
  await page.emulateMedia({ reducedMotion: 'reduce' });
  for (const path of paths) {
    await open(page, path);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await until('the page to be still', () => page.evaluate<boolean>(IS_STILL));
      faults.push(...(await violations(page)).map((fault) => `${path}, ${colorScheme}: ${fault}`));
    }
    faults.push(...(await untranslated(page)).map((key) => `${path}: ${key}`));
  }
  return [...faults, ...watch.problems()];
}

const pathsOf = (pages: typeof WALKED): string[] => pages.map(({ path }) => path);

test('every page of an account is accessible to its owner in both themes, with a text for everything', async () => {
  expect(OF_ACCOUNT.length).toBeGreaterThan(10);
  expect(await walk(await site.signIn(), pathsOf(OF_ACCOUNT))).toEqual([]);
});

test('every page is so to a viewer, who is told on each what they may not', async () => {
  expect(await walk(await site.signIn(await site.person('viewer')), pathsOf(OF_ACCOUNT))).toEqual([]);
});

test('every page of the operator is accessible in both themes, with a text for everything', async () => {
  expect(OF_OPERATOR.length).toBeGreaterThan(3);
  expect(await walk(await site.signIn(await site.operator()), pathsOf(OF_OPERATOR))).toEqual([]);
});

test('in Italian no page shows a key in place of a text, and the language of the document is Italian', async () => {
  const window = await inItalian(await site.operator());
  const faults: string[] = [];
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

/** Where the focus is, and whether one sees it: an outline, or a line around it that is not there otherwise. */
const FOCUSED = `(() => {
  const at = document.activeElement;
  const style = getComputedStyle(at);
  const shows = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
  return { inMain: at.closest('main') !== null, tag: at.tagName, name: at.getAttribute('aria-label') ?? at.textContent.trim(), shows };
})()`;
type Focused = { readonly inMain: boolean; readonly tag: string; readonly name: string; readonly shows: boolean };

test('from the skip link one Tab gets to the first thing that can be done on a page, and one sees where one is', async () => {
  const { page, watch } = await site.signIn();
  const unseen: string[] = [];
  for (const path of pathsOf(OF_ACCOUNT)) {
    await open(page, path);
    await page.getByRole('link', { name: 'Skip to the content' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    const { inMain, tag, name, shows } = await page.evaluate<Focused>(FOCUSED);
    // Fields show it by their border.
    if (!inMain || !(shows || ['INPUT', 'SELECT', 'TEXTAREA'].includes(tag))) unseen.push(`${path}: ${tag} ${name}`);
  }
  expect([...unseen, ...watch.problems()]).toEqual([]);
});

test('an interface that answers 503 to everything is told on each page with the id of the request', async () => {
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
