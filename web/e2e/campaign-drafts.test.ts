import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callOf, confirm, idOf, numbers, SMS } from './campaign-work.ts';
import { checkPage } from './check-page.ts';
import { enter, openSite, type Site } from './harness.ts';

const LONG_MS = 240_000;
const WAIT_MS = 90_000;

let site: Site;
beforeAll(async () => {
  site = await openSite();
}, LONG_MS);
afterAll(() => site[Symbol.asyncDispose]());

const call = (method: string, path: string, body?: object) => callOf(site, method, path, body);

async function scheduled(body: object): Promise<number> {
  const id = idOf(
    await call('POST', '/campaigns', {
      ...SMS,
      destinations: numbers(3),
      readyToSend: true,
      scheduledDate: '2099-01-31T09:00:00Z',
      ...body,
    }),
  );
  return confirm(site, id);
}

const draftsOf = async (): Promise<readonly { name: string; campaignId: number | null }[]> =>
  Object.values(await call('GET', '/campaign-drafts')) as never;
const namesOfDrafts = async () => (await draftsOf()).map(({ name }) => name);
const saved = (page: Page) => page.getByText('All changes saved').waitFor();

test('half a campaign is saved while it is typed, is listed, and is continued after a reload and from the list', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/campaigns/editor'));
  await page.getByLabel('Campaign name').fill('Half done');
  await saved(page);
  await page.reload();
  await expect.poll(() => page.getByLabel('Campaign name').inputValue()).toBe('Half done');

  // What was typed in the last moment before a link is followed is there, too.
  await page.getByLabel('SMS sender').fill('Acme');
  await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'Campaigns' }).click();
  await page.getByRole('link', { name: 'Continue “Half done”' }).click();
  await expect.poll(() => page.getByLabel('SMS sender').inputValue()).toBe('Acme');
  expect(await call('GET', '/campaigns?search=Half')).toMatchObject({ total: 0 });

  await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'Campaigns' }).click();
  await page.getByRole('button', { name: 'Delete draft “Half done”' }).click();
  await page.getByRole('button', { name: 'Delete draft', exact: true }).click();
  await expect.poll(namesOfDrafts).not.toContain('Half done');
  expect(watch.problems()).toEqual([]);
});

test('without a network nothing is lost: it is said, kept in the browser through a reload, and saved afterwards', async () => {
  const { page, context, watch } = await site.signIn();
  watch.expect(/failed:|net::|503|console/);
  await page.goto(site.url('/campaigns/editor'));
  await page.getByLabel('Campaign name').fill('Tunnel');
  await saved(page);
  await context.setOffline(true);
  await page.getByLabel('SMS sender').fill('Acme');
  await page.getByText(/Not saved on the server yet/).waitFor();
  await context.setOffline(false);
  // The copy of this browser wins over the older version of the server, even when the page is reloaded immediately.
  await page.reload();
  await expect.poll(() => page.getByLabel('SMS sender').inputValue()).toBe('Acme');
  await saved(page);
  expect(await namesOfDrafts()).toContain('Tunnel');
});

test('a session that ends while a user types is renewed over the page, and what was typed is saved', async () => {
  const person = await site.person('manager');
  const { page, context, watch } = await site.signIn(person);
  watch.expect('401');
  await page.goto(site.url('/campaigns/editor'));
  await page.getByLabel('Campaign name').fill('Interrupted');
  await saved(page);
  await context.clearCookies();
  await page.getByLabel('SMS sender').fill('Acme');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Password', { exact: true }).waitFor();
  await enterAgain(page, person);
  await saved(page);
  expect(await page.getByLabel('SMS sender').inputValue()).toBe('Acme');
  expect(await namesOfDrafts()).toContain('Interrupted');
});

