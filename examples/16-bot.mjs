// A bot in WhatsApp and RCS: it answers a pressed button with the product that the button stands for, and a picture with
// the same picture. It reads the feed of events, so that nothing has to reach it. Node 20 or newer, without packages.
//
//   BASE_URL=https://gateway.example.com API_KEY=pg_live_… node examples/16-bot.mjs
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

const { BASE_URL = 'http://127.0.0.1:8080', API_KEY = '', CURSOR_FILE = 'bot.cursor' } = process.env;
const PG = `${BASE_URL}/api/partner-gateway/v1`;
/** By the payloads that you gave the buttons. */
const PRODUCTS = {
  'shoe-42': 'Running shoe, size 42: 89.90 EUR, in stock',
  'sock-3': 'Three pairs of socks: 9.90 EUR',
};

async function call(method, path, { body, key } = {}) {
  const isForm = body instanceof FormData;
  const headers = {
    'X-API-Key': API_KEY,
    ...(body && !isForm && { 'Content-Type': 'application/json' }),
    ...(key && { 'Idempotency-Key': key }),
  };
  const content = isForm ? body : JSON.stringify(body);
  const answer = await fetch(`${PG}${path}`, { method, headers, ...(body && { body: content }) });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

/** With the id of the event as the key, an answer is sent once, even if the program dies before it has stored its place. */
const reply = (event, body) =>
  call('POST', '/inbox/conversations/reply', { body: { chatId: event.data.chatId, ...body }, key: event.id });

/** Fetches the file from the event alone. For a few seconds the gateway may not have it yet. */
async function download({ url }, tries = 20) {
  const { pathname, search } = new URL(url);
  const answer = await fetch(`${BASE_URL}${pathname}${search}`);
  if (answer.ok) return answer.blob();
  if (tries === 0) throw new Error(`the file is not there: ${answer.status}`);
  await pause(500);
  return download({ url }, tries - 1);
}

async function answer(event) {
  const { button, media } = event.data;
  if (button) return reply(event, { text: PRODUCTS[button.payload] ?? 'That is sold out.' });
  if (!media[0]?.mimeType?.startsWith('image/')) return;
  const form = new FormData();
  form.append('file', await download(media[0]), 'picture');
  const { id } = await call('POST', '/media', { body: form, key: `${event.id}-file` });
  return reply(event, { mediaId: id });
}

await call('PUT', '/event-feed/settings', { body: { enabled: true } });
let cursor = await readFile(CURSOR_FILE, 'utf8').catch(() => '');
for (;;) {
  const query = new URLSearchParams({ types: 'message.received', wait: '25', ...(cursor && { after: cursor }) });
  const { events, next } = await call('GET', `/event-feed?${query}`);
  for (const event of events) await answer(event).catch((error) => console.error(event.id, error));
  for (const { data } of events) console.log(`${data.from} wrote: ${data.button?.text ?? data.text}`);
  if (next) await writeFile(CURSOR_FILE, (cursor = next));
}
