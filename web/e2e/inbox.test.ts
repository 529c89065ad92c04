import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Channel } from '../../src/core/channels.ts';
import { exec, sql } from '../../src/core/db/query.ts';
import { notifySandbox } from '../../src/sandbox/sandbox-store.ts';
import { until } from '../../test/support/until.ts';
import { checkPage, testAtNight } from './check-page.ts';
import { openSite, type Site } from './harness.ts';
import { settle } from './settle.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

let people = 0;
/** The number of a person who has never written. The sandbox does not deliver to numbers ending in 0001 to 0009. */
const nextPerson = (): string => `+3933355${String(12_340 + people++)}`;

/** Sends an inbound message to the account, like `heliograph sandbox inbound`. */
const send = (from: string, text: string, channel: Channel = 'SMS'): Promise<void> =>
  notifySandbox(site.program.pool, JSON.stringify({ channel, from, to: '9000', text }));

/** Sends an inbound message, and waits until it is in the inbox: what is missing on a page after that, the page lost. */
async function write(from: string, text: string, channel: Channel = 'SMS'): Promise<void> {
  const before = await countInbound();
  await send(from, text, channel);
  await until('the message to be in the inbox', async () => (await countInbound()) > before);
}

async function countInbound(): Promise<number> {
  const { rows } = await site.program.pool.query("SELECT count(*)::int FROM inbox_message WHERE direction = 'INBOUND'");
  return rows[0].count;
}

const row = (page: Page, person: string) => page.getByRole('link', { name: new RegExp(person.replace('+', '\\+')) });
const thread = (page: Page, person: string) => page.getByRole('region', { name: `Messages with ${person}` });

/** Sends an inbound WhatsApp message from a contact with this name; otherwise the network's profile name would be shown. */
async function writeOnWhatsapp(fullName: string, text: string): Promise<string> {
  const phoneNumber = nextPerson();
  const { status } = await site.program.client.request('POST', '/api/partner-gateway/v1/contacts', {
    body: { fullName, phoneNumber },
  });
  expect(status).toBe(201);
  await write(phoneNumber, text, 'WHATSAPP');
  return phoneNumber;
}

/** Opens the conversation with a person who has just written this. */
async function openConversation(page: Page, person: string, text = 'Hello'): Promise<void> {
  await page.goto(site.url('/inbox'));
  await row(page, person).filter({ hasText: text }).click();
  await thread(page, person).getByText(text, { exact: true }).waitFor();
}

test('a conversation stays in sync in two windows: message, reply, delivery, assignment, archive', async () => {
  const [one, two] = [await site.signIn(), await site.signIn(await site.person('sender'))];
  for (const { page } of [one, two]) {
    await page.goto(site.url('/inbox'));
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  }
  const person = nextPerson();
  await write(person, 'Is it ready?');
  for (const { page } of [one, two]) {
    await row(page, person).click();
    await thread(page, person).getByText('Is it ready?', { exact: true }).waitFor();
  }
  await one.page.getByRole('textbox', { name: 'Reply' }).fill('Yes, today');
  await one.page.keyboard.press('Enter');
  for (const { page } of [one, two])
    await thread(page, person).getByRole('listitem').filter({ hasText: 'Yes, today' }).getByText('Delivered').waitFor();
  await expect.poll(() => one.page.getByRole('textbox', { name: 'Reply' }).inputValue()).toBe('');

  await two.page.getByLabel('Assigned to').selectOption({ label: site.owner.username });
  await row(one.page, person)
    .getByRole('img', { name: `Assigned to: ${site.owner.username}` })
    .waitFor();
  const assigned = one.page.getByLabel('Assigned to').locator('option:checked');
  await expect.poll(() => assigned.textContent()).toContain('(you)');

  await one.page.getByRole('button', { name: 'Archive conversation' }).click();
  await row(two.page, person).waitFor({ state: 'detached' });
  await two.page.getByRole('button', { name: 'Move to inbox' }).waitFor();
  await write(person, 'Thank you');
  await row(two.page, person).getByText('Thank you').waitFor();
  await two.page.getByRole('button', { name: 'Archive conversation' }).waitFor();
  expect([...one.watch.problems(), ...two.watch.problems()]).toEqual([]);
});

