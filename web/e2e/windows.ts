import type { Browser, BrowserContext, Page } from 'playwright-core';
import { inject, onTestFinished, type TestError } from 'vitest';
import { type Watch, watch } from './watch.ts';

/** A browser window of one user, with the problems seen in it so far. */
export type Window = { readonly page: Page; readonly context: BrowserContext; readonly watch: Watch };

export type WindowOptions = { readonly width?: number; readonly height?: number; readonly locale?: string };

export const WIDE = { width: 1440, height: 900 };
const LOCALE = 'en-GB';

/** Maximum time of a step in a window; usually milliseconds, but other work may use the machine, too. */
const STEP_MS = 60_000;

const NOTHING = { cookies: [], origins: [] };

/**
 * Returns a function that opens a window without cookies and without stored values, by default 1440 pixels wide and in
 * English. Call it in a test: at the end of the test the window closes.
 *
 * Contexts are emptied and used again. They keep the files of the console in their cache, which halves the time that a
 * page takes to load.
 */
export function createWindows(browser: Browser): (options?: WindowOptions) => Promise<Window> {
  const idle: BrowserContext[] = [];

  async function close(context: BrowserContext): Promise<void> {
    for (const page of context.pages()) await page.close();
    await context.setStorageState(NOTHING);
    idle.push(context);
  }

  return async ({ width = WIDE.width, height = WIDE.height, locale = LOCALE } = {}) => {
    const isUsual = locale === LOCALE;
    const context = (isUsual ? idle.pop() : undefined) ?? (await createContext(browser, locale));
    const page = await context.newPage();
    const watched = watch(page);
    onTestFinished(async ({ task }) => {
      if (task.result?.state === 'fail') await describeFailure(page, watched, task.result.errors);
      await (isUsual ? close(context) : context.close());
    });
    await page.setViewportSize({ width, height });
    return { page, context, watch: watched };
  };
}

/** Adds what a window shows to the error of its test: a step that timed out says only what it waited for. */
async function describeFailure(page: Page, watched: Watch, errors: readonly TestError[] | undefined): Promise<void> {
  const [error] = errors ?? [];
  if (!error) return;
  const texts = await page
    .locator('main, [role=dialog], [role=alert]')
    .allInnerTexts()
    .catch((reason: unknown) => [`unreadable: ${String(reason)}`]);
  error.message += ['', `The window at ${page.url()}:`, ...watched.problems(), ...texts].join('\n');
}

/** Animations run only in the full tests: they take time, and pages must work without them. */
async function createContext(browser: Browser, locale: string): Promise<BrowserContext> {
  const reducedMotion = inject('everyLayout') ? 'no-preference' : 'reduce';
  const context = await browser.newContext({ viewport: WIDE, locale, timezoneId: 'Europe/Rome', reducedMotion });
  context.setDefaultTimeout(STEP_MS);
  return context;
}
