import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, inject, test } from 'vitest';
import { CONTRAST, violations, WCAG } from './axe.ts';
import { settle } from './settle.ts';
import { WIDE, type Window } from './windows.ts';

const SHOTS = join(import.meta.dirname, 'shots');

type Layout = {
  readonly size: { readonly width: number; readonly height: number };
  readonly theme: 'light' | 'dark';
  /** Rules of axe to check; null where earlier layouts contain the same colours and the same elements. */
  readonly rules: typeof WCAG | typeof CONTRAST | null;
};

const NARROW = { width: 390, height: 844 };

const EVERY_LAYOUT: readonly Layout[] = [
  { size: WIDE, theme: 'light', rules: WCAG },
  { size: WIDE, theme: 'dark', rules: CONTRAST },
  { size: NARROW, theme: 'light', rules: WCAG },
  { size: NARROW, theme: 'dark', rules: null },
];
const ONE_LAYOUT: readonly Layout[] = [{ size: WIDE, theme: 'light', rules: WCAG }];

/**
 * Checks what holds for every page: axe finds nothing (WCAG 2.2 AA), nothing scrolls sideways, and no error occurred
 * in the window. The full tests do this in both themes and at both widths, and save a screenshot of each in
 * web/e2e/shots, except in CI; the fast ones in one theme, wide. The page must be open and loaded: wait for some of its content first.
 */
export async function checkPage({ page, watch }: Pick<Window, 'page' | 'watch'>, name: string): Promise<void> {
  const before = page.viewportSize() ?? WIDE;
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  for (const layout of inject('everyLayout') ? EVERY_LAYOUT : ONE_LAYOUT) await checkLayout(page, name, layout);
  await page.setViewportSize(before);
  expect(watch.problems(), `problems on ${name}`).toEqual([]);
}

/**
 * Registers a test that runs in the full tests only: layouts and accessibility (in the fast ones, `pages.test.ts` opens
 * every page), and flows of a browser through routes that have separate tests.
 */
export const testAtNight: (name: string, run: () => Promise<void>, timeoutMs?: number) => void = inject('everyLayout')
  ? test
  : () => undefined;

async function checkLayout(page: Page, name: string, { size, theme, rules }: Layout): Promise<void> {
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
  await settle(page);
  await takeShot(page, `${name}-${size.width}-${theme}`);
  if (rules) expect(await violations(page, rules), `axe on ${name}, ${size.width} px, ${theme}`).toEqual([]);
  await expect.poll(() => excess(page), { message: `pixels that ${name} is too wide at ${size.width} px` }).toBe(0);
}

const NEEDS_SHOTS = inject('everyLayout') && process.env['CI'] === undefined;

/** Saves a picture of the window, or of the whole page, in web/e2e/shots; only in the full tests, and not in CI. */
export async function takeShot(page: Page, name: string, { fullPage = true } = {}): Promise<void> {
  if (!NEEDS_SHOTS) return;
  await mkdir(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage });
}

const excess = (page: Page): Promise<number> =>
  page.evaluate('Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)');
