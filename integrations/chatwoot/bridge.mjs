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
 * The place in the feed; Chatwoot's conversation of each chat, and the other way round; and of the messages of agents
 * where they are in Chatwoot.
 */
const store = existsSync(STORE) ? JSON.parse(readFileSync(STORE, 'utf8')) : { cursor: '', conversations: {}, sent: {} };
function save() {
  const ids = Object.keys(store.sent);
  for (const id of ids.slice(0, Math.max(0, ids.length - MAX_MESSAGES))) delete store.sent[id];
  writeFileSync(`${STORE}.new`, JSON.stringify(store));
  renameSync(`${STORE}.new`, STORE);
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
  if (!answer.ok) throw new Error(`${method} ${new URL(url).pathname}: ${answer.status} ${await answer.text()}`);
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
  if (tries === 0) throw new Error(`the file is not there: ${answer.status}`);
  await pause(500);
  return download(url, tries - 1);
}

/** The link of a file, at the address by which the bridge knows the gateway. */
const linkOf = ({ url }) => {
  const { pathname, search } = new URL(url);
  return `${BASE_URL}${pathname}${search}`;
};

/** Shows a person's message to the agents. One that is there already, since the bridge died before it noted its place, is not repeated. */
async function toChatwoot({ occurredAt, data }) {
  const conversation = await conversationOf(data);
  const path = `/conversations/${conversation}/messages`;
  const text = data.button?.text ?? data.text ?? '';
  // Chatwoot shows this as the time of the message.
  const at = String(Math.floor(Date.parse(occurredAt) / 1000));
  const { payload = [] } = await chatwoot(path);
  const isSame = ({ content, content_attributes: given }) =>
    (content ?? '') === text && String(given?.external_created_at) === at;
  if (payload.some(isSame)) return;
  const form = new FormData();
  form.append('content', text);
  form.append('message_type', 'incoming');
  form.append('external_created_at', at);
  for (const file of data.media)
    form.append(
      'attachments[]',
      await download(linkOf(file)),
      file.fileName ?? `file.${(file.mimeType ?? '').split('/')[1] ?? 'bin'}`,
    );
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
    const query = new URLSearchParams({
      types: TYPES,
      wait: '25',
      limit: '50',
      ...(store.cursor && { after: store.cursor }),
    });
    const { events, next } = await gateway(`/event-feed?${query}`);
    for (const event of events) await (event.type === 'message.received' ? toChatwoot(event) : tick(event));
    if (next && next !== store.cursor) {
      store.cursor = next;
      save();
    }
  } catch (error) {
    console.error(error);
    await pause(2000);
  }
}
