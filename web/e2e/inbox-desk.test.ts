import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Channel } from '../../src/core/channels.ts';
import { exec, sql } from '../../src/core/db/query.ts';
import { notifySandbox } from '../../src/sandbox/sandbox-store.ts';
import { until } from '../../test/support/until.ts';
import { checkPage, takeShot, testAtNight } from './check-page.ts';
import { openSite, type Site } from './harness.ts';

const INBOX = '/api/partner-gateway/v1/inbox';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());
// Each test has the list for itself.
beforeEach(async () => {
  const { pool } = site.program;
  await exec(pool, sql`UPDATE conversation SET archived = true, unread = 0`);
  await exec(pool, sql`DELETE FROM inbox_count`);
  await exec(
    pool,
    sql`INSERT INTO inbox_count (account_id, archived, channel, unread, conversations)
        SELECT account_id, archived, channel, unread > 0, count(*) FROM conversation GROUP BY 1, 2, 3, 4`,
  );
});

let people = 0;
const nextPerson = (): string => `+3933366${String(12_340 + people++)}`;

async function write(from: string, text: string, channel: Channel = 'SMS'): Promise<void> {
  const count = async (): Promise<number> =>
    (await site.program.pool.query("SELECT count(*)::int FROM inbox_message WHERE direction = 'INBOUND'")).rows[0]
      .count;
  const before = await count();
  await notifySandbox(site.program.pool, JSON.stringify({ channel, from, to: '9000', text }));
  await until('the message to be in the inbox', async () => (await count()) > before);
}

const add = (path: string, body: object) => site.program.client.request('POST', `${INBOX}${path}`, { body });

const row = (page: Page, person: string) => page.getByRole('link', { name: new RegExp(person.replace('+', '\\+')) });
const thread = (page: Page, person: string) => page.getByRole('region', { name: `Messages with ${person}` });
const reply = (page: Page) => page.getByRole('textbox', { name: 'Reply' });

async function open(page: Page, person: string): Promise<void> {
  await page.goto(site.url('/inbox'));
  await row(page, person).first().click();
  await thread(page, person).waitFor();
}

