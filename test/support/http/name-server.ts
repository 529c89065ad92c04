import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Returns the addresses of a name; empty if the name does not exist, undefined for no response. */
export type Zone = (name: string) => readonly string[] | 'silence';

/** Returns the texts of the TXT records of a name. */
export type Texts = (name: string) => readonly string[];

export type NameServer = AsyncDisposable & { readonly address: string };

const A = 1;
const AAAA = 28;
const TXT = 16;
const NOT_FOUND = 3;

/** Starts a name server on this machine (UDP). A name without addresses and texts does not exist. */
export async function startNameServer(zone: Zone, textsOf: Texts = () => []): Promise<NameServer> {
  const socket = createSocket('udp4');
  socket.on('message', (question, from) => {
    const answer = answerTo(question, zone, textsOf);
    if (answer) socket.send(answer, from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function answerTo(message: Buffer, zone: Zone, textsOf: Texts): Buffer | null {
  const { name, end } = readName(message);
  const type = message.readUInt16BE(end);
  const addresses = zone(name);
  if (addresses === 'silence') return null;
  const texts = textsOf(name);
  const records =
    type === TXT
      ? texts.map((text) => recordOf(TXT, piecesOf(text)))
      : addresses
          .filter((address) => (isIPv4(address) ? A : AAAA) === type)
          .map((address) => recordOf(type, Buffer.from(bytesOf(address))));
  const head = Buffer.alloc(12);
  message.copy(head, 0, 0, 2);
  // A response to a query that wanted recursion, which is available.
  head.writeUInt16BE(0x8180 | (addresses.length + texts.length === 0 ? NOT_FOUND : 0), 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(records.length, 6);
  return Buffer.concat([head, message.subarray(12, end + 4), ...records]);
}

/** Reads the name of the question, which comes after the header of 12 bytes. */
function readName(message: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

/** A record: a pointer to the name of the question, type, class, a time to live of 0, and the data. */
function recordOf(type: number, data: Buffer): Buffer {
  const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, 0]);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

/** A text in pieces of at most 255 bytes, each behind its length (RFC 1035, 3.3.14). */
const piecesOf = (text: string): Buffer =>
  Buffer.concat(
    (text.match(/.{1,255}/g) ?? ['']).map((piece) => Buffer.concat([Buffer.from([piece.length]), Buffer.from(piece)])),
  );

/** ipaddr.js alone would read ::1.2.3.4 as the mapped address ::ffff:1.2.3.4. */
const bytesOf = (address: string): number[] =>
  isIPv4(address)
    ? ipaddr.IPv4.parse(address).toByteArray()
    : ipaddr.IPv6.parse(new URL(`http://[${address}]`).hostname.slice(1, -1)).toByteArray();
