import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkPage, testAtNight } from './check-page.ts';
import { enter, openSite, type Site } from './harness.ts';
import { textOf } from './text-of.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

test('a user is added, signs in with the given password, and changes it', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/users'));
  await page.getByRole('button', { name: 'Add user' }).click();
  await page.getByLabel('Username').fill('anna');
  await page.getByRole('button', { name: 'Suggest password' }).click();
  await page.getByRole('radio', { name: 'Viewer' }).check();
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('button', { name: 'I’ve copied it' }).waitFor();
  const password = await textOf(page.getByLabel('Password', { exact: true }));
  expect(password.length).toBeGreaterThanOrEqual(12);
  await page.getByRole('button', { name: 'I’ve copied it' }).click();
  await page.getByRole('row', { name: /anna.*Viewer/ }).waitFor();

  const anna = await site.signIn({ username: 'anna', password });
  await anna.page.goto(site.url('/'));
  await anna.page.getByRole('button', { name: /sign out/ }).click();
  await anna.page.getByRole('menuitem', { name: 'Your profile' }).click();
  const own = 'a password of her own';
  const fill = async (current: string, again: string): Promise<void> => {
    await anna.page.getByLabel('Current password').fill(current);
    await anna.page.getByLabel('New password', { exact: true }).fill(own);
    await anna.page.getByLabel('Confirm new password').fill(again);
    await anna.page.getByRole('button', { name: 'Change password' }).click();
  };
  await fill(password, 'something else');
  await anna.page.getByText('The passwords do not match').waitFor();
  anna.watch.expect('400');
  await fill('not her password', own);
  await anna.page.getByText('is not the current password').waitFor();
  await fill(password, own);
  await anna.page.getByText('Password changed').waitFor();
  await site.signIn({ username: 'anna', password: own });
  expect([...watch.problems(), ...anna.watch.problems()]).toEqual([]);
});

test('what is shown only once stays until its button is pressed', async () => {
  const { page, watch } = await site.signIn();
  const dialog = page.getByRole('dialog');
  const close = async (name: string): Promise<void> => {
    const button = dialog.getByRole('button', { name });
    await button.waitFor();
    await page.keyboard.press('Escape');
    expect(await dialog.getByRole('button', { name: 'Close' }).count()).toBe(0);
    await button.click();
    await dialog.waitFor({ state: 'detached' });
  };
  await page.goto(site.url('/users'));
  await page.getByRole('button', { name: 'Invite person' }).click();
  await page.getByLabel('Email').fill('carla@example.com');
  await page.getByRole('button', { name: 'Invite', exact: true }).click();
  const first = await textOf(dialog.getByLabel('Invitation link', { exact: true }));
  await close('Done');

  await page.getByRole('button', { name: 'Send the invitation to carla@example.com again' }).click();
  const second = await textOf(dialog.getByLabel('Invitation link', { exact: true }));
  expect(second).not.toBe(first);
  await close('Done');

  await page.getByRole('button', { name: 'Add user' }).click();
  await page.getByLabel('Username').fill('carla');
  await page.getByRole('button', { name: 'Suggest password' }).click();
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await close('I’ve copied it');

  await page.getByRole('button', { name: 'Set a new password for carla' }).click();
  await page.getByRole('button', { name: 'Suggest password' }).click();
  await page.getByRole('button', { name: 'Set password' }).click();
  await close('I’ve copied it');

  // Another dialog closes again as usual.
  await page.getByRole('button', { name: 'Add user' }).click();
  await dialog.getByRole('button', { name: 'Close' }).waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  expect(watch.problems()).toEqual([]);
});

test('a role is changed, a password is set, and the user must sign in at their next request', async () => {
  const person = await site.person('sender');
  const theirs = await site.signIn(person);
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/users'));
  await page.getByRole('button', { name: `Change the role of ${person.username}` }).click();
  await page.getByRole('radio', { name: 'Administrator' }).check();
  await page.getByRole('dialog').getByRole('button', { name: 'Change role' }).click();
  await page.getByRole('row', { name: new RegExp(`${person.username}.*Administrator`) }).waitFor();

  await page.getByRole('button', { name: `Set a new password for ${person.username}` }).click();
  await page.getByRole('dialog').getByLabel('New password').fill('short');
  await page.getByRole('button', { name: 'Set password' }).click();
  await page.getByText('Use at least 12 characters').waitFor();
  await page.getByRole('dialog').getByLabel('New password').fill('another long one');
  await page.getByRole('button', { name: 'Set password' }).click();
  await page.getByRole('button', { name: 'I’ve copied it' }).click();

  theirs.watch.expect('401');
  await theirs.page.goto(site.url('/contacts'));
  await theirs.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await enter(theirs.page, { username: person.username, password: 'another long one' });
  await theirs.page.getByRole('heading', { name: 'Contacts', exact: true }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('before a user is removed, their keys are listed, and then revoked', async () => {
  const person = await site.person('admin');
  const made = await fetch(site.url('/api/partner-gateway/v1/authentication'), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Basic ${Buffer.from(`${person.username}:${person.password}`).toString('base64')}`,
    },
    body: JSON.stringify({ name: 'Shop of theirs' }),
  });
  const { apiKey }: { apiKey: string } = JSON.parse(await made.text());
  const call = async (): Promise<number> =>
    (await fetch(site.url('/api/partner-gateway/v1/subscription'), { headers: { 'x-api-key': apiKey } })).status;
  expect(await call()).toBe(200);
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/users'));
  await page.getByRole('button', { name: `Remove ${person.username}` }).click();
  const dialog = page.getByRole('dialog', { name: `Remove “${person.username}”?` });
  await dialog.getByText('Shop of theirs').waitFor();
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await page.getByText(`“${person.username}” removed`).waitFor();
  expect(await call()).toBe(401);
  expect(watch.problems()).toEqual([]);
});

test('actions that are not allowed on a user are disabled and say why', async () => {
  const admin = await site.person('admin');
  const { page, watch } = await site.signIn(admin);
  await page.goto(site.url('/users'));
  const remove = page.getByRole('button', { name: `Remove ${admin.username}`, exact: true, disabled: true });
  await remove.focus();
  await page.getByRole('tooltip').getByText('You cannot remove yourself. Ask another administrator.').waitFor();
  await remove.press('Enter');
  await page.getByRole('button', { name: 'Add user' }).click();
  await page.getByRole('radio', { name: 'Manager' }).waitFor();
  // The one for the new user, and none to remove oneself.
  expect(await page.getByRole('dialog').count()).toBe(1);
  expect(watch.problems()).toEqual([]);
});

testAtNight('the pages and their dialogs are accessible and no wider than the window', async () => {
  const window = await site.signIn();
  const { page } = window;
  await page.goto(site.url('/users'));
  await page.getByRole('row', { name: new RegExp(site.owner.username) }).waitFor();
  await checkPage(window, 'users');
  await page.getByRole('button', { name: 'Add user' }).click();
  await page.getByRole('radio', { name: 'Viewer' }).waitFor();
  await checkPage(window, 'users-create');
  await page.goto(site.url('/profile'));
  await page.getByLabel('Current password').waitFor();
  await checkPage(window, 'profile');
});
