import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, inject, test } from 'vitest';
import { violations, WCAG } from './axe.ts';
import { settle } from './settle.ts';
import { WIDE, type Window } from './windows.ts';

const SHOTS = join(import.meta.dirname, 'shots');

type Layout = {
  readonly size: { readonly width: number; readonly height: number };
  readonly theme: 'light' | 'dark';
  /** Whether axe checks it; not where earlier layouts contain the same colours and the same elements. */
  readonly axe: boolean;
};

const NARROW = { width: 390, height: 844 };

const EVERY_LAYOUT: readonly Layout[] = [
  { size: WIDE, theme: 'light', axe: true },
  { size: WIDE, theme: 'dark', axe: true },
  { size: NARROW, theme: 'light', axe: true },
  { size: NARROW, theme: 'dark', axe: false },
];
const ONE_LAYOUT: readonly Layout[] = [{ size: WIDE, theme: 'light', axe: true }];

/**
 * Checks what holds for every page: axe finds nothing (WCAG 2.2 AA), nothing scrolls sideways, and no error occurred
 * in the window. The full tests do this in both themes and at both widths, and save a screenshot of each in
 * web/e2e/shots; the fast ones in one theme, wide. The page must be open and loaded: wait for some of its content first.
 */
export async function checkPage({ page, watch }: Pick<Window, 'page' | 'watch'>, name: string): Promise<void> {
  const before = page.viewportSize() ?? WIDE;
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  for (const layout of inject('everyLayout') ? EVERY_LAYOUT : ONE_LAYOUT) await checkLayout(page, name, layout);
  await page.setViewportSize(before);
  expect(watch.problems(), `problems on ${name}`).toEqual([]);
}

/**
 * Registers a test of nothing but layouts and accessibility, in the full tests only: in the fast ones, `pages.test.ts`
 * opens every page.
 */
export const testLayouts: (name: string, run: () => Promise<void>, timeoutMs?: number) => void = inject('everyLayout')
  ? test
  : () => undefined;

async function checkLayout(page: Page, name: string, { size, theme, axe }: Layout): Promise<void> {
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
  await settle(page);
  await takeShot(page, `${name}-${size.width}-${theme}`);
  if (axe) expect(await violations(page, WCAG), `axe on ${name}, ${size.width} px, ${theme}`).toEqual([]);
  await expect.poll(() => excess(page), { message: `pixels that ${name} is too wide at ${size.width} px` }).toBe(0);
}

/** Saves a picture of the window, or of the whole page, in web/e2e/shots; only in the full tests. */
export async function takeShot(page: Page, name: string, { fullPage = true } = {}): Promise<void> {
  if (!inject('everyLayout')) return;
  await mkdir(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage });
}

const excess = (page: Page): Promise<number> =>
  page.evaluate('Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)');
