import type { Locator } from 'playwright-core';
import { until } from '../../test/support/until.ts';

/** Waits until this element is there and contains text, and returns that. */
export const textOf = (element: Locator): Promise<string> =>
  until('text', async () => (await element.textContent()) || undefined);