test('a person who writes STOP is shown as opted out and cannot be replied to until they write START', async () => {
  const { page, watch } = await site.signIn();
  const person = nextPerson();
  await write(person, 'STOP');
  await openConversation(page, person, 'STOP');
  await thread(page, person).getByText(`${person} opted out of SMS with this message`).waitFor();
  await page.getByText(/gets no messages there until they write START/).waitFor();
  expect(await page.getByRole('textbox', { name: 'Reply' }).count()).toBe(0);
  await write(person, 'START');
  await thread(page, person).getByText(`${person} opted in to SMS with this message`).waitFor();
  await page.getByRole('textbox', { name: 'Reply' }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('on WhatsApp, free replies are possible for 24 hours, and then only templates with their values', async () => {
  const { page, watch } = await site.signIn();
  const person = 'Zoë Rossi';
  const number = await writeOnWhatsapp(person, 'Ciao');
  await openConversation(page, person, 'Ciao');
  await page.getByText(/Time left for free replies: 23 hrs/).waitFor();
  await exec(
    site.program.pool,
    sql`UPDATE conversation SET window_expires_at = now() - interval '1 minute' WHERE peer = ${number}`,
  );
  await page.reload();
  await page.getByText('Only templates can be sent now').waitFor();
  expect(await page.getByRole('textbox', { name: 'Reply' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Choose template' }).click();
  const dialog = page.getByRole('dialog', { name: 'Send a template' });
  await dialog.getByLabel('Template').selectOption({ label: 'sandbox_welcome (en)' });
  await dialog.getByRole('button', { name: 'Send template', disabled: true }).waitFor();
  await dialog.getByLabel('Value for 1').fill('Zoë');
  await dialog
    .getByRole('group', { name: 'Preview' })
    .getByText(/^Hello Zoë, this message/)
    .waitFor();
  await dialog.getByRole('button', { name: 'Send template' }).click();
  const sent = thread(page, person).getByRole('listitem').filter({ hasText: 'Hello Zoë' });
  await sent.getByText(/Delivered|Read/).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('an image is uploaded in the conversation and sent', async () => {
  const { page, watch } = await site.signIn();
  const person = 'Ada Verdi';
  await writeOnWhatsapp(person, 'Show me');
  await openConversation(page, person, 'Show me');
  await page.getByRole('button', { name: 'File' }).click();
  const buffer = await sharp({ create: { width: 90, height: 60, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  await page.locator('input[type=file]').setInputFiles({ name: 'blue.png', mimeType: 'image/png', buffer });
  await page.getByRole('button', { name: 'Remove blue.png' }).waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  const sent = thread(page, person)
    .getByRole('listitem')
    .filter({ has: page.getByRole('img', { name: 'blue.png' }) });
  await sent.getByText(/Delivered|Read/).waitFor();
  const width = (): Promise<number> => sent.getByRole('img').evaluate((image: HTMLImageElement) => image.naturalWidth);
  await expect.poll(width).toBe(90);
  await page.getByRole('textbox', { name: 'Reply' }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('inbound messages are shown as plain text, without markup, links or foreign requests', async () => {
  const { page, watch } = await site.signIn();
  const person = nextPerson();
  const text = '<img src=x onerror=alert(1)> <a href="https://evil.example/">win</a> https://evil.example/';
  await write(person, text);
  await openConversation(page, person, text);
  expect(await thread(page, person).locator('img, a').count()).toBe(0);
  expect(watch.problems()).toEqual([]);
});

test('a draft stays with its conversation', async () => {
  const { page } = await site.signIn();
  const [first, second] = [nextPerson(), nextPerson()];
  await write(first, 'First');
  await write(second, 'Second');
  await openConversation(page, first, 'First');
  const answer = page.getByRole('textbox', { name: 'Reply' });
  await answer.fill('Half a sent');
  await row(page, second).click();
  await thread(page, second).getByText('Second', { exact: true }).waitFor();
  await expect.poll(() => answer.inputValue()).toBe('');
  await row(page, first).click();
  await thread(page, first).getByText('First', { exact: true }).waitFor();
  await expect.poll(() => answer.inputValue()).toBe('Half a sent');
});

test('the inbox can be used by keyboard', async () => {
  const { page } = await site.signIn();
  const [older, newer] = [nextPerson(), nextPerson()];
  await write(older, 'The older one');
  await page.goto(site.url('/inbox'));
  await row(page, older).waitFor();
  await write(newer, 'The newer one');
  await row(page, newer).focus();
  await page.keyboard.press('j');
  await expect.poll(() => row(page, older).evaluate((link) => link === document.activeElement)).toBe(true);
  await page.keyboard.press('Enter');
  await thread(page, older).getByText('The older one').waitFor();
  const answer = page.getByRole('textbox', { name: 'Reply' });
  await answer.waitFor();
  await page.keyboard.press('r');
  await answer.and(page.locator(':focus')).waitFor();
  await page.keyboard.type('Right away');
  await expect.poll(() => answer.inputValue()).toBe('Right away');
  await page.getByText('1 part', { exact: true }).waitFor();
});

test('scrolling up loads older messages, and the view keeps its position', async () => {
  const { page } = await site.signIn();
  const person = nextPerson();
  await write(person, 'Hello');
  await openConversation(page, person);
  const bubbles = thread(page, person).getByRole('listitem').filter({ hasText: 'wrote:' });
  for (let n = 0; n < 60; n++) await send(person, `Message ${n}.`);
  await bubbles.nth(60).waitFor();
  await page.reload();
  await expect.poll(() => bubbles.count()).toBe(40);
  const words = await bubbles.first().innerText();
  const seen = bubbles.filter({ hasText: /Message \d+\./.exec(words)?.[0] ?? 'nothing' });
  const top = async (): Promise<number> => (await seen.boundingBox())?.y ?? Number.NaN;
  await seen.scrollIntoViewIfNeeded();
  await bubbles.nth(60).waitFor();
  const before = await until('the view to be still', async () => {
    const was = await top();
    await settle(page);
    return was === (await top()) && was;
  });
  expect(before).toBeGreaterThan(0);
  expect(before).toBeLessThan(900);
  await write(person, 'One more');
  await bubbles.nth(61).waitFor();
  await expect.poll(top).toBeCloseTo(before, -1);
});

test('filters are kept in the URL and after a reload', async () => {
  const { page } = await site.signIn();
  const [texting, chatting] = [nextPerson(), nextPerson()];
  await write(texting, 'By SMS');
  await write(chatting, 'By RCS', 'RCS');
  await page.goto(site.url('/inbox'));
  await row(page, chatting).waitFor();
  await row(page, texting).waitFor();
  await page.getByRole('button', { name: 'More filters' }).click();
  await page.getByLabel('All channels').selectOption('RCS');
  await row(page, texting).waitFor({ state: 'detached' });
  await expect.poll(() => page.url()).toContain('channel=RCS');
  await page.reload();
  await row(page, chatting).waitFor();
  expect(await row(page, texting).count()).toBe(0);
  await page.getByRole('button', { name: 'Filters set: 1' }).click();
  await page.getByLabel('Any assignee').selectOption('me');
  await page.getByText('No conversations match').waitFor();
  await page.getByRole('button', { name: 'Show all conversations' }).click();
  await row(page, texting).waitFor();
});

test('without the live stream, messages are polled and the interruption is shown', async () => {
  const { page, watch } = await site.signIn();
  await page.route('**/conversations/stream*', (route) => route.abort());
  watch.expect('conversations/stream');
  watch.expect('Failed to load resource');
  await page.goto(site.url('/inbox'));
  await page.getByText('Live updates are interrupted.').waitFor();
  const person = nextPerson();
  await write(person, 'Anybody there?');
  await row(page, person).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('viewers see conversations without marking them as read, and why they cannot reply', async () => {
  const { page, watch } = await site.signIn(await site.person('viewer'));
  const person = nextPerson();
  await write(person, 'Hello viewer');
  await openConversation(page, person, 'Hello viewer');
  await page.getByText('Your role is read-only here. Ask an administrator.').waitFor();
  await row(page, person).getByText('1 unread message').waitFor();
  expect(watch.problems()).toEqual([]);
});

test('a conversation is started with a person who has never written', async () => {
  const { page, watch } = await site.signIn();
  const person = nextPerson();
  await page.goto(site.url('/inbox'));
  await page.getByRole('button', { name: 'New conversation' }).click();
  const dialog = page.getByRole('dialog', { name: 'New conversation' });
  await dialog.getByLabel('To', { exact: false }).first().fill('12');
  await dialog.getByLabel('From').fill('9000');
  await dialog.getByLabel('Text').fill('Your order is ready');
  watch.expect('400');
  await dialog.getByRole('button', { name: 'Send', exact: true }).click();
  await dialog
    .getByRole('alert')
    .getByText(/Not sent: destination/)
    .waitFor();
  await dialog.getByLabel('To', { exact: false }).first().fill(person);
  await dialog.getByRole('button', { name: 'Send', exact: true }).click();
  await thread(page, person).getByText('Your order is ready', { exact: true }).waitFor();
  expect(watch.problems()).toEqual([]);
});

testAtNight('the inbox and a conversation are accessible and no wider than the window', async () => {
  const window = await site.signIn();
  const { page } = window;
  const person = 'Maximilian-Alexander Oberhuber-Castelbarco';
  await writeOnWhatsapp(person, 'How much is it?');
  await page.goto(site.url('/inbox'));
  await row(page, person).waitFor();
  await checkPage(window, 'inbox');
  await row(page, person).click();
  await thread(page, person).getByText('How much is it?').waitFor();
  await page.getByRole('textbox', { name: 'Reply' }).fill('12 euro');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await thread(page, person)
    .getByText(/Delivered|Read/)
    .waitFor();
  await checkPage(window, 'inbox-conversation');
});

testAtNight('the dialogs of the inbox are accessible and no wider than the window', async () => {
  const window = await site.signIn();
  const { page } = window;
  const person = 'Carla Neri';
  await writeOnWhatsapp(person, 'And this one?');
  await openConversation(page, person, 'And this one?');
  await page.getByRole('button', { name: 'Template' }).click();
  await page.getByRole('group', { name: 'Preview' }).waitFor();
  await checkPage(window, 'inbox-template');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'File' }).click();
  await page.getByRole('list', { name: 'Files' }).waitFor();
  await checkPage(window, 'inbox-file');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByLabel('From').waitFor();
  await checkPage(window, 'inbox-new');
});
