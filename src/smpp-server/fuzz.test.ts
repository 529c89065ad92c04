import { fc, test as propertyTest } from '@fast-check/vitest';
import { beforeAll } from 'vitest';
import { anyPdu } from '../../test/support/carriers/pdu.arbitrary.ts';
import { testDatabase } from '../../test/support/database.ts';
import { runs } from '../../test/support/runs.ts';
import { connectRaw, newCredential, startServer } from '../../test/support/smpp-server.ts';
import { until } from '../../test/support/until.ts';
import type { IssuedCredential } from '../accounts/smpp-credentials.ts';
import { createAccount } from '../operate/account-commands.ts';
import { encodePdu } from '../smpp/pdu.ts';

const database = testDatabase();
const { pool } = database;

let credential: IssuedCredential;
beforeAll(async () => {
  const { accountId } = await createAccount(pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 });
  credential = await newCredential(pool, accountId, { maxBinds: 100 });
});

/** Any PDU, unchanged or with some octets changed; its length stays right, so that the stream goes on behind it. */
const frame = fc
  .tuple(anyPdu, fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 4 }))
  .map(([pdu, changes]) => {
    const octets = encodePdu(pdu);
    for (const [at, value] of changes) if (octets.length > 4) octets[4 + (at % (octets.length - 4))] = value;
    return octets;
  });

const REST = { systemType: '', interfaceVersion: 0x34, addrTon: 0, addrNpi: 0, addressRange: '' };

propertyTest.prop([fc.array(frame, { minLength: 1, maxLength: 30, size: 'max' }), fc.boolean()], { numRuns: runs(12) })(
  'whatever a client sends, bound or not, the server responds to the next one, and no bind is left over',
  async (frames, bound) => {
    const server = await startServer(database);
    const { systemId, password } = credential;
    const bind = encodePdu({ command: 'bind_transceiver', status: 0, sequence: 1, systemId, password, ...REST });
    const hostile = await connectRaw(server.port);
    if (bound) {
      hostile.send(bind);
      await until('it is bound', () => hostile.received.length === 1);
    }
    for (const octets of frames) hostile.send(octets);
    const next = await connectRaw(server.port);
    next.send(bind);
    await until('the next one is bound', () => next.received[0]?.status === 0);
    hostile.socket.destroy();
    next.socket.destroy();
    await until('all binds have ended', () => server.binds() === 0);
    await server.stop();
  },
);
