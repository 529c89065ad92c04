import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TEST_CERT } from '../../test/support/http/certificate.ts';
import { type Receiver, startReceiver } from '../../test/support/http/receiver.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { checkPage } from './check-page.ts';
import { openSite, type Site } from './harness.ts';
import { textOf } from './text-of.ts';

let site: Site;
let receiver: Receiver;
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
});
afterAll(async () => {
  await site[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

const HOSTILE = '{"error":"disk full <img src=x onerror=alert(1)>"}';
async function send(): Promise<string> {
  const body = { phoneNumber: '+393331234567', message: 'Hello', enableNotification: true };
  const { messageId } = await site.program.client.send(body);
  return messageId ?? '';
}

test('without a webhook, the page says what it is for, and errors in the URL are shown', async () => {
  const window = await site.signIn();
  const { page, watch } = window;
  await page.goto(site.url('/webhooks'));
  await page.getByText('No webhook yet').waitFor();
  await checkPage(window, 'webhooks-empty');
  await page.getByRole('button', { name: 'Register webhook' }).click();
  await page.getByLabel('URL').fill('http://example.com/events');
  watch.expect('400');
  await page.getByRole('dialog').getByRole('button', { name: 'Register' }).click();
  await page.getByRole('dialog').getByText('must begin with https://').waitFor();
  expect(watch.problems()).toEqual([]);
});

test('a webhook is registered, its secret verifies a test event, and a rotated secret signs in addition', async () => {
  const window = await site.signIn();
  const { page, watch } = window;
  await page.goto(site.url('/webhooks'));
  await page.getByRole('button', { name: 'Register webhook' }).click();
  await page.getByLabel('URL').fill(`${receiver.url}/events`);
  await page.getByRole('dialog').getByRole('button', { name: 'Register' }).click();
  const secret = await textOf(page.getByLabel('Signing secret', { exact: true }));
  await page.getByRole('button', { name: 'I’ve copied it' }).click();

  receiver.answer({ status: 202, body: 'thank you' });
  await page.getByRole('button', { name: 'Send test event' }).click();
  const dialog = page.getByRole('dialog', { name: 'Test event' });
  await dialog.getByText('Acknowledged').waitFor();
  await dialog.getByText('202').waitFor();
  await dialog.getByText('thank you').waitFor();
  const tested = receiver.requests.at(-1);
  new Webhook(secret).verify(tested?.body ?? '', tested?.headers ?? {});
  await checkPage(window, 'webhooks-test');
  await page.getByRole('button', { name: 'Close' }).last().click();

  await page.getByRole('button', { name: 'Rotate secret' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate secret' }).click();
  const next = await textOf(page.getByLabel('Signing secret', { exact: true }));
  expect(next).not.toBe(secret);
  await page.getByRole('button', { name: 'I’ve copied it' }).click();
  await page.getByRole('button', { name: 'Send test event' }).click();
  await dialog.getByText('Acknowledged').waitFor();
  const { body = '', headers = {} } = receiver.requests.at(-1) ?? {};
  for (const each of [secret, next]) new Webhook(each).verify(body, headers);
  await page.getByRole('button', { name: 'Close' }).last().click();

  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('Endpoint paused; its events wait').waitFor();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByText('Endpoint resumed').waitFor();
  expect(watch.problems()).toEqual([]);
});

test('an endpoint is changed, and one of several is chosen with its own log', async () => {
  const window = await site.signIn();
  const { page, watch } = window;
  await page.goto(site.url('/webhooks'));
  await page.getByRole('button', { name: 'Change' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('Orders');
  await checkPage(window, 'webhooks-change');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Orders' }).waitFor();
  await page.getByRole('button', { name: 'Register webhook' }).click();
  await page.getByRole('dialog').getByLabel('URL').fill(`${receiver.url}/failures`);
  await page.getByRole('dialog').getByLabel('Name').fill('Failures');
  await page.getByLabel('Of sent messages, only failures').check();
  await page.getByRole('dialog').getByRole('button', { name: 'Register' }).click();
  await page.getByRole('button', { name: 'I’ve copied it' }).click();
  await page.getByRole('button', { name: 'Failures' }).click();
  await page.getByText('failedOnly: true').waitFor();
  await page.getByText('No events yet').waitFor();
  await checkPage(window, 'webhooks-several');
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete webhook' }).click();
  await page.getByRole('heading', { name: 'Orders' }).waitFor();
  expect(watch.problems()).toEqual([]);
});

test('a failed event shows the response as text and the next attempt, and succeeds when it is resent', async () => {
  const window = await site.signIn();
  const { page, watch } = window;
  receiver.answer({ status: 500, body: HOSTILE });
  const messageId = await send();
  await page.goto(site.url(`/webhooks?message=${messageId}&status=PENDING`));
  const row = page.getByRole('row', { name: /Next attempt/ });
  await row.waitFor();
  await page.getByText(/Failing since/).waitFor();
  await checkPage(window, 'webhooks');
  await row.getByRole('button').first().click();
  const panel = page.getByRole('dialog', { name: 'Event' });
  await panel.getByText('Responded 500').first().waitFor();
  await panel.getByText('onerror=alert(1)').first().waitFor();
  await panel.getByText(`"messageId": "${messageId}"`).waitFor();
  await panel.getByText('webhook-signature: v1,').waitFor();
  await checkPage(window, 'webhooks-event');
  receiver.answer({ status: 200, body: 'repaired' });
  await panel.getByRole('button', { name: 'Resend' }).click();
  await panel.getByText('Responded 200').waitFor();
  await panel.getByText('repaired').waitFor();
  expect(watch.problems()).toEqual([]);
});

test('a range of events is resent after they were counted', async () => {
  const window = await site.signIn();
  const { page, watch } = window;
  receiver.answer({});
  const messageId = await send();
  await page.goto(site.url(`/webhooks?message=${messageId}&status=DELIVERED`));
  await page
    .getByRole('row', { name: /Acknowledged/ })
    .first()
    .waitFor();
  await page.getByRole('button', { name: 'Resend events' }).click();
  const dialog = page.getByRole('dialog', { name: 'Resend events' });
  await dialog.getByText('0 events will be resent').waitFor();
  await dialog.getByLabel('Event status').selectOption('DELIVERED');
  await dialog.getByText(/^[1-9]\d* events? will be resent/).waitFor();
  await checkPage(window, 'webhooks-replay');
  const idsOf = (from: number): Set<string | undefined> =>
    new Set(
      receiver.requests
        .slice(from)
        .filter(({ body }) => body.includes(messageId))
        .map(({ headers }) => headers['webhook-id']),
    );
  const before = receiver.requests.length;
  const ids = idsOf(0);
  await dialog.getByRole('button', { name: 'Resend' }).click();
  await page.getByText(/^Resending \d+ events?$/).waitFor();
  await expect.poll(() => idsOf(before)).toEqual(ids);
  expect(watch.problems()).toEqual([]);
});

test('the types of events are shown with the latest event of each, or an example', async () => {
  const window = await site.signIn();
  const { page, watch } = window;
  const messageId = await send();
  await page.goto(site.url(`/webhooks?message=${messageId}&type=message.delivered&status=DELIVERED`));
  await page
    .getByRole('row', { name: /Acknowledged/ })
    .first()
    .waitFor();
  await page.getByRole('tab', { name: 'Event types' }).click();
  await page.getByRole('heading', { name: 'Latest event that one of your endpoints received' }).waitFor();
  await page.getByLabel('Event type', { exact: true }).selectOption('credit.low');
  await page.getByRole('heading', { name: 'Example' }).waitFor();
  await page.getByText('"availableCredit": 4.2').waitFor();
  await checkPage(window, 'webhooks-types');
  expect(watch.problems()).toEqual([]);
});

test('a viewer can read the log and sees why nothing can be changed', async () => {
  const { page } = await site.signIn(await site.person('viewer'));
  await page.goto(site.url('/webhooks'));
  const button = page.getByRole('button', { name: 'Send test event', disabled: true });
  await button.waitFor();
  await page
    .getByRole('row', { name: /Acknowledged/ })
    .first()
    .waitFor();
  await button.hover();
  await page.getByText('Your role is read-only').waitFor();
});

test('a webhook is deleted after a confirmation that names its host', async () => {
  const { page, watch } = await site.signIn();
  await page.goto(site.url('/webhooks'));
  await page.getByRole('button', { name: 'Delete' }).click();
  const dialog = page.getByRole('dialog', { name: `Delete the webhook to localhost:${receiver.port}?` });
  await dialog.getByRole('button', { name: 'Delete webhook' }).click();
  await page.getByText('No webhook yet').waitFor();
  expect(watch.problems()).toEqual([]);
});
