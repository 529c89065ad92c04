import { afterAll, beforeAll, expect, test } from 'vitest';
import { violations, WCAG } from './axe.ts';
import { takeShot } from './check-page.ts';
import { openSite, type Site } from './harness.ts';
import { settle } from './settle.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

test('the filters of a list are saved under a name, opened again from the list, and deleted', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/messages?status=UNDELIVERABLE&days=30'));
  await page.getByRole('button', { name: 'Views' }).click();
  const views = page.getByRole('dialog', { name: 'Views' });
  await views.getByLabel('Name').fill('Not delivered');
  await settle(page);
  await takeShot(page, 'saved-views', { fullPage: false });
  expect(await violations(page, WCAG)).toEqual([]);
  await views.getByRole('button', { name: 'Save this view' }).click();
  await page.getByText('View “Not delivered” saved').waitFor();
  await page.goto(site.url('/messages'));
  await page.getByRole('button', { name: 'Views' }).click();
  await views.getByRole('button', { name: 'Not delivered', exact: true }).click();
  await page.waitForURL('**/messages?status=UNDELIVERABLE&days=30');
  await page.getByRole('button', { name: 'Views' }).click();
  await views.getByRole('button', { name: 'Delete the view “Not delivered”' }).click();
  await views.getByText('No saved views yet.').waitFor();
  await page.goto(site.url('/messages'));
  await page.getByRole('heading', { name: 'Messages' }).waitFor();
  await settle(page);
  expect(await page.getByRole('button', { name: 'Views' }).count()).toBe(0);
  expect(watch.problems()).toEqual([]);
});

test('a view belongs to one list', async () => {
  const { page } = await site.signIn();
  await page.goto(site.url('/messages?status=EXPIRED'));
  await page.getByRole('button', { name: 'Views' }).click();
  const views = page.getByRole('dialog', { name: 'Views' });
  await views.getByLabel('Name').fill('Expired');
  await views.getByRole('button', { name: 'Save this view' }).click();
  await page.getByText('View “Expired” saved').waitFor();
  await page.goto(site.url('/lists?q=x'));
  await page.getByRole('button', { name: 'Views' }).click();
  await views.getByText('No saved views yet.').waitFor();
});
