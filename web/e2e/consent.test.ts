import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { notifySandbox } from '../../src/sandbox/sandbox-store.ts';
import { until } from '../../test/support/until.ts';
import { checkPage } from './check-page.ts';
import { openSite, type Site } from './harness.ts';

const PG = '/api/partner-gateway/v1';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

const get = async <T>(path: string): Promise<T> => (await site.program.client.request('GET', `${PG}${path}`)).body as T;
const post = (path: string, body: object) => site.program.client.request('POST', `${PG}${path}`, { body });
const optOuts = async (): Promise<string[]> =>
  (await get<{ data: { to: string; channel: string }[] }>('/opt-outs')).data.map(
    ({ to, channel }) => `${to} ${channel}`,
  );

async function write(from: string, text: string): Promise<void> {
  await notifySandbox(site.program.pool, JSON.stringify({ channel: 'SMS', from, to: '9000', text }));
  await until('the wish', async () =>
    (await get<{ to: string }[]>('/consents/suspected')).some(({ to }) => to === from),
  );
}
const wishes = (page: Page) => page.getByRole('region', { name: /may want no more messages/ });

test('wishes for no more messages are on top of the inbox, and are decided there', async () => {
  const [leaving, staying] = ['+393336612340', '+393336612341'];
  await write(leaving, "Please don't text me any more");
  await write(staying, 'Remove me from the second list, not from this one');
  const window = await site.signIn();
  const { page } = window;
  await page.goto(site.url('/inbox'));
  await wishes(page).getByText("Please don't text me any more").waitFor();
  await checkPage(window, 'inbox-wishes');
  await wishes(page).getByRole('button', { name: 'Opt out' }).first().click();
  await page.getByText(`${leaving} opted out`).waitFor();
  await wishes(page).getByRole('button', { name: 'Not a stop' }).click();
  await page.getByText(`${staying} gets messages as before`).waitFor();
  await expect.poll(() => wishes(page).count()).toBe(0);
  expect(await optOuts()).toEqual([`${leaving} SMS`]);
});

test('opt-outs are listed, imported and exported', async () => {
  const window = await site.signIn();
  const { page } = window;
  await page.goto(site.url('/contacts/opt-outs'));
  await page.getByRole('button', { name: 'Import opt-outs' }).click();
  const dialog = page.getByRole('dialog', { name: 'Import opt-outs' });
  await dialog.getByLabel('Numbers').fill('+39 333 661 2350\n+39 333 661 2351');
  await dialog.getByLabel('Channel').selectOption('SMS');
  await dialog.getByRole('button', { name: 'Import opt-outs' }).click();
  await page.getByText('2 opt-outs added').waitFor();
  await page.getByText('+393336612350').waitFor();
  await checkPage(window, 'opt-outs');
  await page.getByRole('button', { name: 'Export', exact: true }).click();
  await page.getByText('The file will be under Exports').waitFor();
  await page.goto(site.url('/exports'));
  await page.getByText('Opt-outs').first().waitFor();
});

test('a person is erased from the page of the contact, after the counts are shown', async () => {
  const { body } = await post('/contacts', { phoneNumber: '+393336612360', fullName: 'Zoe Quillfeather' });
  const { id } = body as { id: number };
  const window = await site.signIn();
  const { page } = window;
  await page.goto(site.url(`/contacts/${id}`));
  await page.getByRole('button', { name: 'Erase person' }).click();
  const dialog = page.getByRole('dialog', { name: 'Erase Zoe Quillfeather everywhere?' });
  await dialog.getByText(/other entr/).waitFor();
  await checkPage(window, 'erase');
  await dialog.getByRole('textbox').fill('+393336612360');
  await dialog.getByRole('button', { name: 'Erase' }).click();
  await page.getByText('The person will be erased').waitFor();
  await until('the end of the contact', async () => {
    const { status } = await site.program.client.request('GET', `${PG}/contacts/${id}`);
    return status === 404;
  });
});
