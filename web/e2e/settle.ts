import type { Page } from 'playwright-core';
import { until } from '../../test/support/until.ts';

/** Asked from outside: the page's own policy lets no text be run as a script, which waitForFunction would need. */
const IS_STILL =
  'document.querySelectorAll("[data-animate].mantine-Skeleton-root").length === 0 && ' +
  'document.getAnimations().every((each) => each.playState !== "running" || each.effect.getComputedTiming().endTime === Infinity)';

const NEXT_FRAME = 'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))';

/** Until what changed is drawn, nothing is loading and nothing moves. */
export async function settle(page: Page): Promise<void> {
  await page.evaluate(NEXT_FRAME);
  await until('the page to be still', () => page.evaluate<boolean>(IS_STILL));
}
