import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { generatePassword, hashed } from '../../src/accounts/password.ts';
import { createUserWithRandomPassword } from '../../src/accounts/users.ts';
import type { Role } from '../../src/core/actor.ts';
import { transaction } from '../../src/core/db/transaction.ts';
import { createAccount } from '../../src/operate/account-commands.ts';
import { assignSandboxNumbers } from '../../src/sandbox/sandbox-store.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { launchBrowser } from './browser.ts';
import { createWindows, type Window, type WindowOptions } from './windows.ts';

const BUILD = join(import.meta.dirname, '../../scripts/build-console.ts');
const SESSION = '/api/partner-gateway/v1/session';
const run = promisify(execFile);

/** The credentials of a user. */
export type Person = { readonly username: string; readonly password: string };

export type Site = AsyncDisposable & {
  readonly program: TestProgram;
  /** The owner of `program.account`, which has the numbers of all sandbox networks. */
  readonly owner: Person;
  /** Another user of that account. */
  person(role: Role): Promise<Person>;
  /** The owner of another account who is an operator of the installation. */
  operator(): Promise<Person>;
  /** A new window with its own cookies, without a session, for the rest of the test. */
  window(options?: WindowOptions): Promise<Window>;
  /**
   * A new window, still empty, in which a user has signed in: by default the owner, and through the API, without the
   * sign-in page, which has its own tests.
   */
  signIn(person?: Person, options?: WindowOptions): Promise<Window>;
  /** The URL of a page of the console. */
  url(path: string): string;
};

type SiteOptions = NonNullable<Parameters<typeof startTestProgram>[0]>;

/**
 * Starts the real program with the sandbox carriers of all channels, serving the built console, and a browser:
 *
 *     await using site = await openSite();
 *     const window = await site.signIn();
 *     await window.page.goto(site.url('/api-keys'));
 *     await checkPage(window, 'api-keys');
 *
 * Pages change without a reload. Read them with a step that waits: `locator.waitFor()`, or
 * `expect.poll(() => locator.inputValue())`. That something is absent shows only once something else is there.
 */
export async function openSite(options: SiteOptions = {}): Promise<Site> {
  const [program, browser] = await Promise.all([startProgram(options), launchBrowser()]);
  const url = (path: string): string => `${program.origin()}${path}`;
  const window = createWindows(browser);
  return {
    program,
    owner: program.account,
    person: (role) => addPerson(program, role),
    operator: () => createAccount(program.pool, { name: 'Operations', plan: 'unlimited', operator: true }),
    window,
    url,
    async signIn(person = program.account, size) {
      const opened = await window(size);
      await startSession(opened, url(SESSION), person);
      return opened;
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      await program[Symbol.asyncDispose]();
    },
  };
}

async function startProgram(options: SiteOptions): Promise<TestProgram> {
  await built();
  const program = await startTestProgram({
    carriers: {},
    ...options,
    roles: { sandbox: true, ...options.roles },
    environment: { SANDBOX: 'on', ...options.environment },
  });
  await assignSandboxNumbers(program.pool, program.account);
  return program;
}

let build: Promise<unknown> | undefined;

/** Builds the console if it has changed, once for all files that this worker runs. */
const built = (): Promise<unknown> => (build ??= run(process.execPath, [BUILD]));

/** The request has the user agent of the browser, and its response sets the cookie of the window. */
async function startSession({ context }: Window, url: string, { username, password }: Person): Promise<void> {
  const answer = await context.request.post(url, {
    data: { username, password },
    headers: { 'x-heliograph-console': '1', origin: new URL(url).origin },
  });
  if (answer.status() !== 200) throw new Error(`${username} cannot sign in: ${answer.status()} ${await answer.text()}`);
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
  const secret = await hashed(generatePassword(), { by: 'operator' });
  return transaction(pool, (tx) => createUserWithRandomPassword(tx, { accountId }, { name, role, ...secret }));
}
