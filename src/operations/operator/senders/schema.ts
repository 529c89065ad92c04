import { Type } from 'typebox';
import { instant, orNull } from '../../../platform/lib/schema.ts';
import { accountIdField, connectionField, searchField } from '../fields.ts';
import type { NumberRow, SenderRow, TemplateRow } from './sql.ts';

const NetworkChannel = Type.Enum(['WHATSAPP', 'RCS'], { type: 'string' });
const owner = {
  accountId: orNull(Type.Integer({ description: 'The account that it belongs to; null: all accounts.' })),
  account: orNull(Type.String({ description: 'The name of that account.' })),
};
const Connection = Type.String({ minLength: 1, maxLength: 63, description: 'The name of a connection.' });
const Identity = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'The id at the network: a phone number id of WhatsApp or an agent id of RCS.',
});
const InboundNumber = Type.String({
  minLength: 1,
  maxLength: 21,
  description: 'The number as the carrier writes it, or `*` for all other numbers of the connection.',
});

export const senderFilter = {
  channel: Type.Optional(NetworkChannel),
  search: searchField('A part of the name or of the id.'),
};

export const SenderOut = Type.Object({
  id: Type.Integer(),
  channel: NetworkChannel,
  identity: orNull(Type.String({ description: 'Null: an agent that is requested, but not registered yet.' })),
  name: Type.String({ description: 'The name that people see.' }),
  connection: orNull(Type.String()),
  ...owner,
  details: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Data from the network about the sender, or from the account with its request.',
  }),
  createdAt: instant('UTC'),
});

export const SenderIn = Type.Object({
  identity: Identity,
  connection: Connection,
  accountId: orNull(accountIdField),
  name: Type.Optional(Type.String({ maxLength: 200, description: 'The name that people see.' })),
});

export const Registration = Type.Object({ identity: Identity, connection: Connection });

export const numberFilter = { connection: connectionField };
export const NumberOut = Type.Object({
  number: Type.String({ description: '`*`: all other numbers of the connection.' }),
  connection: Type.String(),
  accountId: Type.Integer(),
  account: Type.String(),
  createdAt: instant('UTC'),
});
export const NumberIn = Type.Object({ number: InboundNumber, connection: Connection, accountId: accountIdField });
export const AssignedNumber = Type.Object({
  number: Type.String(),
  connection: Type.String(),
  accountId: Type.Integer(),
});
export const NumberQuery = Type.Object({ number: InboundNumber, connection: Connection });

export const templateFilter = {
  channel: Type.Optional(NetworkChannel),
  status: Type.Optional(Type.String({ maxLength: 40, description: 'The status at the network, such as REJECTED.' })),
  search: searchField('A part of the name.'),
};
export const TemplateOut = Type.Object({
  id: Type.String(),
  channel: NetworkChannel,
  name: Type.String(),
  language: Type.String(),
  category: Type.String(),
  status: Type.String(),
  reason: orNull(Type.String()),
  connection: orNull(Type.String()),
  ...owner,
  updatedAt: instant('UTC'),
});

export const toSender = ({ createdAt, ...row }: SenderRow) => ({ ...row, createdAt: createdAt.toISOString() });
export const toNumber = ({ createdAt, ...row }: NumberRow) => ({ ...row, createdAt: createdAt.toISOString() });
export const toTemplate = ({ updatedAt, ...row }: TemplateRow) => ({ ...row, updatedAt: updatedAt.toISOString() });
