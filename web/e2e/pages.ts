import type { Page } from 'playwright-core';
import { CONTRAST, violations, WCAG } from './axe.ts';
import type { Site } from './harness.ts';
import { settle } from './settle.ts';
import type { Window } from './windows.ts';

type Listed = {
  readonly path: string;
  readonly need?: { readonly operator?: boolean; readonly scope?: string; readonly write?: boolean };
};

/** Imported by URL, because its types belong to the project of the browser code (web/tsconfig.json). */
const LIST = new URL('../src/pages.ts', import.meta.url).href;
const { PAGES } = (await import(LIST)) as { readonly PAGES: readonly Listed[] };

/** Pages about a single item are checked in the tests of their features. */
const WALKED = PAGES.filter(({ path }) => !path.includes('$'));
const pathsOf = (pages: readonly Listed[]): readonly string[] => pages.map(({ path }) => path);

/** The paths of the pages for the users of an account. */
export const OF_ACCOUNT = pathsOf(WALKED.filter(({ need }) => need?.operator !== true));
/** The paths of the pages for operators of the installation. */
export const OF_OPERATOR = pathsOf(WALKED.filter(({ need }) => need?.operator === true));

async function open(site: Site, page: Page, path: string): Promise<void> {
  await page.goto(site.url(path));
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await settle(page);
}

/** Check of a page that is open and still: returns its problems. */
type Check = (page: Page) => Promise<readonly string[]>;

/** Opens each page, and returns what the checks find there and the problems of the window. */
export async function walk(
  site: Site,
  { page, watch }: Window,
  paths: readonly string[],
  checks: readonly Check[],
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const path of paths) {
    await open(site, page, path);
    for (const check of checks) faults.push(...(await check(page)).map((fault) => `${path}: ${fault}`));
  }
  return [...faults, ...watch.problems()];
}

/** Runs axe with all rules in the light scheme, and with those about contrast in the dark one. */
export const axeFaults: Check = async (page) => {
  const found: string[] = [];
  for (const [colorScheme, rules] of [['light', WCAG] as const, ['dark', CONTRAST] as const]) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await settle(page);
    found.push(...(await violations(page, rules)).map((fault) => `${colorScheme}: ${fault}`));
  }
  return found;
};

/** A key shown instead of its text: `column.name`, `ui:close`, `create.open`. File names and URLs are excluded by `NO_KEYS`. */
const KEY = /(?<![\w./@:-])(?:[a-z][\w-]*:)?[a-z][a-zA-Z-]*(?:\.[a-z][a-zA-Z-]*)+(?![\w./@:-])/g;
const NO_KEYS = /\.(?:com|org|net|io|it|example|test|local|csv|xlsx|json|jpg|png|mp4)$|^(?:e\.g|i\.e)$/;

/** Finds everything on the page that looks like a key or an unfilled placeholder. */
export const textFaults: Check = async (page) => {
  const said = await page.evaluate<string>(
    `[document.body.innerText, ...[...document.querySelectorAll('[aria-label],[placeholder],[title]')].flatMap((each) =>
      ['aria-label', 'placeholder', 'title'].map((name) => each.getAttribute(name) ?? ''))].join('\\n')`,
  );
  const keys = [...said.matchAll(KEY)].map(([key]) => key).filter((key) => !NO_KEYS.test(key));
  return [...keys, ...(said.match(/\{\{[a-z]\w*\}\}|\[object \w+\]|\bundefined\b/g) ?? [])];
};

/**
 * Script that returns '' if the focus is in the content and visible (by an outline, or on a field, whose border shows
 * it), or else the element that has it.
 */
const FOCUSED = `(() => {
  const at = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(at);
  const shows = (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || at.matches('input, select, textarea');
  return at.closest('main') !== null && shows ? '' : at.tagName + ' ' + at.textContent.trim().slice(0, 40);
})()`;

/** After the skip link, one Tab must reach the first control of the page, with a visible focus. */
export const keyboardFaults: Check = async (page) => {
  await page.getByRole('link', { name: 'Skip to content' }).focus();
  await page.keyboard.press('Enter');
  await page.locator('main:focus').waitFor();
  await page.keyboard.press('Tab');
  const lost = await page.evaluate<string>(FOCUSED);
  return lost === '' ? [] : [`the focus is at ${lost}`];
};
