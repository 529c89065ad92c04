import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exec, sql } from '../../src/core/db/query.ts';
import { TEST_CERT } from '../../test/support/http/certificate.ts';
import { type Receiver, startReceiver } from '../../test/support/http/receiver.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { checkPage } from './check-page.ts';
import { openSite, type Person, type Site } from './harness.ts';
import { textOf } from './text-of.ts';

let site: Site;
let receiver: Receiver;
let operator: Person;
beforeAll(async () => {
  receiver = await startReceiver();
  const caFile = join(await temporaryFolder('heliograph-ca-'), 'ca.pem');
  await writeFile(caFile, TEST_CERT);
  site = await openSite({
    environment: {
      WEBHOOK_CA_FILE: caFile,
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
      WEBHOOK_PORTS: String(receiver.port),
    },
  });
  operator = await site.operator();
});
afterAll(async () => {
  await site[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

async function at(path: string) {
  const window = await site.signIn(operator);
  await window.page.goto(site.url(path));
  return window;
}

/** Lets the conditions be evaluated again, as if those that are pending had held for ten minutes. */
async function hurry(): Promise<void> {
  await exec(
    site.program.pool,
    sql`WITH due AS (UPDATE alert_evaluation SET evaluated_at = now() - interval '1 day')
        UPDATE alert SET found_at = now() - interval '10 minutes' WHERE state = 'pending'`,
  );
}

test('without alerts the page says so, and an invalid recipient is refused at its field', async () => {
  const window = await at('/operator/alerts');
  const { page, watch } = window;
  await page.getByText('No open alerts').waitFor();
  await page.getByText('No one is notified of alerts yet.').waitFor();
  await checkPage(window, 'alerts-empty');
  await page.getByRole('button', { name: 'Add recipient' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('radio', { name: 'Webhook' }).check();
  await dialog.getByLabel('URL').fill('https://10.0.0.1/hook');
  watch.expect('400');
  await dialog.getByRole('button', { name: 'Add recipient' }).click();
  await dialog.getByText(/must/).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('an operator on a bad day is notified by webhook and at the bell, sees what waits, and acknowledges', async () => {
  const window = await at('/operator/alerts');
  const { page, watch } = window;
  await page.getByRole('button', { name: 'Add recipient' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('radio', { name: 'Webhook' }).check();
  await dialog.getByLabel('URL').fill(`${receiver.url}/services/T000`);
  await dialog.getByRole('checkbox', { name: 'Quiet times', exact: true }).check();
  await checkPage(window, 'alerts-add');
  await dialog.getByRole('checkbox', { name: 'Quiet times', exact: true }).uncheck();
  await dialog.getByRole('button', { name: 'Add recipient' }).click();
  const secret = await textOf(dialog.getByLabel('Signing secret', { exact: true }));
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  await page.getByRole('button', { name: 'Send test' }).click();
  await page.getByText(`Test sent to ${receiver.url}`).waitFor();
  const [tried] = await receiver.received(1);
  new Webhook(secret).verify(tried?.body ?? '', tried?.headers ?? {});

  // The only SMS connection is paused while a message waits.
  await page.goto(site.url('/operator/connections/sandbox'));
  await page.getByRole('button', { name: 'Pause…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause connection' }).click();
  await page.getByText('Paused', { exact: true }).waitFor();
  await site.program.client.send({ phoneNumber: '+393331234567', message: 'Hello' });
  await page.getByText('This connection is paused').waitFor();
  await page.getByText('1 message of 1 account is waiting.').waitFor();
  await page.goto(site.url('/operator'));
  await page.getByText('sandbox is paused, and some numbers have no other connection.').waitFor();
  await page.getByText('1 message of 1 account is waiting.').waitFor();

  await expect
    .poll(async () => {
      await hurry();
      return receiver.requests.length;
    })
    .toBe(2);
  const said = JSON.parse(receiver.requests[1]?.body ?? '') as { text: string };
  expect(said.text).toContain('Problem: sandbox is paused; 1 message of 1 account waiting');
  await page.getByRole('link', { name: '1 new alert' }).click();
  await page.getByRole('link', { name: 'sandbox is paused; 1 message of 1 account waiting' }).waitFor();
  await checkPage(window, 'alerts');
  await page.getByRole('button', { name: 'Acknowledge' }).click();
  await page.getByText('Acknowledged by', { exact: false }).waitFor();
  await page.getByRole('link', { name: '0 new alerts' }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('a condition is changed and turned off in its line', async () => {
  const { page, watch } = await at('/operator/alerts');
  await page.getByRole('button', { name: 'Edit: Messages wait too long' }).click();
  await page.getByRole('dialog').getByRole('textbox', { name: 'Seconds', exact: true }).fill('600');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByText('longer than 600 s').waitFor();
  await page.getByRole('switch', { name: 'Alert: RCS agents wait to be registered' }).press('Space');
  await page.getByText('Alert on: RCS agents wait to be registered').waitFor();
  expect(watch.problems()).toEqual([]);
});

test('system health sums up its checks in a sentence, and shows differences in a table', async () => {
  const { accountId } = site.program.account;
  await exec(
    site.program.pool,
    sql`UPDATE credit_balance SET available_micros = available_micros + 1500000 WHERE account_id = ${accountId}`,
  );
  const window = await at('/operator/health?tab=reconciliation');
  const { page } = window;
  await page.getByText('1 of 5 checks found a problem.').waitFor();
  await page.getByRole('table', { name: 'Differences' }).getByRole('cell', { name: 'Available credit' }).waitFor();
  await checkPage(window, 'operator-health-differences');
  await page.goto(site.url('/operator/health?tab=doctor'));
  await page.getByText('Mail server').waitFor();
  await checkPage(window, 'operator-health-doctor');
});
