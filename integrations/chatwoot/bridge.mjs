// A bridge between an inbox of Chatwoot (an API channel) and the conversations of Heliograph: messages and files both ways, and
// what became of an agent's message as its ticks. It reads the feed of events; Chatwoot posts what agents write to it.
//
//   BASE_URL=https://gateway.example.com API_KEY=pg_live_… CHATWOOT_URL=https://chatwoot.example.com CHATWOOT_TOKEN=… \
//     CHATWOOT_ACCOUNT=1 CHATWOOT_INBOX=7 WEBHOOK_TOKEN=… PORT=8090 STORE=bridge.json node bridge.mjs
import { timingSafeEqual } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

const { BASE_URL, API_KEY, CHATWOOT_URL, CHATWOOT_TOKEN, CHATWOOT_ACCOUNT, CHATWOOT_INBOX, WEBHOOK_TOKEN } =
  process.env;
const { PORT = '8090', STORE = 'bridge.json' } = process.env;
if (!BASE_URL || !API_KEY || !CHATWOOT_URL || !CHATWOOT_TOKEN || !CHATWOOT_ACCOUNT || !CHATWOOT_INBOX || !WEBHOOK_TOKEN)
  throw new Error(
    'set BASE_URL, API_KEY, CHATWOOT_URL, CHATWOOT_TOKEN, CHATWOOT_ACCOUNT, CHATWOOT_INBOX and WEBHOOK_TOKEN',
  );
const MAX_BODY_BYTES = 1024 * 1024;
const MAX_MESSAGES = 20_000;
const TYPES = 'message.received,message.delivered,message.read,message.failed,message.expired';

/**
 * The place in the feed, with the last event that was passed on; Chatwoot's conversation of each chat; and of the
 * messages of agents where they are in Chatwoot.
 */
const store = existsSync(STORE) ? JSON.parse(readFileSync(STORE, 'utf8')) : { cursor: '', conversations: {}, sent: {} };
function save() {
  const ids = Object.keys(store.sent);
  for (const id of ids.slice(0, Math.max(0, ids.length - MAX_MESSAGES))) delete store.sent[id];
  writeFileSync(`${STORE}.new`, JSON.stringify(store));
  renameSync(`${STORE}.new`, STORE);
}

async function errorOf(method, url, answer) {
  const error = new Error(`${method} ${new URL(url).pathname}: ${answer.status} ${await answer.text()}`);
  return Object.assign(error, { status: answer.status });
}

async function call(url, headers, { method = 'GET', body, key } = {}) {
  const isForm = body instanceof FormData;
  const answer = await fetch(url, {
    method,
    headers: {
      ...headers,
      ...(body && !isForm && { 'Content-Type': 'application/json' }),
      ...(key && { 'Idempotency-Key': key }),
    },
    ...(body && { body: isForm ? body : JSON.stringify(body) }),
  });
  if (!answer.ok) throw await errorOf(method, url, answer);
  return answer.json();
}
const gateway = (path, options) => call(`${BASE_URL}/api/partner-gateway/v1${path}`, { 'X-API-Key': API_KEY }, options);
const chatwoot = (path, options) =>
  call(`${CHATWOOT_URL}/api/v1/accounts/${CHATWOOT_ACCOUNT}${path}`, { api_access_token: CHATWOOT_TOKEN }, options);

/** Returns Chatwoot's conversation of a chat; makes contact and conversation at the first message. */
async function conversationOf({ chatId, from, profileName }) {
  const known = store.conversations[chatId];
  if (known) return known;
  // The id of the chat is the id of the contact in the inbox: after a crash both are found again.
  const phone = from.startsWith('+') ? { phone_number: from } : {};
  const contact = await chatwoot('/contacts', {
    method: 'POST',
    body: { inbox_id: Number(CHATWOOT_INBOX), name: profileName ?? from, identifier: chatId, ...phone },
  }).catch(async (error) => {
    const { payload } = await chatwoot(`/contacts/search?q=${encodeURIComponent(from)}`);
    if (!payload?.[0]) throw error;
    return { payload: { contact: payload[0] } };
  });
  const { id } = await chatwoot('/conversations', {
    method: 'POST',
    body: { inbox_id: CHATWOOT_INBOX, contact_id: contact.payload.contact.id, source_id: chatId },
  });
  store.conversations[chatId] = id;
  save();
  return id;
}

async function download(url, tries = 20) {
  const answer = await fetch(url);
  if (answer.ok) return answer.blob();
  // The gateway may still be fetching the file from the network.
  if (tries === 0) throw await errorOf('GET', url, answer);
  await pause(500);
  return download(url, tries - 1);
}

/** The link of a file, at the address by which the bridge knows the gateway. */
const linkOf = ({ url }) => {
  const { pathname, search } = new URL(url);
  return `${BASE_URL}${pathname}${search}`;
};

const nameOf = ({ fileName, mimeType }) => fileName ?? `file.${(mimeType ?? '').split('/')[1] ?? 'bin'}`;

