import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkPage, testAtNight } from './check-page.ts';
import { openSite, type Site } from './harness.ts';

let site: Site;
let png: Buffer;
beforeAll(async () => {
  png = await sharp({ create: { width: 400, height: 200, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

const picture = (name: string) => ({ name, mimeType: 'image/png', buffer: png });
const SVG = {
  name: 'logo.svg',
  mimeType: 'image/svg+xml',
  buffer: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
};

/** A window with the library, and its file input. */
async function openLibrary() {
  const window = await site.signIn();
  await window.page.goto(site.url('/media'));
  await window.page.getByRole('button', { name: 'Choose files' }).waitFor();
  return { ...window, files: window.page.locator('input[type=file]') };
}

test('each of several uploads is reported by name: a PNG is accepted, an SVG rejected', async () => {
  const { page, watch, files } = await openLibrary();
  watch.expect('400');
  await files.setInputFiles([picture('shop.png'), SVG]);
  const uploads = page.getByRole('list', { name: 'Uploads' });
  await uploads.getByRole('listitem').filter({ hasText: 'shop.png' }).getByText('Uploaded').waitFor();
  await uploads
    .getByRole('listitem')
    .filter({ hasText: 'logo.svg' })
    .getByText(/Upload failed: file: must be JPEG, PNG, GIF or MP4/)
    .waitFor();
  await page.getByRole('button', { name: /^Details of shop\.png/ }).waitFor();
  expect(await page.getByRole('button', { name: /^Details of logo\.svg/ }).count()).toBe(0);
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await uploads.waitFor({ state: 'detached' });
  expect(watch.problems()).toEqual([]);
});

test('revoked links stop working, and a deleted file is gone', async () => {
  const { page, watch, files } = await openLibrary();
  await files.setInputFiles([picture('given.png')]);
  await page.getByRole('button', { name: /^Details of given\.png/ }).click();
  const panel = page.getByRole('dialog', { name: 'given.png' });
  await panel.getByText('400 × 200 pixels').waitFor();
  const href = await panel.getByRole('link', { name: 'Open' }).getAttribute('href');
  const link = new URL(href ?? '', site.url('/'));
  expect((await fetch(link)).status).toBe(200);
  await panel.getByRole('button', { name: 'Revoke all links' }).click();
  await page
    .getByRole('dialog', { name: /^Revoke all links to/ })
    .getByRole('button', { name: 'Revoke links' })
    .click();
  await page.getByText('Links to “given.png” revoked').waitFor();
  expect((await fetch(link)).status).not.toBe(200);
  await panel.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog', { name: 'Delete “given.png”?' }).getByRole('button', { name: 'Delete file' }).click();
  await page.getByText('“given.png” deleted').waitFor();
  await page.getByRole('button', { name: /^Details of given\.png/ }).waitFor({ state: 'detached' });
  expect(watch.problems()).toEqual([]);
});

test('files are filtered by name and type, and the URL keeps both', async () => {
  const { page, files } = await openLibrary();
  await files.setInputFiles([picture('autumn.png'), picture('winter.png')]);
  await page.getByRole('button', { name: /^Details of winter\.png/ }).waitFor();
  await page.getByLabel('Search by name').fill('AUTU');
  await page.getByRole('button', { name: /^Details of winter\.png/ }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: /^Details of autumn\.png/ }).waitFor();
  await page.getByLabel('All types').selectOption('video/mp4');
  await page.getByText('No files match').waitFor();
  await page.reload();
  await page.getByText('No files match').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByRole('button', { name: /^Details of winter\.png/ }).waitFor();
});

test('viewers cannot upload and see why', async () => {
  const { page } = await site.signIn(await site.person('viewer'));
  await page.goto(site.url('/media'));
  await page.getByRole('button', { name: 'Choose files' }).focus();
  await page.getByRole('tooltip').getByText('Your role is read-only').waitFor();
  expect(await page.locator('input[type=file]').count()).toBe(0);
});

testAtNight('the library, a file and its dialog are accessible and no wider than the window', async () => {
  const { page, watch, files } = await openLibrary();
  await files.setInputFiles([picture('a rather long name of a picture that was taken on a Saturday.png')]);
  await page.getByText('Uploaded', { exact: true }).waitFor();
  await page.getByRole('button', { name: /^Details of a rather/ }).waitFor();
  await checkPage({ page, watch }, 'media');
  await page.getByRole('button', { name: /^Details of a rather/ }).click();
  await page.getByText('400 × 200 pixels').waitFor();
  await checkPage({ page, watch }, 'media-file');
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete file' }).waitFor();
  await checkPage({ page, watch }, 'media-delete');
});