async function enterAgain(page: Page, person: { username: string; password: string }): Promise<void> {
  const dialog = page.getByRole('dialog');
  const name = dialog.getByLabel('Username');
  if ((await name.count()) > 0 && (await name.isEditable())) return enter(page, person);
  await dialog.getByLabel('Password', { exact: true }).fill(person.password);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
}

test('two windows never write over each other: the second is asked, and either version can be kept', async () => {
  const [one, two] = [await site.signIn(), await site.signIn()];
  for (const { watch } of [one, two]) watch.expect('409');
  await one.page.goto(site.url('/campaigns/editor'));
  await one.page.getByLabel('Campaign name').fill('Shared');
  await saved(one.page);
  await two.page.goto(one.page.url());
  await two.page.getByLabel('SMS sender').fill('Second');
  await saved(two.page);
  await one.page.getByLabel('SMS sender').fill('First');
  await one.page.getByText('Someone else has changed this draft').waitFor();
  await one.page.getByRole('button', { name: 'Load the other version' }).click();
  await expect.poll(() => one.page.getByLabel('SMS sender').inputValue()).toBe('Second');

  await two.page.getByLabel('Campaign name').fill('Shared by two');
  await saved(two.page);
  await one.page.getByLabel('SMS sender').fill('First');
  await one.page.getByRole('button', { name: 'Keep my version' }).click();
  await saved(one.page);
  await two.page.reload();
  await expect.poll(() => two.page.getByLabel('SMS sender').inputValue()).toBe('First');
});

