import type { Page } from 'playwright-core';
import { until } from '../../test/support/until.ts';

/** Evaluated from outside: the content security policy forbids evaluating strings, which waitForFunction needs. */
const IS_STILL =
  'document.querySelectorAll("[data-animate].mantine-Skeleton-root").length === 0 && ' +
  'document.getAnimations().every((each) => each.playState !== "running" || each.effect.getComputedTiming().endTime === Infinity)';

const NEXT_FRAME = 'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))';

const STILL_WITHIN_MS = 60_000;

/** Waits until changes are rendered, nothing is loading and nothing is animated. */
export async function settle(page: Page): Promise<void> {
  await page.evaluate(NEXT_FRAME);
  await until('the page to be still', () => page.evaluate<boolean>(IS_STILL), STILL_WITHIN_MS);
}
