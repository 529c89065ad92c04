import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { SHOTS, type Window } from './harness.ts';
import { settle } from './settle.ts';

const WIDTHS = [1440, 390] as const;
const THEMES = ['light', 'dark'] as const;
export const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa'];

/**
 * Checks what holds for every page: in both themes and at both widths, axe finds nothing (WCAG 2.2 AA), nothing scrolls
 * sideways, and no error occurred in the window. Saves a screenshot of each in web/e2e/shots. The page must be open and
 * loaded: wait for some of its content first.
 */
export async function checkPage({ page, watch }: Pick<Window, 'page' | 'watch'>, name: string): Promise<void> {
  const before = page.viewportSize() ?? { width: 1440, height: 900 };
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
    for (const theme of THEMES) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
      await settle(page);
      await page.screenshot({ path: join(SHOTS, `${name}-${width}-${theme}.png`), fullPage: true });
      if (width > 390 || theme === 'light')
        expect(await violations(page), `axe on ${name}, ${width} px, ${theme}`).toEqual([]);
      expect(await excess(page), `pixels that ${name} is too wide at ${width} px`).toBe(0);
    }
  }
  await page.setViewportSize(before);
  expect(watch.problems(), `problems on ${name}`).toEqual([]);
}

async function violations(page: Page): Promise<readonly string[]> {
  const { violations: found } = await new AxeBuilder({ page }).withTags(RULES).analyze();
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary = '' }) => `${id}: ${target.join(' ')}\n${failureSummary}`),
  );
}

const excess = (page: Page): Promise<number> =>
  page.evaluate('Math.max(0, document.documentElement.scrollWidth - document.documentElement.clientWidth)');
