import { Type } from 'typebox';
import { accountId, connectionField, search } from '../fields.ts';
import type { NumberRow, SenderRow, TemplateRow } from './sql.ts';
import { instant, orNull } from '../../../platform/lib/schema.ts';

const NetworkChannel = Type.Enum(['WHATSAPP', 'RCS'], { type: 'string' });
const owner = {
  accountId: orNull(Type.Integer({ description: "Null: every account's." })),
  account: orNull(Type.String({ description: 'Its name.' })),
};
const Connection = Type.String({ minLength: 1, maxLength: 63, description: 'Name of a connection.' });
const Identity = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'As the network has it: a phone number id of WhatsApp, an agent id of RCS.',
});
const InboundNumber = Type.String({
  minLength: 1,
  maxLength: 21,
  description: 'As the carrier writes it, or `*` for every other number of the connection.',
});

export const senderFilter = {
  channel: Type.Optional(NetworkChannel),
  search: search('A part of the name or of the id.'),
};

export const SenderOut = Type.Object({
  id: Type.Integer(),
  channel: NetworkChannel,
  identity: orNull(Type.String({ description: 'Null: an agent that an account asks for.' })),
  name: Type.String({ description: 'What people see.' }),
  connection: orNull(Type.String()),
  ...owner,
  details: Type.Record(Type.String(), Type.Unknown(), {
    description: 'What the network says of it, or what the account said that asks for it.',
  }),
  createdAt: instant('UTC'),
});

export const SenderIn = Type.Object({
  identity: Identity,
  connection: Connection,
  accountId: orNull(accountId),
  name: Type.Optional(Type.String({ maxLength: 200, description: 'What people see.' })),
});

export const Registration = Type.Object({ identity: Identity, connection: Connection });

export const numberFilter = { connection: connectionField };
export const NumberOut = Type.Object({
  number: Type.String({ description: '`*`: every other number of the connection.' }),
  connection: Type.String(),
  accountId: Type.Integer(),
  account: Type.String(),
  createdAt: instant('UTC'),
});
export const NumberIn = Type.Object({ number: InboundNumber, connection: Connection, accountId });
export const AssignedNumber = Type.Object({
  number: Type.String(),
  connection: Type.String(),
  accountId: Type.Integer(),
});
export const NumberQuery = Type.Object({ number: InboundNumber, connection: Connection });

export const templateFilter = {
  channel: Type.Optional(NetworkChannel),
  status: Type.Optional(Type.String({ maxLength: 40, description: 'As the network writes it, such as REJECTED.' })),
  search: search('A part of the name.'),
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
