import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callOf, confirm, idOf, numbers, SMS } from './campaign-work.ts';
import { checkPage, testAtNight } from './check-page.ts';
import { openSite, type Site } from './harness.ts';

/** Slow campaigns, and pages in two themes and two widths, take long on a busy machine. */
const LONG_MS = 240_000;
const WAIT_MS = 90_000;

let site: Site;
beforeAll(async () => {
  site = await openSite();
}, LONG_MS);
afterAll(() => site[Symbol.asyncDispose]());

const NETWORKS = {
  whatsappTemplateId: '900000000000001',
  rcsAgentId: 'sandbox',
  rcsTemplateId: '01900000-0000-7000-8000-000000000001',
};

const call = (method: string, path: string, body?: object) => callOf(site, method, path, body);

async function listOf(name: string, phoneNumbers: readonly string[]): Promise<number> {
  const contactIds = await Promise.all(
    phoneNumbers.map(async (phoneNumber, at) =>
      idOf(await call('POST', '/contacts', { phoneNumber, firstName: `Person${at}`, fullName: `Person${at} Rossi` })),
    ),
  );
  const id = idOf(await call('POST', '/contacts/list', { name }));
  await call('POST', '/contacts/list/contacts', { listIds: [id], contactIds });
  return id;
}

const draft = async (body: object): Promise<number> => idOf(await call('POST', '/campaigns', { ...SMS, ...body }));

const confirmed = async (body: object): Promise<number> => confirm(site, await draft({ ...body, readyToSend: true }));

/** Waits for the status next to the name of a campaign, on its page. */
async function untilItIs(page: Page, status: string): Promise<void> {
  await page.getByRole('list', { name: 'Campaign progress' }).waitFor();
  const beside = page.getByRole('heading', { level: 1 }).locator('xpath=..');
  await beside.getByText(status, { exact: true }).waitFor({ timeout: WAIT_MS });
}

test(
  'a campaign is created, priced, sent, paused, resumed and completed',
  async () => {
    await listOf('Customers', numbers(30));
    const { page, watch } = await site.signIn();
    await page.goto(site.url('/campaigns'));
    await page.getByRole('button', { name: 'New campaign' }).first().click();
    await page.getByLabel('Campaign name').fill('Spring news');
    await page.getByLabel('SMS sender').fill('Acme');
    await page.getByRole('button', { name: 'Next: Recipients' }).click();
    await page.getByRole('checkbox', { name: 'Customers' }).check();
    await page.getByText('1–8 of 30').waitFor();
    await page.getByRole('button', { name: 'Next: Text' }).click();

    // The contact field is chosen by keyboard, and the preview fills it in.
    const text = page.getByLabel('SMS text');
    await text.pressSequentially('Hello {{firstN');
    await page.getByRole('option', { name: /firstName/ }).waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(() => text.inputValue()).toBe('Hello {{firstName}}');
    await text.press('End');
    await page.keyboard.type(', spring is here');
    const phone = page.getByRole('figure', { name: 'Phone preview' });
    await phone.getByText('Hello Person0, spring is here').waitFor();
    await page.getByRole('button', { name: 'Next recipient' }).click();
    await phone.getByText('Hello Person1, spring is here').waitFor();
    await page.getByRole('button', { name: 'Insert field' }).click();
    await page.getByRole('option', { name: 'First name · Person1' }).waitFor({ state: 'attached' });
    await page.getByLabel('Field', { exact: true }).selectOption('email');
    await page.getByLabel('Default value').fill('!');
    await page.getByRole('button', { name: 'Insert', exact: true }).click();
    await expect.poll(() => text.inputValue()).toBe('Hello {{firstName}}, spring is here{{email|!}}');
    await phone.getByText('Hello Person1, spring is here!').waitFor();
    await page.getByText(/This contact has no email/).waitFor();

    await page.getByRole('button', { name: 'Next: Schedule' }).click();
    await page.getByLabel('Maximum recipients per second').fill('3');
    await page.getByRole('button', { name: 'Next: Review' }).click();
    await page.getByText('Ready to send').waitFor();
    const price = page.getByRole('table', { name: 'Price breakdown' });
    await price.getByRole('row', { name: /SMS.*Italy.*30.*1.*€0.035.*€1.05/ }).waitFor();
    await page.getByRole('button', { name: 'Send to 30 recipients' }).click();
    const dialog = page.getByRole('dialog', { name: 'Send “Spring news” to 30 recipients now?' });
    await dialog.getByText(/Up to €1.05/).waitFor();
    await dialog.getByRole('button', { name: 'Send now' }).click();

    await page.getByRole('button', { name: 'Pause' }).click();
    await untilItIs(page, 'Paused');
    const id = Number(new URL(page.url()).pathname.split('/').at(-1));
    expect(await call('GET', `/campaigns/${id}`)).toMatchObject({ status: 2, paused: true });
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('30 of 30').waitFor({ timeout: WAIT_MS });
    await untilItIs(page, 'Completed');
    expect(await call('GET', `/campaigns/${id}`)).toMatchObject({ status: 3, totalSuccess: 30, actualCost: 1.05 });
    await page.getByRole('table', { name: 'Recipients' }).getByText('Delivered').first().waitFor();
    const titles = await page.getByRole('heading', { level: 2 }).allTextContents();
    expect(titles).toEqual(expect.arrayContaining(['Results', 'Messages']));
    expect(titles).toEqual([...new Set(titles)]);
    expect(watch.problems()).toEqual([]);
  },
  LONG_MS,
);

