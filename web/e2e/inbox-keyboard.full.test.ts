import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { notifySandbox } from '../../src/sandbox/sandbox-store.ts';
import { until } from '../../test/support/until.ts';
import { openSite, type Site } from './harness.ts';

/** Conversations that an agent clears in an hour or two. */
const CONVERSATIONS = 200;
/** Delay between keys of a fast typist. A robot would exceed the 1,200 requests a minute of a session. */
const TYPING = { delay: 60 };
const INBOX = '/api/partner-gateway/v1/inbox';

// Two hundred conversations, each with several requests.
vi.setConfig({ testTimeout: 600_000 });

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

const personAt = (index: number): string => `+3933377${String(12_000 + index)}`;

/** Stores one inbound message from every person, the last person last. */
async function seed(): Promise<void> {
  for (let index = 0; index < CONVERSATIONS; index++) {
    const person = { channel: 'SMS', from: personAt(index), to: '9000', text: `I am ${personAt(index)}` };
    await notifySandbox(site.program.pool, JSON.stringify(person));
  }
  await until('all messages to be in the inbox', async () => (await count('inbox_message')) === CONVERSATIONS);
}

async function count(table: string): Promise<number> {
  const { rows } = await site.program.pool.query(`SELECT count(*)::int FROM ${table}`);
  return rows[0].count;
}

const add = (path: string, body: object) => site.program.client.request('POST', `${INBOX}${path}`, { body });

/** Waits until another conversation than the one before is open and shows its message; returns the person. */
async function waitForNext(page: Page, before: string): Promise<string> {
  const region = page.getByRole('region', { name: /^Messages with \+/ });
  const name = async (): Promise<string> => (await region.getAttribute('aria-label')) ?? '';
  await expect.poll(name, { timeout: 10_000 }).not.toBe(`Messages with ${before}`);
  const person = (await name()).replace('Messages with ', '');
  await region.getByText(`I am ${person}`, { exact: true }).waitFor();
  return person;
}

/** Waits until the thread shows a text. */
const shown = (page: Page, person: string, text: string) =>
  page
    .getByRole('region', { name: `Messages with ${person}` })
    .getByText(text)
    .first()
    .waitFor();

const KINDS = ['reply', 'canned', 'note', 'snooze', 'archive', 'label', 'undo'] as const;
type Kind = (typeof KINDS)[number];

/** Sends or saves what the focused field has, waits until the thread shows `text`, and leaves the field. */
async function enter(page: Page, person: string, text: string): Promise<void> {
  await page.keyboard.press('Enter');
  await shown(page, person, text);
  await page.keyboard.press('Escape');
}

/** Performs one action on the open conversation with keys and leaves it. */
async function work(page: Page, kind: Kind, person: string): Promise<void> {
  const { keyboard } = page;
  switch (kind) {
    case 'reply':
      await keyboard.press('r');
      await keyboard.type(`Answer to ${person}`, TYPING);
      await enter(page, person, `Answer to ${person}`);
      break;
    case 'canned':
      await keyboard.press('r');
      await keyboard.type('/tha', TYPING);
      await page.getByRole('option', { name: /thanks/ }).waitFor();
      await keyboard.press('Enter');
      await enter(page, person, 'Thank you for your patience');
      break;
    case 'note':
      await keyboard.press('n');
      await page.getByRole('textbox', { name: 'Note' }).and(page.locator(':focus')).waitFor();
      await keyboard.type(`Note about ${person}`, TYPING);
      await enter(page, person, `Note about ${person}`);
      break;
    case 'label':
      await keyboard.press('l');
      await page.getByRole('checkbox', { name: 'Complaint' }).and(page.locator(':focus')).waitFor();
      await keyboard.press('Space');
      await keyboard.press('Enter');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      break;
    case 'snooze':
      await keyboard.press('s');
      await page.getByRole('button', { name: /Tomorrow morning/ }).waitFor();
      await keyboard.press('Tab');
      await keyboard.press('Enter');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      return;
    case 'undo':
      await keyboard.press('e');
      await waitForNext(page, person);
      await page.getByRole('button', { name: 'Undo' }).waitFor();
      await keyboard.press('z');
      await page.getByRole('region', { name: `Messages with ${person}` }).waitFor();
      await page.getByRole('button', { name: 'Archive conversation' }).waitFor();
      break;
    case 'archive':
      break;
  }
  await keyboard.press('e');
}

/** Returns the state of a conversation in the database after this action. A snoozed one is archived for a time. */
const expected = (person: string, kind: Kind) => ({
  person,
  archived: true,
  snoozed: kind === 'snooze',
  sent: kind === 'reply' ? [`Answer to ${person}`] : kind === 'canned' ? ['Thank you for your patience'] : [],
  notes: kind === 'note' ? [`Note about ${person}`] : [],
  labels: kind === 'label' ? 1 : 0,
});

async function stored(): Promise<readonly unknown[]> {
  const { rows } = await site.program.pool.query(`
    SELECT peer AS person, archived, snoozed_until > now() IS TRUE AS snoozed,
      ARRAY(SELECT text FROM inbox_message AS m WHERE m.chat_id = c.chat_id AND direction = 'OUTBOUND') AS sent,
      ARRAY(SELECT text FROM inbox_note AS n WHERE n.chat_id = c.chat_id) AS notes,
      (SELECT count(*)::int FROM conversation_label AS l WHERE l.chat_id = c.chat_id) AS labels
    FROM conversation AS c ORDER BY peer`);
  return rows;
}

test('two hundred conversations are worked through without the mouse, and each gets exactly what was typed for it', async () => {
  await seed();
  await add('/canned-answers', { shortcut: 'thanks', text: 'Thank you for your patience' });
  await add('/labels', { name: 'Complaint', color: 'red' });
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/inbox'));
  await page.locator('[data-row]').first().waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  const done = new Map<string, Kind>();
  let before = '';
  for (let turn = 0; turn < CONVERSATIONS; turn++) {
    const person = await waitForNext(page, before);
    const kind = KINDS[turn % KINDS.length] ?? 'archive';
    await work(page, kind, person);
    expect(done.has(person), `${person} came up again after ${done.get(person)}`).toBe(false);
    done.set(person, kind);
    before = person;
  }
  await page.locator('[data-row]').first().waitFor({ state: 'detached' });
  const wanted = [...done].toSorted(([a], [b]) => a.localeCompare(b)).map(([person, kind]) => expected(person, kind));
  expect(await stored()).toEqual(wanted);
  expect(watch.problems()).toEqual([]);
});