/** Downloads a file of a person; null if it does not exist: the network did not have it, or it was erased. */
const downloadIfThere = (file) =>
  download(linkOf(file)).catch((error) => {
    if (error.status !== 404) throw error;
    return null;
  });

/** True while events may be in Chatwoot already: after a start, and after an answer that was lost. */
let mayRepeat = true;

/** Shows a person's message to the agents, once: its `source_id` in Chatwoot is the id of the event. */
async function toChatwoot({ id, occurredAt, data }) {
  const conversation = await conversationOf(data);
  const path = `/conversations/${conversation}/messages`;
  if (mayRepeat) {
    const { payload = [] } = await chatwoot(path);
    if (payload.some(({ source_id: known }) => known === id)) return;
  }
  const lines = [data.button?.text ?? data.text ?? ''];
  const form = new FormData();
  for (const file of data.media) {
    const blob = await downloadIfThere(file);
    if (blob) form.append('attachments[]', blob, nameOf(file));
    else lines.push(`[The file is not available: ${nameOf(file)}]`);
  }
  form.append('content', lines.filter((line) => line !== '').join('\n'));
  form.append('message_type', 'incoming');
  form.append('source_id', id);
  // Chatwoot shows this as the time of the message.
  form.append('external_created_at', String(Math.floor(Date.parse(occurredAt) / 1000)));
  await chatwoot(path, { method: 'POST', body: form });
}

const TICKS = {
  'message.delivered': 'delivered',
  'message.read': 'read',
  'message.failed': 'failed',
  'message.expired': 'failed',
};

/** Shows what became of an agent's message. */
async function tick({ type, data }) {
  const place = store.sent[data.messageId];
  if (!place) return;
  await chatwoot(`/conversations/${place.conversation}/messages/${place.message}`, {
    method: 'PATCH',
    body: { status: TICKS[type], ...(data.error && { external_error: data.error.text ?? data.status.name }) },
  });
}

/** Sends what an agent wrote. Chatwoot repeats posts that failed: the id of its message is the key, so it is sent once. */
async function toGateway({ id, content, attachments = [], conversation }) {
  const [chatId] = Object.entries(store.conversations).find(([, known]) => known === conversation.id) ?? [];
  if (!chatId) return;
  const reply = async (body, key) => {
    const sent = await gateway('/inbox/conversations/reply', { method: 'POST', body: { chatId, ...body }, key });
    store.sent[sent.id] = { conversation: conversation.id, message: id };
    save();
  };
  for (const [n, { data_url: url }] of attachments.entries()) {
    const form = new FormData();
    form.append('file', await download(url), 'file');
    const file = await gateway('/media', { method: 'POST', body: form, key: `chatwoot-${id}-file-${n}` });
    await reply({ mediaId: file.id }, `chatwoot-${id}-${n}`);
  }
  if (content) await reply({ text: content }, `chatwoot-${id}`);
}

async function readBody(request) {
  const parts = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > MAX_BODY_BYTES) throw new Error('the body is too large');
    parts.push(part);
  }
  return JSON.parse(Buffer.concat(parts).toString());
}

const EXPECTED = Buffer.from(`/chatwoot/${WEBHOOK_TOKEN}`);
const server = http.createServer((request, response) => void handle(request, response));

async function handle(request, response) {
  const path = Buffer.from(request.url ?? '');
  try {
    if (path.length !== EXPECTED.length || !timingSafeEqual(path, EXPECTED)) return void response.writeHead(404).end();
    const body = await readBody(request);
    const isOfAgent = body.event === 'message_created' && body.message_type === 'outgoing' && !body.private;
    if (isOfAgent && String(body.inbox?.id ?? CHATWOOT_INBOX) === CHATWOOT_INBOX) await toGateway(body);
    response.writeHead(200).end();
  } catch (error) {
    console.error(error);
    response.writeHead(500).end();
  }
}
server.listen(Number(PORT), () => console.log(`listening on port ${PORT}`));

await gateway('/event-feed/settings', { method: 'PUT', body: { enabled: true } });
for (;;) {
  try {
    const { events, next } = await readPage();
    // After an error the same page comes again, in the same order.
    const done = events.findIndex(({ id }) => id === store.last) + 1;
    for (const event of events.slice(done)) {
      await (event.type === 'message.received' ? toChatwoot(event) : tick(event));
      store.last = event.id;
      save();
    }
    mayRepeat = false;
    if (next && next !== store.cursor) {
      store.cursor = next;
      save();
    }
  } catch (error) {
    mayRepeat = true;
    console.error(error);
    await pause(2000);
  }
}

async function readPage() {
  const after = store.cursor && { after: store.cursor };
  const query = new URLSearchParams({ types: TYPES, wait: '25', limit: '50', ...after });
  try {
    return await gateway(`/event-feed?${query}`);
  } catch (error) {
    if (error.status !== 410) throw error;
    // All that the feed still has is newer than the place, so it is read from its beginning.
    console.error('Events may be missing, because the bridge did not run for days or the feed was off:', error.message);
    store.cursor = '';
    return readPage();
  }
}
