import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { vi } from 'vitest';
import { createAccount } from '../../src/operations/accounts/create.ts';
import { transaction } from '../../src/platform/db/transaction.ts';
import type { Role } from '../../src/platform/lib/scope.ts';
import { assignSandboxNumbers } from '../../src/simulators/sandbox/sandbox.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { createUserWithRandomPassword } from '../../src/identity/users/create.ts';
import { launchBrowser } from './browser.ts';
import { watch, type Watch } from './watch.ts';

// A browser, a program and its carriers, on a shared machine.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

export const SHOTS = join(import.meta.dirname, 'shots');
const BUILD = join(import.meta.dirname, '../../scripts/build-console.ts');
const run = promisify(execFile);

/** The credentials of a user. */
export type Person = { readonly username: string; readonly password: string };

/** A browser window of one user, with the problems seen in it so far. */
export type Window = { readonly page: Page; readonly context: BrowserContext; readonly watch: Watch };

export type Site = AsyncDisposable & {
  readonly program: TestProgram;
  /** The owner of `program.account`, which has the numbers of all sandbox networks. */
  readonly owner: Person;
  /** Another user of that account. */
  person(role: Role): Promise<Person>;
  /** The owner of another account who is an operator of the installation. */
  operator(): Promise<Person>;
  /** A new window with its own cookies, by default 1440 pixels wide and in English, without a session. */
  window(options?: WindowOptions): Promise<Window>;
  /** Signs in a user, by default the owner, on the sign-in page of a new window. */
  signIn(person?: Person, options?: WindowOptions): Promise<Window>;
  /** The URL of a page of the console. */
  url(path: string): string;
};

type WindowOptions = { readonly width?: number; readonly height?: number; readonly locale?: string };
type SiteOptions = NonNullable<Parameters<typeof startTestProgram>[0]>;

/**
 * Starts the real program with the sandbox carriers of all channels, serving the built console, and a browser:
 *
 *     await using site = await openSite();
 *     const { page } = await site.signIn();
 *     await page.goto(site.url('/api-keys'));
 *     await checkPage(window, 'api-keys');
 */
export async function openSite(options: SiteOptions = {}): Promise<Site> {
  await run(process.execPath, [BUILD]);
  await mkdir(SHOTS, { recursive: true });
  const program = await startTestProgram({
    carriers: {},
    ...options,
    roles: { sandbox: true, ...options.roles },
    environment: { SANDBOX: 'on', ...options.environment },
  });
  await assignSandboxNumbers(program.pool, program.account);
  const browser = await launchBrowser();
  const url = (path: string): string => `${program.origin()}${path}`;
  const open = (size?: WindowOptions): Promise<Window> => openWindow(browser, size);
  return {
    program,
    owner: program.account,
    person: (role) => addPerson(program, role),
    operator: () => createAccount(program.pool, { name: 'Operations', plan: 'unlimited', operator: true }),
    window: open,
    url,
    async signIn(person = program.account, size) {
      const window = await open(size);
      await window.page.goto(url('/sign-in'));
      await enter(window.page, person);
      await window.page.getByRole('banner').waitFor();
      return window;
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      await program[Symbol.asyncDispose]();
    },
  };
}

async function openWindow(browser: Browser, { width = 1440, height = 900, locale = 'en-GB' }: WindowOptions = {}) {
  const context = await browser.newContext({ viewport: { width, height }, locale, timezoneId: 'Europe/Rome' });
  const page = await context.newPage();
  return { page, context, watch: watch(page) };
}

/** Fills in and submits the sign-in form. */
export async function enter(page: Page, { username, password }: Person): Promise<void> {
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

let people = 0;

async function addPerson({ pool, account: { accountId } }: TestProgram, role: Role): Promise<Person> {
  people += 1;
  const name = `${role}${people}`;
  return transaction(pool, (tx) => createUserWithRandomPassword(tx, { accountId }, { name, role }));
}
