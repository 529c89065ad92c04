import { type Static, Type } from 'typebox';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { answerPage, type App, pageFields, PageOf, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { preparedTx } from '../core/http/idempotency.ts';
import { id, instant, orNull } from '../core/schema.ts';
import {
  changeCredential,
  createCredential,
  type CredentialRow,
  type CredentialSettings,
  ID_FORMATS,
  type IssuedCredential,
  listCredentials,
  newSmppPassword,
  removeCredential,
  rotateCredential,
  SMPP_ALPHABETS,
} from './smpp-credentials.ts';

/** Maximum binds of one credential. */
export const MAX_BINDS = 100;
/** Maximum outstanding requests of one bind, in each direction. */
export const MAX_WINDOW = 1000;
const MAX_ENTRIES = 200;
/** Maximum length of an address in SMPP. */
const MAX_SENDER_LENGTH = 20;

const SETTINGS = {
  name: Type.String({ maxLength: 200, description: 'A name to tell credentials apart.' }),
  maxBinds: Type.Integer({
    minimum: 1,
    maximum: MAX_BINDS,
    description: 'Binds that may be open at the same time. Default 2.',
  }),
  window: Type.Integer({
    minimum: 1,
    maximum: MAX_WINDOW,
    description:
      'Outstanding requests on one bind, in each direction. The server reads no more than these before it responds, ' +
      'and sends no more deliver_sm. Default 50. Binds × window of all credentials of an account are at most 10,000.',
  }),
  tps: orNull(
    Type.Integer({
      minimum: 1,
      maximum: 100_000,
      description:
        'Messages a second on all binds together; more are rejected with ESME_RTHROTTLED. Never more than an API ' +
        'key of the account may send requests, and as many where it is null, the default.',
    }),
  ),
  addresses: Type.Array(Type.String({ maxLength: 100 }), {
    maxItems: MAX_ENTRIES,
    description:
      'IPv4 and IPv6 addresses and CIDR blocks that may bind, in addition to the allow-list of the account. Empty: ' +
      'all.',
  }),
  senders: Type.Array(Type.String({ minLength: 1, maxLength: MAX_SENDER_LENGTH }), {
    maxItems: MAX_ENTRIES,
    description: 'Senders that messages may have; others are rejected with ESME_RINVSRCADR. Empty: all.',
  }),
  alphabet: Type.Enum([...SMPP_ALPHABETS], {
    type: 'string',
    description: 'The alphabet of data_coding 0. Default gsm: GSM 03.38, one septet in each octet.',
  }),
  messageIds: Type.Enum([...ID_FORMATS], {
    type: 'string',
    description:
      'Format of message ids: a UUID (the default), 32 hexadecimal digits, or a decimal number that fits 64 bits. ' +
      'Clients of SMPP 3.3 get at most 8 digits: decimal ones, or else hexadecimal.',
  }),
  inbound: Type.Boolean({
    description: 'True if its receivers get the inbound messages of the account. Default true.',
  }),
};

const CredentialIn = Type.Partial(Type.Object(SETTINGS));

const SHOWN = {
  id: Type.Integer(),
  systemId: Type.String({ description: 'The system_id of its binds.' }),
  ...SETTINGS,
  createdAt: instant('UTC'),
};

const CredentialIssued = Type.Object({
  ...SHOWN,
  password: Type.String({ description: 'The password of its binds: 8 characters. Shown only once.' }),
});

const CredentialOut = Type.Object({
  ...SHOWN,
  lastBoundAt: orNull(instant('Time of its last bind, in UTC.')),
});

const CredentialId = Type.Object({ id: id() });

const settingsOf = (row: CredentialSettings): CredentialSettings => ({
  name: row.name,
  maxBinds: row.maxBinds,
  window: row.window,
  tps: row.tps,
  addresses: row.addresses,
  senders: row.senders,
  alphabet: row.alphabet,
  messageIds: row.messageIds,
  inbound: row.inbound,
});

/** Formats a new credential with its password for responses. */
const toCredentialIssued = (issued: IssuedCredential): Static<typeof CredentialIssued> => ({
  id: issued.id,
  systemId: issued.systemId,
  password: issued.password,
  ...settingsOf(issued),
  createdAt: issued.createdAt.toISOString(),
});

const toCredentialOut = (row: CredentialRow): Static<typeof CredentialOut> => ({
  id: row.id,
  systemId: row.systemId,
  ...settingsOf(row),
  createdAt: row.createdAt.toISOString(),
  lastBoundAt: row.lastBoundAt?.toISOString() ?? null,
});

const PATH = '/api/partner-gateway/v1/smpp/credentials';
const tags = ['SMPP'];
const NEEDS =
  'You cannot grant scopes that you lack yourself (403): its binds send SMS, and with `inbound` they read the inbox.';

/**
 * Registers the routes for the SMPP credentials of the caller's account. All need the scope `keys`, and those of
 * what its binds may do; a foreign id gets the same response as an unknown one.
 */
export function smppCredentialRoutes(app: App, { pool, answers }: PlatformDeps): void {
  const onRequest = requireScope('keys');

  app.post(PATH, {
    onRequest,
    config: { secretAnswer: true },
    schema: {
      tags,
      operationId: 'createSmppCredential',
      summary: 'Create a credential for SMPP',
      description: `For binds to the SMPP server of the gateway. The password is shown only in this response. ${NEEDS}`,
      body: withExamples(Type.Union([CredentialIn, Type.Null()]), { name: 'Kannel', maxBinds: 2, tps: 100 }),
      response: { 201: CredentialIssued },
    },
    handler: preparedTx(
      { pool, answers },
      201,
      ({ actor }) => newSmppPassword(actor),
      async ({ actor, body }, tx, secret) =>
        toCredentialIssued(await createCredential(tx, actor, { ...body, ...secret })),
    ),
  });

  app.get(PATH, {
    onRequest,
    schema: {
      tags,
      operationId: 'listSmppCredentials',
      summary: 'List the credentials for SMPP, oldest first',
      querystring: Type.Object(pageFields),
      response: { 200: PageOf(CredentialOut) },
    },
    handler: ({ actor, query }) =>
      answerPage(query, listCredentials(tenant(pool, actor), actor, query), toCredentialOut),
  });

  app.patch(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'changeSmppCredential',
      summary: 'Change a credential for SMPP',
      description: `Omitted fields are unchanged. Open binds follow immediately; those no longer allowed are closed. ${NEEDS}`,
      params: CredentialId,
      body: withExamples(CredentialIn, { window: 100, senders: ['ACME'] }),
      response: { 200: CredentialOut },
    },
    handler: async ({ actor, params, body }) =>
      toCredentialOut(
        await tenantTransaction(pool, actor, (tx) => changeCredential(tx, actor, { ...body, ...params })),
      ),
  });

  app.post(`${PATH}/:id/rotate`, {
    onRequest,
    config: { secretAnswer: true },
    schema: {
      tags,
      operationId: 'rotateSmppCredential',
      summary: 'Give a credential for SMPP a new password',
      description: `The password is shown only in this response. Binds that were opened with the previous one are closed. ${NEEDS}`,
      params: CredentialId,
      response: { 200: CredentialIssued },
    },
    handler: preparedTx(
      { pool, answers },
      200,
      ({ actor }) => newSmppPassword(actor),
      async ({ actor, params }, tx, secret) =>
        toCredentialIssued(await rotateCredential(tx, actor, { ...params, ...secret })),
    ),
  });

  app.delete(`${PATH}/:id`, {
    onRequest,
    schema: {
      tags,
      operationId: 'deleteSmppCredential',
      summary: 'Delete a credential for SMPP',
      description: 'Its binds are closed immediately. Receipts that wait for them are deleted.',
      params: CredentialId,
      response: { 204: Type.Null({ description: 'Deleted' }) },
    },
    handler: ({ actor, params }) => tenantTransaction(pool, actor, (tx) => removeCredential(tx, actor, params)),
  });
}
