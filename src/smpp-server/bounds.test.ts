import { beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { writeTestCertificate } from '../../test/support/http/certificate-files.ts';
import {
  bindAs,
  connectRaw,
  gatedAccept,
  newCredential,
  type RawClient,
  startServer,
} from '../../test/support/smpp-server.ts';
import { until } from '../../test/support/until.ts';
import type { IssuedCredential } from '../accounts/smpp-credentials.ts';
import { createAccount } from '../operate/account-commands.ts';
import { EMPTY_MESSAGE, encodePdu } from '../smpp/pdu.ts';
import { STATUS } from '../smpp/status.ts';

const database = testDatabase();
const { pool } = database;

let accountId: number;
beforeAll(async () => {
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 }));
});

const REST = { systemType: '', interfaceVersion: 0x34, addrTon: 0, addrNpi: 0, addressRange: '' };
const bindOf = ({ systemId, password }: IssuedCredential): Buffer =>
  encodePdu({ command: 'bind_transceiver', status: 0, sequence: 1, systemId, password, ...REST });

async function bindRaw(port: number, credential: IssuedCredential): Promise<RawClient> {
  const client = await connectRaw(port);
  client.send(bindOf(credential));
  await until('it is bound', () => client.received.length === 1);
  return client;
}

test('whatever its window, a client has no more than 256 KiB and one request without a response', async () => {
  const gate = gatedAccept(pool);
  const server = await startServer(database, { accept: gate.accept });
  const client = await bindRaw(server.port, await newCredential(pool, accountId, { window: 1000 }));
  const tlvs = new Map([[0x0381, Buffer.alloc(60_000)]]);
  const fields = { source: 'ACME', destination: '351912345678', shortMessage: Buffer.from('Hello'), tlvs };
  for (let n = 0; n < 40; n++)
    client.send(encodePdu({ ...EMPTY_MESSAGE, command: 'submit_sm', status: 0, sequence: n + 2, ...fields }));
  await until('five are read', () => gate.begun() === 5);
  // Another client shows that the server works meanwhile.
  const other = await bindAs(server, await newCredential(pool, accountId));
  expect((await other.request('enquire_link')).command_status).toBe(0);
  expect(gate.begun()).toBe(5);
  gate.release();
  await until('all get a response', () => client.received.length === 41);
  expect(gate.begun()).toBe(40);
});

test('an unbound client cannot begin a PDU that is larger than any bind', async () => {
  const server = await startServer(database);
  const unbound = await connectRaw(server.port);
  const header = Buffer.alloc(16);
  header.writeUInt32BE(1025, 0);
  header.writeUInt32BE(0x15, 4);
  unbound.send(header);
  await unbound.closed;
  expect(unbound.received).toMatchObject([{ command: 'generic_nack', status: STATUS.ESME_RINVCMDLEN }]);
});

test('a network that does not bind has so many connections a minute, which end before TLS begins', async () => {
  const tls = await writeTestCertificate();
  const listen = { host: '127.0.0.1', port: 0, tlsPort: 0, tls };
  const bounds: string[] = [];
  const server = await startServer(database, { listen, unboundPerMinute: 3, refused: (bound) => bounds.push(bound) });
  const tlsPort = server.tlsPort ?? 0;
  for (let n = 0; n < 3; n++) {
    const client = await connectRaw(tlsPort, '127.0.0.2');
    client.send(Buffer.from('no TLS'));
    await client.closed;
  }
  expect(bounds).toEqual([]);
  for (const port of [tlsPort, server.port]) await (await connectRaw(port, '127.0.0.2')).closed;
  expect(bounds).toEqual(['attempts_of_network', 'attempts_of_network']);
  const credential = await newCredential(pool, accountId, { maxBinds: 10 });
  for (let n = 0; n < 10; n++) expect((await bindAs(server, credential)).bound.command_status).toBe(0);
});

test('a credential does not send faster than its account may', async () => {
  const slow = await createAccount(pool, { name: 'Slow', plan: 'unlimited', ratePerMinute: 60 });
  const server = await startServer(database);
  const client = await bindAs(server, await newCredential(pool, slow.accountId, { tps: 1000 }));
  const submits = Array.from({ length: 20 }, () => client.submit('351912345678'));
  const accepted = (await Promise.all(submits)).filter(({ command_status }) => command_status === 0);
  expect(accepted.length).toBeGreaterThan(0);
  // Three a second by the limit of the account, and the clock may pass one second meanwhile.
  expect(accepted.length).toBeLessThanOrEqual(6);
});

test('an account has 200 binds on all its credentials', async () => {
  const { accountId: ours } = await createAccount(pool, { name: 'Many', plan: 'unlimited', ratePerMinute: 0 });
  const server = await startServer(database);
  const [one, other] = [await newCredential(pool, ours), await newCredential(pool, ours)];
  const first = await bindAs(server, one);
  await pool.query(
    `INSERT INTO smpp_bind (account_id, credential_id, owner, mode, address)
     SELECT account_id, -1, owner, mode, address FROM smpp_bind, generate_series(1, 199) WHERE account_id = $1`,
    [ours],
  );
  expect((await bindAs(server, other)).bound.command_status).toBe(STATUS.ESME_RBINDFAIL);
  await first.close();
  await until('there is room for another one', async () => (await bindAs(server, other)).bound.command_status === 0);
});
