import { beforeAll, expect, test } from 'vitest';
import { connectLibrary } from '../../test/support/carriers/smpp-library-client.ts';
import { testDatabase } from '../../test/support/database.ts';
import { writeTestCertificate } from '../../test/support/http/certificate-files.ts';
import { bindAs, gatedAccept, newCredential, startServer } from '../../test/support/smpp-server.ts';
import { until } from '../../test/support/until.ts';
import { changeStatus } from '../accounts/accounts.ts';
import { operatorAuthor } from '../accounts/audit.ts';
import { SCOPES } from '../core/actor.ts';
import { changeCredential, newSmppPassword, removeCredential, rotateCredential } from '../accounts/smpp-credentials.ts';
import { toBits } from '../core/channels.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { createAccount } from '../operate/account-commands.ts';
import { STATUS } from '../smpp/status.ts';

const database = testDatabase();
const { pool } = database;

let accountId: number;
beforeAll(async () => {
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 }));
});

const listBinds = () => many<{ mode: string }>(pool, sql`SELECT mode FROM smpp_bind ORDER BY id`);
const enquire = { command: 'enquire_link' };

test.each(['transmitter', 'receiver', 'transceiver'] as const)(
  'a foreign client binds as a %s, is listed, and gets responses to an enquire_link and an unbind',
  async (mode) => {
    const server = await startServer(database);
    const client = await bindAs(server, await newCredential(pool, accountId), mode);
    expect(client.bound).toMatchObject({ command_status: 0, system_id: 'Heliograph', sc_interface_version: 0x34 });
    expect(await listBinds()).toEqual([{ mode }]);
    expect((await client.request(enquire.command)).command).toBe('enquire_link_resp');
    expect((await client.request('unbind')).command_status).toBe(0);
    await client.closed;
    await until('no bind is listed', async () => (await listBinds()).length === 0);
  },
);

test('an old client gets no parameters', async () => {
  const server = await startServer(database);
  const client = await bindAs(server, await newCredential(pool, accountId), 'transceiver', { interface_version: 0x33 });
  expect(client.bound.command_status).toBe(0);
  expect(client.bound['sc_interface_version']).toBeUndefined();
});

test('a wrong password and an unknown system_id get the same response, and the connection ends', async () => {
  const server = await startServer(database);
  const credential = await newCredential(pool, accountId);
  for (const shown of [
    { ...credential, password: 'wrong123' },
    { ...credential, systemId: 'nobody' },
    { ...credential, systemId: '' },
    { ...credential, systemId: 'longer-than-fifteen' },
  ]) {
    const client = await bindAs(server, shown);
    expect(client.bound.command_status).toBe(STATUS.ESME_RINVPASWD);
    await client.closed;
  }
  expect((await bindAs(server, credential)).bound.command_status).toBe(0);
});

test('an account whose channels do not include SMS does not bind', async () => {
  const server = await startServer(database);
  const other = await createAccount(pool, { name: 'Without SMS', plan: 'unlimited' });
  await exec(pool, sql`UPDATE account SET channels = ${toBits(['RCS', 'WHATSAPP'])} WHERE id = ${other.accountId}`);
  const client = await bindAs(server, await newCredential(pool, other.accountId));
  expect(client.bound.command_status).toBe(STATUS.ESME_RBINDFAIL);
  await client.closed;
});

test('guesses at one system_id are limited, and its owner still binds from where it has bound before', async () => {
  const server = await startServer(database);
  const credential = await newCredential(pool, accountId);
  const other = await newCredential(pool, accountId);
  expect((await bindAs(server, credential)).bound.command_status).toBe(0);
  const statuses: number[] = [];
  for (let n = 0; n < 25; n++) {
    const client = await bindAs(server, { ...other, password: `wrong${n}` });
    statuses.push(client.bound.command_status);
  }
  expect(new Set(statuses)).toEqual(new Set([STATUS.ESME_RINVPASWD, STATUS.ESME_RBINDFAIL]));
  expect((await bindAs(server, credential)).bound.command_status).toBe(0);
});

test('only a bind is taken before the bind, and only one', async () => {
  const server = await startServer(database);
  const credential = await newCredential(pool, accountId);
  const client = await connectLibrary(server.port);
  expect((await client.request(enquire.command)).command_status).toBe(0);
  expect((await client.submit('351912345678')).command_status).toBe(STATUS.ESME_RINVBNDSTS);
  const bind = { system_id: credential.systemId, password: credential.password, interface_version: 0x34 };
  expect((await client.request('bind_transceiver', bind)).command_status).toBe(0);
  expect((await client.request('bind_transmitter', bind)).command_status).toBe(STATUS.ESME_RALYBND);
  expect((await client.submit('351912345678')).command_status).toBe(0);
  await client.close();
});

