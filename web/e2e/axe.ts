import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';

/** WCAG 2.2, levels A and AA. */
export const WCAG = {
  type: 'tag',
  values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa'],
} as const;
/** Only colours differ between the schemes. */
export const CONTRAST = { type: 'rule', values: ['color-contrast'] } as const;

/**
 * Returns what axe finds in the page that violates these rules. It runs in legacy mode, which finds the same on pages
 * without frames of other origins, and needs no second page for each run.
 */
export async function violations(page: Page, rules: typeof WCAG | typeof CONTRAST): Promise<readonly string[]> {
  const axe = new AxeBuilder({ page }).setLegacyMode();
  axe.options({ runOnly: { type: rules.type, values: [...rules.values] }, resultTypes: ['violations'] });
  const { violations: found } = await axe.analyze();
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary = '' }) => `${id}: ${target.join(' ')}\n${failureSummary}`),
  );
}
