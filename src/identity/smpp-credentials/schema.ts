import { type Static, Type } from 'typebox';
import { id, instant, orNull } from '../../platform/lib/schema.ts';
import type { IssuedCredential } from './create.ts';
import { type CredentialRow, type CredentialSettings, ID_FORMATS, SMPP_ALPHABETS } from './sql.ts';

const MAX_ENTRIES = 200;
/** Maximum length of an address in SMPP. */
const MAX_SENDER_LENGTH = 20;

const SETTINGS = {
  name: Type.String({ maxLength: 200, description: 'A name to tell credentials apart.' }),
  maxBinds: Type.Integer({
    minimum: 1,
    maximum: 100,
    description: 'Binds that may be open at the same time. Default 2.',
  }),
  window: Type.Integer({
    minimum: 1,
    maximum: 1000,
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
    description: 'Format of message ids: a UUID (the default), 32 hexadecimal digits, or decimal.',
  }),
  inbound: Type.Boolean({
    description: 'True if its receivers get the inbound messages of the account. Default true.',
  }),
};

/** Settings, all optional. */
export const CredentialIn = Type.Partial(Type.Object(SETTINGS));

const SHOWN = {
  id: Type.Integer(),
  systemId: Type.String({ description: 'The system_id of its binds.' }),
  ...SETTINGS,
  createdAt: instant('UTC'),
};

export const CredentialIssued = Type.Object({
  ...SHOWN,
  password: Type.String({ description: 'The password of its binds: 8 characters. Shown only once.' }),
});

export const CredentialOut = Type.Object({
  ...SHOWN,
  lastBoundAt: orNull(instant('Time of its last bind, in UTC.')),
});

export const CredentialId = Type.Object({ id: id() });

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
export const toCredentialIssued = (issued: IssuedCredential): Static<typeof CredentialIssued> => ({
  id: issued.id,
  systemId: issued.systemId,
  password: issued.password,
  ...settingsOf(issued),
  createdAt: issued.createdAt.toISOString(),
});

/** Formats a credential for lists. */
export const toCredentialOut = (row: CredentialRow): Static<typeof CredentialOut> => ({
  id: row.id,
  systemId: row.systemId,
  ...settingsOf(row),
  createdAt: row.createdAt.toISOString(),
  lastBoundAt: row.lastBoundAt?.toISOString() ?? null,
});
