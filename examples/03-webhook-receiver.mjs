// A webhook receiver in plain Node (20 or newer), without any package: it verifies the signature, responds immediately, and
// recognises repeated events. Register it with 03-webhook-register.sh, which explains how to run both on one machine.
//
//   WEBHOOK_SECRET=whsec_… TLS_CERT=cert.pem TLS_KEY=key.pem PORT=8443 node examples/03-webhook-receiver.mjs
//
// WEBHOOK_SECRET is the secret that the registration returned. While you rotate it, pass both secrets, separated by a space.
// Behind a proxy that terminates HTTPS, omit TLS_CERT and TLS_KEY.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';

const { WEBHOOK_SECRET = '', TLS_CERT, TLS_KEY, PORT = '8443' } = process.env;
const keys = WEBHOOK_SECRET.split(' ').map((secret) => Buffer.from(secret.replace('whsec_', ''), 'base64'));
if (keys.some((key) => key.length === 0))
  throw new Error('set WEBHOOK_SECRET to the secret that the registration returned');

const TOLERANCE_SECONDS = 300;
const MAX_BYTES = 64 * 1024;

/** Standard Webhooks: the base64 of HMAC-SHA256 over "id.timestamp.body", one signature per secret. */
function isGenuine(headers, body) {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  const given = String(headers['webhook-signature']).split(' ');
  // Somebody may have recorded an old event: it must not be accepted again.
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE_SECONDS)) return false;
  return keys.some((key) => {
    const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
    return given.some((signature) => {
      const bytes = Buffer.from(signature.replace('v1,', ''), 'base64');
      // Constant time: the duration must not reveal how much of the signature was right.
      return bytes.length === expected.length && timingSafeEqual(bytes, expected);
    });
  });
}

/** The body exactly as received (parsed and serialised again, it would have another signature); null if too long. */
async function read(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Events arrive at least once: a known ID gets a response but is not processed again. Keep yours in a database. */
const seen = new Set();

function handle(event) {
  if (event.eventType === 'INBOUND') console.log(`${event.source} wrote: ${event.text}`);
  else if (event.eventType === 'READ') console.log(`${event.messageId} was read`);
  else console.log(`${event.messageId} to ${event.destination}: ${event.description}`);
}

async function receive(request, response) {
  const body = await read(request);
  if (body === null || !isGenuine(request.headers, body)) {
    console.log('rejected: not signed with our secret');
    return response.writeHead(401).end();
  }
  // Respond first: without a response within 5 seconds the event is sent again. In production, store it before that.
  const id = request.headers['webhook-id'];
  response.writeHead(200).end();
  if (seen.has(id)) return console.log(`again: ${id}`);
  seen.add(id);
  handle(JSON.parse(body));
}

const respond = (request, response) => {
  receive(request, response).catch((error) => {
    console.error(error);
    response.destroy();
  });
};
const server =
  TLS_CERT && TLS_KEY
    ? https.createServer({ cert: readFileSync(TLS_CERT), key: readFileSync(TLS_KEY) }, respond)
    : http.createServer(respond);
server.listen(Number(PORT), () => console.log(`listening on port ${server.address().port}`));