test('conversations are worked through by keyboard alone: answered, noted, labelled, snoozed and archived', async () => {
  const { page, watch } = await site.signIn();
  await add('/canned-answers', { shortcut: 'thanks', text: 'Thank you, {{agent}} is looking into it' });
  await add('/labels', { name: 'Complaint', color: 'red' });
  const persons = Array.from({ length: 6 }, nextPerson);
  for (const person of persons) await write(person, `I am ${person}`);
  const [first = '', second = '', third = ''] = persons.toReversed();
  await page.goto(site.url('/inbox'));
  await row(page, first).waitFor();
  // From a fresh page, with the focus nowhere.
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await thread(page, first).getByText(`I am ${first}`, { exact: true }).waitFor();
  await page.keyboard.press('r');
  await reply(page).and(page.locator(':focus')).waitFor();
  await page.keyboard.type('/tha');
  await page.getByRole('option', { name: /thanks/ }).waitFor();
  await page.keyboard.press('Enter');
  await expect.poll(() => reply(page).inputValue()).toBe(`Thank you, ${site.owner.username} is looking into it`);
  await page.keyboard.press('Enter');
  await thread(page, first)
    .getByText(/is looking into it/)
    .waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('n');
  await page.getByRole('textbox', { name: 'Note' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.type('A regular customer');
  await page.keyboard.press('Enter');
  await thread(page, first).getByText(`Note by ${site.owner.username}`).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('l');
  await page.getByRole('checkbox', { name: 'Complaint' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Space');
  await page.keyboard.press('Enter');
  await row(page, first).getByRole('img', { name: 'Complaint' }).waitFor();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  // Archiving opens the next one.
  await page.keyboard.press('e');
  await thread(page, second).waitFor();
  await row(page, first).waitFor({ state: 'detached' });
  await page.keyboard.press('s');
  await page.getByRole('button', { name: /Tomorrow morning/ }).waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await thread(page, third).waitFor();
  await row(page, second).waitFor({ state: 'detached' });
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  for (let left = 4; left > 1; left--) {
    await page.getByRole('button', { name: 'Archive conversation' }).waitFor();
    await page.keyboard.press('e');
    await expect.poll(() => page.locator('[data-row]').count()).toBe(left - 1);
  }
  expect(watch.problems()).toEqual([]);
});

test('keys typed for a reply do nothing in a conversation that cannot be answered', async () => {
  const { page, watch } = await site.signIn();
  await add('/canned-answers', { shortcut: 'return', text: 'You have 30 days to return it' });
  const [other, person] = [nextPerson(), nextPerson()];
  await write(other, 'Hello');
  await write(person, 'STOP');
  await open(page, person);
  const reason = page.getByText(/gets no messages there until they write START/);
  await reason.waitFor();
  await page.keyboard.press('n');
  await page.getByRole('textbox', { name: 'Note' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('r');
  await page.locator(':focus').filter({ has: reason }).waitFor();
  await page.keyboard.type('/return');
  await page.keyboard.press('Enter');
  // In the messages, too, a slash is not for the search.
  await thread(page, person).focus();
  await page.keyboard.press('/');
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  expect(await page.getByRole('searchbox').inputValue()).toBe('');
  expect(await page.locator('[data-row]').count()).toBe(2);
  await thread(page, person).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('a long list of unread conversations scrolls in its pane, a window of it at a time, and the page stays', async () => {
  const { page } = await site.signIn();
  const persons = Array.from({ length: 40 }, nextPerson);
  for (const person of persons) await write(person, `I am ${person}`);
  await page.goto(site.url('/inbox'));
  await row(page, persons.at(-1) ?? '').waitFor();
  const excess = () => page.evaluate('[scrollY, document.documentElement.scrollHeight - innerHeight].join()');
  expect(await excess()).toBe('0,0');
  await expect
    .poll(async () => {
      await page
        .locator('[data-row]')
        .last()
        .evaluate((last) => last.scrollIntoView());
      return row(page, persons[0] ?? '').count();
    })
    .toBe(1);
  expect(await page.locator('[data-row]').count()).toBeLessThan(30);
  expect(await excess()).toBe('0,0');
});

test('a message renders the rows that it changes again, and no others', async () => {
  const { page } = await site.signIn();
  const persons = Array.from({ length: 12 }, nextPerson);
  for (const person of persons) await write(person, 'Hello');
  const [first = '', other = ''] = persons.toReversed();
  await open(page, first);
  await row(page, other).waitFor();
  // Each row writes the time of its last message once when it is rendered.
  await page.evaluate(`(() => {
    const { get } = Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, 'format');
    globalThis.written = [];
    Object.defineProperty(Intl.DateTimeFormat.prototype, 'format', {
      get() {
        const format = get.call(this);
        return (at) => (globalThis.written.push(String(+at)), format(at));
      },
    });
  })()`);
  await write(other, 'Only mine changes');
  await row(page, other).getByText('Only mine changes').waitFor();
  await page.evaluate('new Promise((resolve) => setTimeout(resolve, 1500))');
  const rows = await page
    .locator('[data-row] time')
    .evaluateAll((times) => times.map((time) => String(Date.parse(time.getAttribute('datetime') ?? ''))));
  const written = (await page.evaluate<string[]>('globalThis.written')).filter((at) => rows.includes(at));
  expect(rows.length).toBeGreaterThan(10);
  expect(new Set(written).size).toBeLessThanOrEqual(2);
});

test('a note is shown to colleagues and never sent', async () => {
  const [one, two] = [await site.signIn(), await site.signIn(await site.person('sender'))];
  const person = nextPerson();
  await write(person, 'Hello');
  for (const { page } of [one, two]) await open(page, person);
  await one.page.getByRole('button', { name: 'Note' }).click();
  await one.page.getByRole('textbox', { name: 'Note' }).fill('He called twice');
  await one.page.getByRole('button', { name: 'Save note' }).click();
  await thread(two.page, person).getByText('He called twice').waitFor();
  const { rows } = await site.program.pool.query("SELECT count(*)::int FROM message WHERE body = 'He called twice'");
  expect(rows[0].count).toBe(0);
  await one.page.getByRole('button', { name: /Delete the note/ }).click();
  await thread(two.page, person).getByText('He called twice').waitFor({ state: 'detached' });
  expect([...one.watch.problems(), ...two.watch.problems()]).toEqual([]);
});

test('a colleague who is mentioned in a note is told on any page, and led to the conversation', async () => {
  const colleague = await site.person('sender');
  const [one, two] = [await site.signIn(), await site.signIn(colleague)];
  const person = nextPerson();
  await write(person, 'Hello');
  await two.page.goto(site.url('/contacts'));
  await two.page.getByRole('heading', { name: 'Contacts' }).waitFor();
  await open(one.page, person);
  await one.page.getByRole('button', { name: 'Note' }).click();
  const note = one.page.getByRole('textbox', { name: 'Note' });
  await note.pressSequentially(`Please look, @${colleague.username.slice(0, 4)}`);
  const option = one.page.getByRole('option', { name: `@${colleague.username}` });
  await option.waitFor();
  await takeShot(one.page, 'inbox-mention', { fullPage: false });
  await option.click();
  await expect.poll(() => note.inputValue()).toBe(`Please look, @${colleague.username} `);
  await note.press('Enter');
  await thread(one.page, person).locator('mark').waitFor();
  await two.page.getByText('You were mentioned: Please look').waitFor();
  await two.page.getByRole('button', { name: 'Open', exact: true }).click();
  await thread(two.page, person)
    .locator('mark[data-me]', { hasText: `@${colleague.username}` })
    .waitFor();
  expect([...one.watch.problems(), ...two.watch.problems()]).toEqual([]);
});

test('agents see who else looks at a conversation and types in it', async () => {
  const colleague = await site.person('sender');
  const [one, two] = [await site.signIn(), await site.signIn(colleague)];
  const person = nextPerson();
  await write(person, 'Hello');
  await open(one.page, person);
  await open(two.page, person);
  await one.page.getByText(`${colleague.username} is viewing this`).waitFor();
  await reply(two.page).fill('I am on it');
  await one.page.getByText(`${colleague.username} is typing`).waitFor();
  await two.page.goto(site.url('/contacts'));
  await one.page.getByText(`${colleague.username} is`).waitFor({ state: 'detached' });
});

test('archiving is undone with one click', async () => {
  const { page, watch } = await site.signIn();
  const person = nextPerson();
  await write(person, 'Hello');
  await open(page, person);
  await page.getByRole('button', { name: 'Archive conversation' }).click();
  await row(page, person).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Undo' }).click();
  await row(page, person).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('a snoozed conversation waits in its own list until its time, and then is unread', async () => {
  const { page, watch } = await site.signIn();
  const person = nextPerson();
  await write(person, 'Hello');
  await open(page, person);
  await page.getByRole('button', { name: 'Snooze' }).click();
  await page.getByRole('button', { name: /In 3 hours/ }).click();
  await row(page, person).waitFor({ state: 'detached' });
  await page.getByText('Snoozed', { exact: true }).click();
  await row(page, person)
    .getByRole('img', { name: /^Until/ })
    .waitFor();
  await page.goto(site.url('/inbox'));
  await exec(site.program.pool, sql`UPDATE conversation SET snoozed_until = now() WHERE peer = ${person}`);
  await row(page, person).getByText('1 unread message').waitFor();
  expect(watch.problems()).toEqual([]);
});

test('words in messages are found, and open their conversation', async () => {
  const { page, watch } = await site.signIn();
  const person = nextPerson();
  await write(person, 'The marmalade never arrived');
  await write(person, 'Anybody?');
  await page.goto(site.url('/inbox'));
  await row(page, person).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('marmalade');
  await page.getByRole('navigation', { name: 'Messages with these words' }).getByRole('link').click();
  await thread(page, person).getByText('The marmalade never arrived', { exact: true }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('a draft survives a reload, and is forgotten when the user signs out', async () => {
  const { page } = await site.signIn();
  const person = nextPerson();
  await write(person, 'Hello');
  await open(page, person);
  await reply(page).fill('Half a sent');
  await page.reload();
  await expect.poll(() => reply(page).inputValue()).toBe('Half a sent');
  await page.getByRole('button', { name: /sign out/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: /sign in/i }).waitFor();
  expect(await page.evaluate('Object.keys(localStorage).filter((key) => key.includes("draft")).length')).toBe(0);
});

test('the number of unread conversations is in the navigation and the title of every page, as messages arrive', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/contacts'));
  await page.getByRole('heading', { name: 'Contacts', level: 1 }).waitFor();
  expect(await page.title()).toBe('Contacts · Heliograph');
  const person = nextPerson();
  await write(person, 'Hello');
  await page.getByRole('navigation').getByText('1 unread conversation').waitFor();
  await expect.poll(() => page.title()).toBe('(1) Contacts · Heliograph');
  await open(page, person);
  await expect.poll(() => page.title()).toBe('Inbox · Heliograph');
  expect(watch.problems()).toEqual([]);
});

test('a conversation is marked as unread, and closed', async () => {
  const { page, watch } = await site.signIn();
  const person = nextPerson();
  await write(person, 'Hello');
  await open(page, person);
  await row(page, person).getByText('1 unread message').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Mark as unread' }).click();
  await row(page, person).getByText('1 unread message').waitFor();
  await thread(page, person).waitFor({ state: 'detached' });
  expect(watch.problems()).toEqual([]);
});

test('the shortcuts are shown at ?, and single letters can be switched off', async () => {
  const { page, watch } = await site.signIn();
  const person = nextPerson();
  await write(person, 'Hello');
  await page.goto(site.url('/inbox'));
  await row(page, person).waitFor();
  await page.keyboard.press('?');
  const sheet = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await sheet.getByText('Archive, or move back to the inbox').waitFor();
  await sheet.getByRole('switch').uncheck();
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });
  await page.evaluate('document.activeElement.blur()');
  await page.keyboard.press('/');
  expect(await page.getByRole('searchbox').and(page.locator(':focus')).count()).toBe(0);
  expect(watch.problems()).toEqual([]);
});

test('an emoji is inserted, and a pasted picture is attached', async () => {
  const { page, watch } = await site.signIn();
  const person = nextPerson();
  await write(person, 'Show me', 'RCS');
  await open(page, person);
  await page.getByRole('button', { name: 'Emoji' }).click();
  await page.getByRole('button', { name: '👍' }).click();
  await expect.poll(() => reply(page).inputValue()).toBe('👍');
  const picture = await sharp({ create: { width: 40, height: 30, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  await reply(page).evaluate((field, base64) => {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File([bytes], 'pasted.png', { type: 'image/png' }));
    field.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }, picture.toString('base64'));
  await page.getByRole('button', { name: 'Remove pasted.png' }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('canned answers, labels and opening hours are set in the settings of the inbox', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/inbox/settings'));
  await page.getByRole('button', { name: 'New canned answer' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Shortcut').fill('Bye');
  await dialog.getByLabel('Text').fill('Goodbye {{firstName}}');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('/bye', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'New label' }).click();
  await dialog.getByLabel('Name').fill('Urgent');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Edit the label Urgent' }).waitFor();
  await page.getByRole('radio', { name: 'Go to available agents in turn' }).check();
  await page.getByRole('button', { name: 'Add Monday to Friday, 9 to 18' }).click();
  await page.getByLabel('Automatic reply while closed').fill('We are closed');
  await page.getByRole('button', { name: 'Save settings' }).click();
  await page.getByText('Inbox settings saved').waitFor();
  await page.goto(site.url('/inbox'));
  await page.getByRole('switch', { name: 'Available for new conversations' }).click();
  const person = nextPerson();
  await until('the user to be available', async () => {
    const { rows } = await site.program.pool.query('SELECT available FROM inbox_agent');
    return rows[0]?.available === true;
  });
  await write(person, 'Hello');
  await row(page, person)
    .getByRole('img', { name: `Assigned to: ${site.owner.username}` })
    .waitFor();
  expect(watch.problems()).toEqual([]);
});

testAtNight('the desk of the inbox is accessible and no wider than the window', async () => {
  const window = await site.signIn();
  const { page } = window;
  const person = nextPerson();
  await write(person, 'My parcel is broken, and nobody answers the phone since yesterday');
  const { body } = await add('/labels', { name: 'Second complaint', color: 'orange' });
  await add('/canned-answers', { shortcut: 'sorry', text: 'We are sorry, {{firstName}}. We look into it at once.' });
  await open(page, person);
  const chatId = new URL(page.url()).searchParams.get('chat') ?? '';
  await site.program.client.request('PUT', `${INBOX}/conversations/${chatId}/labels`, {
    body: { labelIds: [(body as { id: number }).id] },
  });
  await add(`/conversations/${chatId}/notes`, { text: 'Calls back at noon; the neighbour has a second parcel.' });
  await thread(page, person)
    .getByText(/^Calls back/)
    .waitFor();
  await reply(page).fill('/');
  await page.getByRole('listbox', { name: 'Canned answers' }).waitFor();
  await checkPage(window, 'inbox-desk');
  await page.getByRole('button', { name: 'Snooze' }).click();
  await page.getByRole('button', { name: /In 3 hours/ }).waitFor();
  await checkPage(window, 'inbox-snooze');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
  await page.getByRole('dialog').waitFor();
  await checkPage(window, 'inbox-keys');
  await page.goto(site.url('/inbox/settings'));
  await page.getByText('/sorry').waitFor();
  await checkPage(window, 'inbox-settings');
});