test('a receiver may not submit', async () => {
  const server = await startServer(database);
  const client = await bindAs(server, await newCredential(pool, accountId), 'receiver');
  expect((await client.submit('351912345678')).command_status).toBe(STATUS.ESME_RINVBNDSTS);
});

test('the binds of a credential are counted over all processes, and those of a dead process do not count', async () => {
  const [here, there] = [await startServer(database), await startServer(database)];
  const credential = await newCredential(pool, accountId, { maxBinds: 2 });
  const first = await bindAs(here, credential);
  await bindAs(there, credential);
  expect((await bindAs(here, credential)).bound.command_status).toBe(STATUS.ESME_RBINDFAIL);
  await first.close();
  await until('another one may bind', async () => (await bindAs(here, credential)).bound.command_status === 0);
  // As a process that was killed leaves it.
  await pool.query(`UPDATE smpp_bind SET owner = 1`);
  expect((await bindAs(here, credential)).bound.command_status).toBe(0);
});

test('an address outside the list of the credential is refused', async () => {
  const server = await startServer(database);
  const credential = await newCredential(pool, accountId, { addresses: ['192.0.2.0/24'] });
  expect((await bindAs(server, credential)).bound.command_status).toBe(STATUS.ESME_RBINDFAIL);
});

test('a change of the password, of the addresses, a deletion and a suspension unbind at once', async () => {
  const server = await startServer(database);
  const other = await createAccount(pool, { name: 'Other', plan: 'unlimited', ratePerMinute: 0 });
  const author = { ...operatorAuthor(other.accountId), role: 'admin' as const, operations: new Set(SCOPES) };
  const [rotated, deleted, moved, suspended, kept] = await Promise.all([
    newCredential(pool, other.accountId),
    newCredential(pool, other.accountId),
    newCredential(pool, other.accountId),
    newCredential(pool, other.accountId),
    newCredential(pool, accountId),
  ]);
  const clients = await Promise.all([rotated, deleted, moved, suspended, kept].map((one) => bindAs(server, one)));
  expect(clients.map((client) => client.bound.command_status)).toEqual([0, 0, 0, 0, 0]);
  const secret = await newSmppPassword({ accountId });
  await transaction(pool, (tx) => rotateCredential(tx, author, { ...rotated, ...secret }));
  await clients[0]?.closed;
  expect((await bindAs(server, rotated)).bound.command_status).toBe(STATUS.ESME_RINVPASWD);
  await transaction(pool, (tx) => removeCredential(tx, author, deleted));
  await clients[1]?.closed;
  await transaction(pool, (tx) => changeCredential(tx, author, { id: moved.id, addresses: ['192.0.2.1'] }));
  await clients[2]?.closed;
  await transaction(pool, (tx) => changeStatus(tx, author, { from: 'active', to: 'suspended' }));
  await clients[3]?.closed;
  expect((await bindAs(server, suspended)).bound.command_status).toBe(STATUS.ESME_RBINDFAIL);
  expect((await clients[4]?.request(enquire.command))?.command_status).toBe(0);
});

test('a server that stops unbinds its clients after it has responded to them', async () => {
  const gate = gatedAccept(pool);
  const server = await startServer(database, { accept: gate.accept });
  const client = await bindAs(server, await newCredential(pool, accountId));
  const submits = Array.from({ length: 20 }, () => client.submit('351912345678'));
  await until('all are read', () => gate.begun() === 20);
  const stopped = server.stop();
  gate.release();
  expect((await Promise.all(submits)).map((pdu) => pdu.command_status)).toEqual(submits.map(() => 0));
  await stopped;
  await client.closed;
  expect(client.received.map((pdu) => pdu.command)).toEqual(['unbind']);
  expect(await listBinds()).toEqual([]);
});

test('clients bind over TLS', async () => {
  const tls = await writeTestCertificate();
  const listen = { host: '127.0.0.1', port: undefined, tlsPort: 0, tls };
  const server = await startServer(database, { listen });
  const { systemId, password } = await newCredential(pool, accountId);
  const client = await connectLibrary(server.tlsPort ?? 0, { tls: true, rejectUnauthorized: false });
  const bind = { system_id: systemId, password, interface_version: 0x34 };
  expect((await client.request('bind_transceiver', bind)).command_status).toBe(0);
  expect((await client.submit('351912345678')).command_status).toBe(0);
  await client.close();
});
