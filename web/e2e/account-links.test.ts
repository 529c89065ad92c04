import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MailServer, startMailServer } from '../../test/support/mail-server.ts';
import { checkPage } from './check-page.ts';
import { enter, openSite, type Site } from './harness.ts';

const PASSWORD = 'correct horse battery';

let site: Site;
let mails: MailServer;
beforeAll(async () => {
  mails = await startMailServer();
  const environment = {
    SMTP_URL: mails.url,
    MAIL_FROM: 'messages@example.com',
    PUBLIC_URL: 'https://console.example.com',
  };
  site = await openSite({ environment });
});
afterAll(async () => {
  await site[Symbol.asyncDispose]();
  await mails[Symbol.asyncDispose]();
});

/** Returns the link in a mail as the browser of the test reaches it. */
function linkIn(text: string): string {
  const path = /https:\/\/console\.example\.com(\/\S+)/.exec(text)?.[1];
  if (path === undefined) throw new Error(`no link in ${text}`);
  return site.url(path);
}

test('an admin invites a person, who chooses a password, forgets it and chooses another one', async () => {
  const admin = await site.signIn();
  await admin.page.goto(site.url('/users'));
  await admin.page.getByRole('button', { name: 'Invite person' }).click();
  await admin.page.getByLabel('Email').fill('anna@example.com');
  await admin.page.getByRole('button', { name: 'Invite', exact: true }).click();
  await admin.page.getByText('A mail to anna@example.com is on its way.').waitFor();
  await admin.page.getByRole('button', { name: 'Done' }).click();
  await admin.page.getByRole('button', { name: 'Revoke the invitation of anna@example.com' }).waitFor();
  await checkPage(admin, 'users-invitations');

  const window = await site.window();
  const { page } = window;
  await page.goto(linkIn((await mails.mailTo('anna@example.com')).text));
  await page.getByText('You are invited to the account “Acme”.').waitFor();
  await checkPage(window, 'accept-invitation');
  await page.getByLabel('New password', { exact: true }).fill(PASSWORD);
  await page.getByLabel('Confirm new password').fill('another');
  await page.getByRole('button', { name: 'Accept invitation' }).click();
  await page.getByText('The passwords do not match').waitFor();
  await page.getByLabel('Confirm new password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Accept invitation' }).click();
  await page.getByText('Welcome. Sign in as anna@example.com with your password.').waitFor();

  await page.getByRole('link', { name: 'Go to sign-in' }).click();
  await page.getByRole('link', { name: 'Forgotten password?' }).click();
  // The sign-in page has a field of the same name.
  await page.getByRole('button', { name: 'Send link' }).waitFor();
  await page.getByLabel('Username').fill('anna@example.com');
  await checkPage(window, 'forgotten-password');
  await page.getByRole('button', { name: 'Send link' }).click();
  await page.getByText('a mail is on its way').waitFor();
  await page.goto(linkIn((await mails.mailTo('anna@example.com', 2)).text));
  const next = 'another horse, another battery';
  await page.getByLabel('New password', { exact: true }).fill(next);
  await page.getByLabel('Confirm new password').fill(next);
  await page.getByRole('button', { name: 'Save password' }).click();
  await page.getByText('Your password is changed').waitFor();
  await page.getByRole('link', { name: 'Go to sign-in' }).click();
  await enter(page, { username: 'anna@example.com', password: next });
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
});

test('a password that is the username is refused at its field, in the language of the page', async () => {
  const username = 'benedetta@example.com';
  const admin = await site.signIn();
  await admin.page.goto(site.url('/users'));
  await admin.page.getByRole('button', { name: 'Invite person' }).click();
  await admin.page.getByLabel('Email').fill(username);
  await admin.page.getByRole('button', { name: 'Invite', exact: true }).click();
  const { page, watch } = await site.window({ locale: 'it-IT' });
  watch.expect(/400/);
  await page.goto(linkIn((await mails.mailTo(username)).text));
  await page.getByLabel('Nuova password', { exact: true }).fill(username);
  await page.getByLabel('Conferma la nuova password').fill(username);
  await page.getByRole('button', { name: 'Accetta l’invito' }).click();
  await page.getByText('La password non può essere uguale al nome utente').waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
  expect(watch.problems()).toEqual([]);
});

test.each([
  ['en-GB', 'This invitation is not valid any more: it was accepted or revoked, or has expired.'],
  ['it-IT', 'Questo invito non è più valido: è stato accettato o revocato, oppure è scaduto.'],
])('an invitation that is not valid any more says so in %s', async (locale, text) => {
  const window = await site.window({ locale });
  window.watch.expect(/400/);
  await window.page.goto(site.url(`/accept-invitation#${'A'.repeat(43)}`));
  await window.page.getByRole('alert').getByText(text).waitFor();
  expect(await window.page.getByRole('textbox').count()).toBe(0);
});

test.each([
  ['en-GB', 'This link is not valid any more: it was used or has expired.'],
  ['it-IT', 'Questo link non è più valido: è già stato usato o è scaduto.'],
])('a link to a new password that is not valid any more says so in %s', async (locale, text) => {
  const { page, watch } = await site.window({ locale });
  watch.expect(/400/);
  await page.goto(site.url(`/reset-password#${'A'.repeat(43)}`));
  await page.getByRole('textbox').first().fill(PASSWORD);
  await page.getByRole('textbox').last().fill(PASSWORD);
  await page.locator('button[type="submit"]').click();
  await page.getByRole('alert').getByText(text).waitFor();
});
