// Takes the screenshots in docs/images; run by hand after the console has changed (npm run screenshots). Uses a real
// program on a separate database with the sandbox carriers, an account full of samples, and the browser of the tests.

import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Locator, Page } from 'playwright-core';
import sharp from 'sharp';
import { loadConfig } from '../src/core/config.ts';
import { startEmbedded } from '../src/core/db/embedded.ts';
import { createPool } from '../src/core/db/pool.ts';
import { silentLog } from '../src/core/log.ts';
import { createAccount, type NewAccount } from '../src/operate/account-commands.ts';
import { assignSandboxNumbers } from '../src/sandbox/sandbox-store.ts';
import { startProgram } from '../src/serve.ts';
import { createClient } from '../test/support/client.ts';
import { removeDataDir } from '../test/support/data-dir.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { launchBrowser } from '../web/e2e/browser.ts';
import { settle } from '../web/e2e/settle.ts';
import { fillAccount, type Sample } from './sample-data.ts';

const IMAGES = join(import.meta.dirname, '../docs/images');
const VIEWPORT = { width: 1280, height: 800 };
/** The screenshots are loaded with the README. */
const MAX_BYTES = 150_000;
const CREDIT_MICROS = 1_000_000_000;

type Picture = {
  readonly name: string;
  readonly path: string;
  readonly theme: 'light' | 'dark';
  /** Name of the button that opens the part of the page to show. */
  readonly opens?: RegExp;
  /** An element that appears once the page has loaded; it is scrolled to if it is further down. */
  readonly shows: (page: Page) => Locator;
};

const picturesOf = ({ campaignId, scheduledId, chatId }: Sample): readonly Picture[] => [
  { name: 'overview', path: '/', theme: 'light', shows: (page) => page.locator('.recharts-surface') },
  {
    name: 'campaign',
    path: `/campaigns/${campaignId}`,
    theme: 'light',
    shows: (page) => page.getByRole('heading', { name: 'Results by channel' }),
  },
  {
    name: 'campaign-text',
    path: `/campaigns/editor?id=${scheduledId}`,
    theme: 'light',
    opens: /Text/,
    shows: (page) => page.getByRole('textbox', { name: 'SMS text' }),
  },
  {
    name: 'campaign-review',
    path: `/campaigns/editor?id=${scheduledId}`,
    theme: 'light',
    opens: /Review/,
    shows: (page) => page.getByRole('list', { name: 'Plan by channel' }),
  },
  {
    name: 'contacts',
    path: '/contacts',
    theme: 'light',
    shows: (page) => page.getByRole('table').getByRole('row').nth(3),
  },
  {
    name: 'inbox',
    path: `/inbox?chat=${chatId}`,
    theme: 'light',
    shows: (page) => page.getByRole('region', { name: /^Messages with/ }).getByText('Perfect, that was quick'),
  },
  {
    name: 'messages',
    path: '/messages',
    theme: 'dark',
    shows: (page) => page.getByRole('table').getByText('Undeliverable').first(),
  },
];

const dataDir = await temporaryFolder('heliograph-screenshots-');
await using cleanUp = new AsyncDisposableStack();
cleanUp.defer(() => removeDataDir(dataDir));
const server = await startEmbedded({ dataDir, log: silentLog, durable: false });
cleanUp.defer(() => server.stop());
await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'build-console.ts')]);
const settings = { DATABASE_URL: server.connectionString, DATA_DIR: dataDir, SANDBOX: 'on', PORT: '0' };
const config = loadConfig({ ...settings, LOG_LEVEL: 'silent' });
const program = await startProgram(config, { api: true, worker: true, sandbox: true });
cleanUp.defer(() => program.stop());
const origin = program.address ?? '';
const pool = createPool(server.connectionString, { max: 2, applicationName: 'screenshots', log: silentLog });
cleanUp.defer(() => pool.end());

const plan = { plan: 'production', creditMicros: CREDIT_MICROS, ratePerMinute: 0 } as const;
const account = await createAccount(pool, { name: 'Sample', ...plan });
await assignSandboxNumbers(pool, account);
const sample = await fillAccount(
  pool,
  createClient(() => origin, account.apiKey),
  account.accountId,
);
const browser = await launchBrowser();
cleanUp.defer(() => browser.close());
await mkdir(IMAGES, { recursive: true });
for (const picture of picturesOf(sample)) await take(browser, account, picture);

async function take(within: Browser, person: NewAccount, { name, path, theme, opens, shows }: Picture): Promise<void> {
  const appearance = {
    colorScheme: theme,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'Europe/Rome',
  } as const;
  await using context = await within.newContext({ viewport: VIEWPORT, baseURL: origin, ...appearance });
  const page = await context.newPage();
  await signIn(page, person);
  await page.goto(path);
  if (opens !== undefined) await page.getByRole('button', { name: opens }).first().click();
  await shows(page).waitFor();
  if (opens !== undefined) await shows(page).scrollIntoViewIfNeeded();
  await settle(page);
  const { size } = await sharp(await page.screenshot())
    .png({ palette: true, colours: 128, effort: 10 })
    .toFile(join(IMAGES, `${name}.png`));
  if (size > MAX_BYTES) throw new Error(`${name}.png has ${size} bytes: ${MAX_BYTES} at most`);
  console.log(`docs/images/${name}.png, ${Math.round(size / 1000)} kB`);
}

async function signIn(page: Page, { username, password }: NewAccount): Promise<void> {
  const headers = { 'x-heliograph-console': '1', origin };
  const data = { username, password };
  const answer = await page.request.post('/api/partner-gateway/v1/session', { headers, data });
  if (!answer.ok()) throw new Error(`not signed in: ${answer.status()} ${await answer.text()}`);
}
