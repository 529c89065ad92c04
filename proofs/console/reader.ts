import type { Page } from 'playwright-core';
import { launchBrowser } from '../../web/e2e/browser.ts';
import { until } from '../../test/support/until.ts';
import { ELSEWHERE } from './hostile.ts';

/** Counts of what must not happen in the browser. */
export type Seen = { dialogs: number; foreignRequests: number; refusedByPolicy: number; elements: number };

/** A person who reads the console in a real browser. */
export type Reader = AsyncDisposable & {
  readonly seen: Seen;
  /** Opens a page and waits for these texts to appear; returns how many of them are missing after the timeout. */
  open(path: string, texts: readonly string[]): Promise<number>;
  /** Scrolls through the page's table from beginning to end; returns the text of every row that it showed. */
  scrollThrough(): Promise<ReadonlySet<string>>;
};

const OPEN_MS = 30_000;

type SignIn = { readonly origin: string; readonly username: string; readonly password: string };

/** Opens a browser and signs in through the sign-in page. */
export async function openReader({ origin, username, password }: SignIn): Promise<Reader> {
  const browser = await launchBrowser();
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: 'en-GB' });
  const page = await context.newPage();
  const seen = watch(page, origin);
  await page.goto(`${origin}/sign-in`);
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
  const text = async (): Promise<string> => plain(await page.evaluate<string>('document.body.textContent'));
  const countElements = async (): Promise<void> => {
    seen.elements += await page.evaluate<number>(COUNT_HOSTILE);
  };
  return {
    seen,
    async open(path, texts) {
      await page.goto(`${origin}${path}`);
      const missing = async (): Promise<number> => {
        const shown = await text();
        return texts.filter((each) => !shown.includes(plain(each))).length;
      };
      await until(`the texts of ${path}`, async () => (await missing()) === 0, OPEN_MS).catch(() => undefined);
      await countElements();
      return missing();
    },
    async scrollThrough() {
      const found = new Set<string>();
      let before = -1;
      for (let at = await scroll(page, 0); at > before; at = await scroll(page, 0.8)) {
        before = at;
        await until('the rows', () => page.evaluate<boolean>(ROWS_LOADED), 60_000);
        for (const row of await page.evaluate<string[]>(ROWS)) found.add(plain(row));
        await countElements();
      }
      return found;
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

/** Collapses white space, as a browser shows it. */
export const plain = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** Rows that are still loading are blank. */
const ROWS_LOADED = '[...document.querySelectorAll("[role=row]")].every((row) => row.textContent !== "")';
const ROWS = '[...document.querySelectorAll("[role=row]")].map((row) => row.textContent)';
/** Counts elements that can only come from a text that was taken for markup. */
const COUNT_HOSTILE = `document.querySelectorAll('[src*="${ELSEWHERE}"], [href*="${ELSEWHERE}"], [href^="javascript:"], [srcdoc], [onerror], [onload], [onfocus], iframe, object, embed, base, marquee, math').length`;

/** Scrolls by this many windows; returns the new position. */
const scroll = (page: Page, windows: number): Promise<number> =>
  page.evaluate<number>(
    `(() => { const pane = document.querySelector('[aria-rowcount]').parentElement; pane.scrollTop += ${windows} * pane.clientHeight; return new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(pane.scrollTop)))); })()`,
  );

function watch(page: Page, origin: string): Seen {
  const seen: Seen = { dialogs: 0, foreignRequests: 0, refusedByPolicy: 0, elements: 0 };
  page.on('dialog', (dialog) => {
    seen.dialogs += 1;
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) seen.foreignRequests += 1;
  });
  const refused = (text: string): void => {
    if (/Content Security Policy|Trusted ?Type|Markup is refused/i.test(text)) seen.refusedByPolicy += 1;
  };
  page.on('console', (message) => refused(message.text()));
  page.on('pageerror', (error) => refused(error.message));
  return seen;
}
