import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkPage } from './check-page.ts';
import { openSite, type Site } from './harness.ts';
import { textOf } from './text-of.ts';

const GATEWAY = '/api/partner-gateway/v1';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

test('a service is added, whose secret is shown once, changed without losing its other settings, and deleted', async () => {
  const window = await site.signIn();
  const { page } = window;
  await page.goto(site.url('/verify'));
  await page.getByText('No services').waitFor();
  await checkPage(window, 'verify-empty');

  await page.getByRole('button', { name: 'Add service' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Sign-in');
  await dialog.getByLabel('Brand').fill('Acme');
  await dialog.getByLabel('Countries').fill('it, tj');
  await dialog.getByLabel('Most money per day').fill('150');
  await checkPage(window, 'verify-service');
  await dialog.getByRole('button', { name: 'Add service' }).click();
  expect(await textOf(page.getByLabel('Challenge secret', { exact: true }))).toMatch(/^[0-9a-f]{64}$/);
  await page.getByRole('button', { name: 'I have stored it' }).click();

  await page.getByRole('cell', { name: 'Sign-in', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Change Sign-in' }).click();
  await dialog.getByLabel('Guard').selectOption('Standard');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Service changed').waitFor();
  const services = await site.program.client.request('GET', `${GATEWAY}/verify/services`);
  expect(services.body).toMatchObject([
    {
      workflow: [{ channel: 'SMS' }],
      guard: { mode: 'standard', countries: { allow: ['IT', 'TJ'] }, maxCostPerDay: 150 },
    },
  ]);

  await page.getByRole('button', { name: 'Delete Sign-in' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete service' }).click();
  await page.getByText('No services').waitFor();
});

test('the page shows what became of codes and what the guard has stopped, and ranges are blocked and released', async () => {
  const { client } = site.program;
  const post = (path: string, body: object) => client.request('POST', `${GATEWAY}${path}`, { body });
  const guard = { countries: { block: ['TJ'] } };
  const service = await post('/verify/services', { name: 'Shop', brand: 'Acme', guard });
  const { id: serviceId } = service.body as { readonly id: string };
  const statuses: number[] = [];
  for (const to of ['+393331240001', '+393471240002', '+393281240003', '+992440123456'])
    statuses.push((await post('/verifications', { serviceId, to, ip: '203.0.113.7' })).status);
  expect(statuses).toEqual([201, 201, 201, 403]);

  const window = await site.signIn();
  const { page } = window;
  await page.goto(site.url('/verify'));
  await page
    .getByRole('row', { name: /^Italy/ })
    .getByText('3')
    .first()
    .waitFor();
  await page.getByRole('row', { name: /^Tajikistan/ }).waitFor();
  await page.getByRole('button', { name: 'Block a range' }).click();
  await page.getByRole('dialog').getByLabel('Beginning of the numbers').fill('+992 44012');
  await checkPage(window, 'verify-range');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  const range = page.getByRole('row', { name: /\+99244012/ });
  await range.getByText('Blocked').waitFor();
  await range.getByRole('button', { name: /Release/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Release range' }).click();
  await range.getByText('Released').waitFor();
  await checkPage(window, 'verify');
});
