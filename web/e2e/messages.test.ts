import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkPage, testAtNight } from './check-page.ts';
import { openSite, type Site } from './harness.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

async function send(phoneNumber: string, more: object = {}): Promise<string> {
  const { messageId } = await site.program.client.send({ phoneNumber, message: 'Your parcel is at the door', ...more });
  return messageId ?? '';
}

test('a message is found by number, ID and status, and the URL keeps the search', async () => {
  const arrived = await send('+393331234567', { customerMessageId: 'parcel-1' });
  const failed = await send('+393331239901', { message: 'Nobody gets this' });
  await site.program.client.untilStatus(arrived, 'DELIVERED');
  await site.program.client.untilStatus(failed, 'UNDELIVERABLE');
  const window = await site.signIn();
  const { page } = window;
  await page.goto(site.url('/messages'));
  await page.getByText('2 messages').waitFor();
  await checkPage(window, 'messages');

  await page.getByRole('searchbox', { name: 'Number, your ID or message ID' }).fill('parcel-1');
  await page.getByText('1 message', { exact: true }).waitFor();
  await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('parcel-1');
  await page.reload();
  await page.getByText('1 message', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByLabel('All statuses').selectOption('UNDELIVERABLE');
  await page.getByText('1 message', { exact: true }).waitFor();
  await page.getByText('Nobody gets this').waitFor();

  await page.getByRole('searchbox').fill('no such thing');
  await page.getByRole('heading', { name: 'No messages match' }).waitFor();
});

test('the timeline shows each step of a message with the carrier response, until its final status', async () => {
  const messageId = await send('+393331239901');
  const window = await site.signIn();
  const { page } = window;
  await page.goto(site.url(`/messages/${messageId}`));
  await page.getByRole('heading', { name: /^Message to/ }).waitFor();
  const steps = page.getByRole('list', { name: 'Timeline' }).getByRole('listitem');
  await steps.filter({ hasText: 'Attempt 1: accepted by the carrier' }).waitFor();
  await steps.filter({ hasText: 'Final status' }).getByText('Undeliverable').waitFor();
  await steps.filter({ hasText: 'Delivery receipt' }).first().waitFor();
  await steps.first().getByText('Accepted').waitFor();
  await checkPage(window, 'message');
});

test('a scheduled message is cancelled, and its credit returns', async () => {
  const { messageId } = await site.program.client.sendAsMessageServer({
    destination: '+393331234568',
    sender: 'Acme',
    body: 'Tomorrow',
    scheduledDate: new Date(Date.now() + 86_400_000).toISOString(),
  });
  const { page, watch } = await site.signIn();
  await page.goto(site.url(`/messages/${messageId}`));
  await page.getByRole('button', { name: 'Cancel message' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Yes, cancel message' }).click();
  await page.getByText('Message cancelled').waitFor();
  expect((await site.program.client.status(String(messageId))).deliveryStatus).toBe('DELETED');
  await page.getByRole('listitem').filter({ hasText: 'Cancelled' }).first().waitFor();
  expect(watch.problems()).toEqual([]);
});

test('an unknown message ID is reported as not found', async () => {
  const { page } = await site.signIn();
  await page.goto(site.url('/messages/0190c42e-0000-7000-8000-000000000000'));
  await page.getByRole('heading', { name: 'Message not found' }).waitFor();
});

testAtNight('scheduled messages are listed; one is moved, and one is cancelled', async () => {
  const { client } = site.program;
  const path = '/api/partner-gateway/v1/messages/scheduled';
  const later = async (destination: string, hours: number): Promise<string> => {
    const scheduledDate = new Date(Date.now() + hours * 3_600_000).toISOString();
    return String(
      (await client.sendAsMessageServer({ destination, sender: 'Acme', body: 'Later', scheduledDate })).messageId,
    );
  };
  const [moved, cancelled] = [await later('+393331234571', 30), await later('+393331234572', 40)];
  const window = await site.signIn();
  const { page, watch } = window;
  await page.goto(site.url('/scheduled'));
  await page.getByRole('row', { name: /1234571|123 4571/ }).waitFor();
  await checkPage(window, 'scheduled');

  await page.getByRole('button', { name: /^Change the time of the message to \+393331234571/ }).click();
  const field = page.getByRole('dialog').getByLabel('Sent at');
  watch.expect('400');
  await field.fill('2020-01-31T09:30');
  await page.getByRole('button', { name: 'Change time', exact: true }).click();
  await page.getByText(/must lie in the future/).waitFor();
  const soon = new Date(Date.now() + 60 * 86_400_000).toISOString().slice(0, 10);
  await field.fill(`${soon}T09:30`);
  await page.getByRole('button', { name: 'Change time', exact: true }).click();
  await page.getByText('Time changed').waitFor();
  const { body } = await client.request('GET', `${path}/${moved}`);
  const rome = new Intl.DateTimeFormat('sv', { timeZone: 'Europe/Rome', dateStyle: 'short', timeStyle: 'short' });
  const at = String((body as { scheduledDate: string }).scheduledDate)
    .replace(' ', 'T')
    .replace('+0000', 'Z');
  expect(rome.format(new Date(at))).toBe(`${soon} 09:30`);

  await page.getByRole('button', { name: /^Cancel the message to \+393331234572/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Yes, cancel message' }).click();
  await page.getByText('Message cancelled').waitFor();
  expect((await client.status(cancelled)).deliveryStatus).toBe('DELETED');
  await client.request('DELETE', `${path}/${moved}`);
  await page.reload();
  await page.getByRole('heading', { name: 'No scheduled messages' }).waitFor();
  expect(watch.problems()).toEqual([]);
});