test('a campaign that another user confirms is shown as it goes on, without a reload', async () => {
  const list = await listOf('Shared', numbers(2));
  const id = await draft({ name: 'From elsewhere', contactListIds: [list], readyToSend: true });
  await call('POST', `/campaigns/${id}/calculateGoal`);
  const { page, watch } = await site.signIn();
  await page.goto(site.url(`/campaigns/${id}`));
  await untilItIs(page, 'Ready');
  await call('PUT', `/campaigns/${id}/confirm`);
  await untilItIs(page, 'Completed');
  expect(watch.problems()).toEqual([]);
});

test('a campaign is scheduled in a time zone, and deleted before it starts', async () => {
  const id = await draft({ name: 'Greetings', destinations: numbers(3) });
  const { page, watch } = await site.signIn();
  await page.goto(site.url(`/campaigns/editor?id=${id}&step=time`));
  await page.getByRole('radio', { name: /^Schedule/ }).check();
  await page.getByLabel('Date and time').fill('2030-01-31T09:00');
  const zone = page.getByRole('combobox', { name: 'Time zone' }).or(page.getByRole('textbox', { name: 'Time zone' }));
  await zone.fill('new york');
  await page.getByRole('option', { name: /^America\/New York/ }).click();
  await page.getByRole('button', { name: 'Next: Review' }).click();
  await page.getByRole('button', { name: 'Schedule for 3 recipients' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/31 Jan 2030, 09:00 \(New York\)/).waitFor();
  await dialog.getByRole('button', { name: 'Schedule' }).click();
  await untilItIs(page, 'Scheduled');
  expect(await call('GET', `/campaigns/${id}`)).toMatchObject({
    status: 1,
    scheduledDate: '2030-01-31 14:00:00.000+0000',
    totalDestinations: 3,
  });

  await page.getByRole('button', { name: 'Unschedule' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Unschedule' }).click();
  await untilItIs(page, 'Draft');
  await page.getByRole('table', { name: 'Recipients' }).getByText('Pending').first().waitFor();
  expect(await call('GET', `/campaigns/${id}`)).toMatchObject({ status: 0, confirmedAt: null });
  await call('PUT', `/campaigns/${id}`, { readyToSend: true });
  await call('PUT', `/campaigns/${id}/confirm`);
  await page.reload();
  await untilItIs(page, 'Scheduled');

  await page.getByRole('button', { name: 'Delete' }).click();
  await page
    .getByRole('dialog', { name: 'Delete “Greetings”?' })
    .getByText(/return to your credit/)
    .waitFor();
  await page.getByRole('button', { name: 'Delete campaign' }).click();
  await page.getByRole('heading', { name: 'Campaigns', level: 1 }).waitFor();
  const answer = await site.program.client.request('GET', `/api/partner-gateway/v1/campaigns/${id}`);
  expect(answer.status).toBe(404);
  expect(watch.problems()).toEqual([]);
});

test(
  'a campaign with fallback shows how many recipients moved from channel to channel',
  async () => {
    const id = await draft({
      name: 'New programme',
      sendingMode: 'WHATSAPP_RCS_SMS',
      ...NETWORKS,
      ...(await whatsappNumber()),
      destinations: ['+393401110007', '+393402220008', ...numbers(4)],
    });
    const { page, watch } = await site.signIn();
    await page.goto(site.url(`/campaigns/editor?id=${id}&step=channels`));
    const chain = page.getByRole('list', { name: 'Channel order' });
    await chain.getByLabel('Wait time for RCS').selectOption('30');
    await page.getByLabel('Longest wait for a carrier').selectOption('7200');
    await page.getByLabel('Traffic type').selectOption('PROMOTION');
    await page.getByRole('button', { name: /Review/ }).click();
    await page.getByRole('button', { name: 'Send to 6 recipients' }).click();
    await page.getByRole('button', { name: 'Send now' }).click();
    await untilItIs(page, 'Completed');
    // WhatsApp reaches neither; RCS does not reach the first.
    await page.getByText('2 recipients moved to the next channel').waitFor();
    await page.getByText('1 recipient moved to the next channel').waitFor();
    const saved = await call('GET', `/campaigns/${id}`);
    expect(saved['fallback']).toMatchObject({ after: { WHATSAPP: 3600, RCS: 30 }, maxWait: 7200 });
    expect(saved['rcsTrafficType']).toBe('PROMOTION');
    await page.getByLabel('Any status').selectOption('Delivered');
    await page
      .getByRole('row', { name: /\+393401110007/ })
      .getByText('Attempt 3')
      .waitFor();
    expect(watch.problems()).toEqual([]);
  },
  LONG_MS,
);

async function whatsappNumber(): Promise<{ whatsappPhoneNumberId: unknown }> {
  const { body } = await site.program.client.request('GET', '/api/message-server/whatsapp/phone-numbers');
  const { data } = Object(body);
  return { whatsappPhoneNumberId: data[0].phoneNumberId };
}

test('steps say what they lack, and the review lists everything that is missing or wrong, each with its step', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/campaigns/editor'));
  await page.getByRole('button', { name: 'Next: Recipients' }).click();
  await page.getByText('2 fields missing').waitFor();
  await page
    .getByRole('button', { name: /Channels/ })
    .first()
    .click();
  await page.getByLabel('Campaign name').fill('Faulty');
  await page.getByLabel('SMS sender').fill('Much too long a name');
  await page.getByRole('button', { name: /Text/ }).first().click();
  await page.getByLabel('SMS text').fill('Hello {{shoeSize}}');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /Review/ }).click();
  await page.getByText('Before you can send').waitFor();
  await page.getByText(/must have 1 to 11 letters and digits/).waitFor();
  await page.getByText('no contact has the field {{shoeSize}}').waitFor();
  await page
    .getByRole('button', { name: /Send to 0/ })
    .and(page.locator('[aria-disabled]'))
    .waitFor();
  const { data } = await call('GET', '/campaigns?search=Faulty');
  expect(data).toEqual([]);
  await page.getByRole('button', { name: 'Go to Recipients' }).click();
  await page.getByRole('heading', { name: 'Who will get it' }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('filters are kept in the URL, and a duplicate is a new draft', async () => {
  await draft({ name: 'Winter sale' });
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/campaigns?q=winter&state=DRAFT'));
  const row = page.getByRole('row', { name: /Winter sale/ });
  await row.waitFor();
  // The header and the only match.
  await expect.poll(() => page.getByRole('row').count()).toBe(2);
  await page.getByLabel('Any status').selectOption('Completed');
  await page.getByText('No campaigns match').waitFor();
  await expect.poll(() => new URL(page.url()).searchParams.get('state')).toBe('COMPLETED');
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await row.getByRole('button', { name: 'Actions for Winter sale' }).click();
  await page.getByRole('menuitem', { name: 'Duplicate' }).click();
  await expect.poll(() => page.getByLabel('Campaign name').inputValue()).toBe('Winter sale (copy)');
  expect(watch.problems()).toEqual([]);
});

test('viewers see which actions they may not use, and why', async () => {
  const id = await confirmed({ name: 'Slow', destinations: numbers(40), rate: 1 });
  await call('PUT', `/campaigns/${id}/pause`);
  const { page, watch } = await site.signIn(await site.person('viewer'));
  await page.goto(site.url('/campaigns'));
  await page.getByRole('button', { name: 'New campaign', disabled: true }).hover();
  await page.getByRole('tooltip', { name: /read-only/ }).waitFor();
  await page.getByRole('button', { name: 'Actions for Slow', exact: true }).click();
  await page.getByRole('menuitem', { name: /Duplicate.*read-only/, disabled: true }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'Slow', exact: true }).click();
  await page.getByRole('button', { name: 'Resume', disabled: true }).click({ force: true });
  await page.getByRole('tooltip', { name: /read-only/ }).waitFor();
  expect(await call('GET', `/campaigns/${id}`)).toMatchObject({ paused: true });
  await call('PUT', `/campaigns/${id}/cancel`);
  await page.goto(site.url(`/campaigns/editor?id=${await draft({ name: 'Not theirs' })}`));
  await page.getByText('Your role is read-only here. Ask an administrator.').waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
  expect(watch.problems()).toEqual([]);
});

testAtNight(
  'the list, the editor steps and the campaign page are accessible and no wider than the window',
  async () => {
    const id = await draft({
      name: 'Loyalty',
      sendingMode: 'WHATSAPP_SMS',
      ...NETWORKS,
      ...(await whatsappNumber()),
      contactListIds: [await listOf('Loyal customers', numbers(12))],
    });
    const window = await site.signIn();
    const { page } = window;
    await page.goto(site.url('/campaigns'));
    await page.getByRole('link', { name: 'Loyalty' }).waitFor();
    await checkPage(window, 'campaigns');
    const steps = [
      ['channels', 'Wait time for WhatsApp'],
      ['recipients', '1–8 of 12'],
      ['text', 'Price for this recipient'],
      ['time', 'Quiet hours'],
      ['review', 'Ready to send'],
    ] as const;
    for (const [step, shown] of steps) {
      await page.goto(site.url(`/campaigns/editor?id=${id}&step=${step}`));
      await page.getByText(shown).first().waitFor();
      await checkPage(window, `campaigns-editor-${step}`);
    }
    await page.getByRole('button', { name: 'Send to 12 recipients' }).click();
    await page.getByRole('button', { name: 'Send now' }).waitFor();
    await checkPage(window, 'campaigns-confirm');
    await page.goto(site.url(`/campaigns/${id}`));
    await page.getByRole('link', { name: 'Review and confirm' }).waitFor();
    await checkPage(window, 'campaigns-draft');
  },
  LONG_MS,
);

testAtNight(
  'a paused and a cancelled campaign and their dialogs are accessible and no wider than the window',
  async () => {
    const slow = { sendingMode: 'WHATSAPP_SMS', ...NETWORKS, ...(await whatsappNumber()), rate: 2 };
    const id = await confirmed({ name: 'Held', ...slow, destinations: ['+393401110007', ...numbers(40)] });
    await call('PUT', `/campaigns/${id}/pause`);
    const window = await site.signIn();
    const { page } = window;
    await page.goto(site.url(`/campaigns/${id}`));
    await page.getByRole('table', { name: 'Recipients' }).waitFor();
    await checkPage(window, 'campaigns-paused');
    await page.getByRole('button', { name: 'Cancel campaign' }).click();
    await page.getByRole('button', { name: 'Yes, cancel campaign' }).waitFor();
    await checkPage(window, 'campaigns-cancel');
    await page.getByRole('button', { name: 'Yes, cancel campaign' }).click();
    await untilItIs(page, 'Cancelled');
    await page.getByRole('button', { name: 'Export' }).click();
    await page.getByRole('button', { name: 'Create report' }).click();
    await page.getByRole('link', { name: 'Download' }).waitFor({ timeout: WAIT_MS });
    await checkPage(window, 'campaigns-export');
  },
  LONG_MS,
);