test(
  'a scheduled campaign is changed and moved while it stays scheduled, and its changes wait until they are applied',
  async () => {
    const id = await scheduled({ name: 'New year' });
    const { page, watch } = await site.signIn();
    await page.goto(site.url(`/campaigns/${id}`));
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByText(/This campaign is scheduled for/).waitFor();
    await page.getByRole('button', { name: /Text/ }).first().click();
    await page.getByLabel('SMS text').fill('Happy new year');
    await page.keyboard.press('Escape');
    await saved(page);
    expect(await call('GET', `/campaigns/${id}`)).toMatchObject({ status: 1, smsBody: SMS.smsBody });
    await page
      .getByRole('button', { name: /Schedule/ })
      .first()
      .click();
    await page.getByLabel('Date and time').fill('2099-02-01T10:00');

    // Left and opened again, the changes are there, and the campaign is as it was.
    await page.goto(site.url(`/campaigns/editor?id=${id}&step=time`));
    await page.getByText(/changes that have not been applied/).waitFor();
    await expect.poll(() => page.getByLabel('Date and time').inputValue()).toBe('1 Feb 2099, 10:00');
    await page.getByRole('button', { name: 'Next: Review' }).click();
    await page.getByText('Happy new year').first().waitFor();
    await page.getByRole('button', { name: 'Apply changes for 3 recipients' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Apply changes' }).click();
    await page.getByRole('list', { name: 'Campaign progress' }).waitFor();
    const changed = await call('GET', `/campaigns/${id}`);
    expect(changed).toMatchObject({ status: 1, smsBody: 'Happy new year', confirmedAt: expect.any(String) });
    expect(String(changed['scheduledDate'])).toMatch(/^2099-02-01/);
    expect((await draftsOf()).map(({ campaignId }) => campaignId)).not.toContain(id);
    await call('DELETE', `/campaigns/${id}`);
    expect(watch.problems()).toEqual([]);
  },
  LONG_MS,
);

test(
  'the review shows the filled texts, every channel with its people and prices, and who is left out; a test goes to a phone',
  async () => {
    const contactIds: number[] = [];
    for (const [n, phoneNumber] of [...numbers(4), '+390612345678'].entries())
      contactIds.push(
        idOf(
          await call('POST', '/contacts', {
            phoneNumber,
            firstName: `Guest${n}`,
            ...(n === 0 && { optedOut: ['SMS'] }),
          }),
        ),
      );
    const listId = idOf(await call('POST', '/contacts/list', { name: 'Guests' }));
    await call('POST', '/contacts/list/contacts', { listIds: [listId], contactIds });
    const id = idOf(await call('POST', '/campaigns', { ...SMS, name: 'Dinner', contactListIds: [listId] }));
    const window = await site.signIn();
    const { page, watch } = window;
    await page.goto(site.url(`/campaigns/editor?id=${id}&step=review`));
    // Guest0 has opted out and Guest4 has a landline: the three others are shown.
    for (const guest of ['Guest1', 'Guest2', 'Guest3'])
      await page.getByText(`Hello ${guest}`, { exact: true }).waitFor();
    expect(await page.getByText('Hello Guest0', { exact: true }).count()).toBe(0);
    const plan = page.getByRole('table', { name: 'Plan by channel' });
    await plan.getByText('Can be reached').waitFor();
    await page.getByText('Guests', { exact: true }).first().waitFor();
    await checkPage(window, 'campaigns-review');

    const leftOut = page.getByRole('list', { name: 'Who gets no message' });
    await leftOut.getByRole('button', { name: 'Show people: Opted out' }).click();
    await page.getByRole('dialog').getByRole('link', { name: 'Guest0' }).waitFor();
    await page.keyboard.press('Escape');

    await page.getByLabel('Your phone number').fill('+393339876543');
    await page.getByLabel('Filled in for').selectOption({ label: 'Guest1' });
    await page.getByRole('button', { name: 'Send to my phone' }).click();
    await page.getByRole('list', { name: 'Test results' }).getByText('Sent').waitFor();
    expect(await call('GET', `/campaigns/${id}`)).toMatchObject({ status: 0, totalSuccess: 0 });
    expect(watch.problems()).toEqual([]);
  },
  LONG_MS,
);

test(
  'the results say why messages failed and what to do, make a draft for those not reached, and compare two campaigns',
  async () => {
    // The sandbox reports these endings as undeliverable and expired.
    const destinations = [...numbers(3), '+393335559901', '+393335559902'];
    const made = { ...SMS, name: 'Results', destinations, readyToSend: true };
    const id = idOf(await call('POST', '/campaigns', made));
    await call('POST', `/campaigns/${id}/calculateGoal`);
    await call('PUT', `/campaigns/${id}/confirm`);
    await expect.poll(async () => (await call('GET', `/campaigns/${id}`))['status'], { timeout: WAIT_MS }).toBe(3);
    const { totalFailed } = await call('GET', `/campaigns/${id}`);
    expect(totalFailed).toBe(2);
    const window = await site.signIn();
    const { page, watch } = window;
    await page.goto(site.url(`/campaigns/${id}`));
    const reasons = page.getByRole('list', { name: 'Why messages failed' });
    await reasons
      .getByText(/The numbers do not exist|The phones were not reached|The carrier/)
      .first()
      .waitFor();
    const steps = page.getByRole('list', { name: 'Funnel' });
    await steps.getByText('Replied').waitFor();
    await page.getByRole('heading', { name: 'Over time' }).waitFor();
    await checkPage(window, 'campaigns-results');

    await page.getByRole('link', { name: 'Compare…' }).click();
    await page.getByLabel('Second campaign').selectOption(String(id));
    await page.getByRole('table', { name: 'Results' }).getByText('Cost per recipient reached').waitFor();
    await checkPage(window, 'campaigns-compare');

    await page.goto(site.url(`/campaigns/${id}`));
    await page.getByRole('button', { name: 'Send again to those not reached' }).click();
    await expect.poll(() => page.getByLabel('Campaign name').inputValue()).toBe('Results (again)');
    const again = Number(new URL(page.url()).searchParams.get('id'));
    expect(await call('GET', `/campaigns/${again}`)).toMatchObject({
      status: 0,
      destinations: ['+393335559901', '+393335559902'],
    });
    expect(watch.problems()).toEqual([]);
  },
  LONG_MS,
);
