import { type Static, Type } from 'typebox';
import type { Sender } from './sql.ts';
import { orNull } from '../../platform/lib/schema.ts';

const Words = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description });
const Url = (description: string) =>
  Type.String({ pattern: '^https://[^\\s]{1,2040}$', description, 'x-message': 'must be an https address' });

const common = Type.Boolean({ description: 'Every account may send as it; this one does not have it to itself.' });
const createdAt = Type.String({ format: 'date-time' });

export const PhoneNumberOut = Type.Object({
  phoneNumberId: Type.String({ description: "The network's id: what `phoneNumberId` of sends and campaigns takes." }),
  displayPhoneNumber: orNull(Type.String({ description: 'As people see it.' })),
  verifiedName: Type.String(),
  qualityRating: Type.String({ description: 'GREEN, YELLOW, RED or UNKNOWN, as the network last said.' }),
  common,
  createdAt,
});

/** What an account says of an agent that it asks for (protocol sheet rcs, section 7). */
export const AgentIn = Type.Object({
  displayName: Words(100, 'What people see above its messages.'),
  description: Type.Optional(Words(100, 'Shown with the name.')),
  color: Type.Optional(Type.String({ pattern: '^#[0-9A-Fa-f]{6}$', 'x-message': 'must be a colour such as #0057B8' })),
  logoUrl: Type.Optional(Url('A square picture of at most 50 kB.')),
  heroUrl: Type.Optional(Url('The picture at the top, at most 200 kB.')),
  phoneNumbers: Type.Optional(Type.Array(Words(20, 'E.164.'), { maxItems: 3 })),
  emails: Type.Optional(Type.Array(Words(320, 'An address.'), { maxItems: 3 })),
  websites: Type.Optional(Type.Array(Url('An address.'), { maxItems: 3 })),
  privacyUrl: Type.Optional(Url('The privacy policy.')),
  termsUrl: Type.Optional(Url('The terms of use.')),
  useCase: Type.Optional(
    Type.Enum(['OTP', 'TRANSACTIONAL', 'PROMOTIONAL', 'MULTI_USE'], { type: 'string', description: 'What it is for.' }),
  ),
});
export type AgentIn = Static<typeof AgentIn>;

export const AgentOut = Type.Object({
  id: Type.Integer(),
  agentId: orNull(Type.String({ description: 'What `agentId` of sends and campaigns takes; null while PENDING.' })),
  displayName: Type.String(),
  status: Type.Enum(['PENDING', 'LAUNCHED'], {
    type: 'string',
    description: 'PENDING until the operator has registered it with the network.',
  }),
  common,
  details: Type.Object({}, { additionalProperties: true, description: 'As it was asked for.' }),
  createdAt,
});

const textOf = (details: Record<string, unknown>, name: string): string | null => {
  const value = details[name];
  return typeof value === 'string' ? value : null;
};

export const toPhoneNumberOut = ({ identity, name, ownerId, details, createdAt: at }: Sender) => ({
  phoneNumberId: identity ?? '',
  displayPhoneNumber: textOf(details, 'displayNumber'),
  verifiedName: name,
  qualityRating: textOf(details, 'quality') ?? 'UNKNOWN',
  common: ownerId === null,
  createdAt: at.toISOString(),
});

export const toAgentOut = ({ id, identity, name, ownerId, details, createdAt: at }: Sender) => ({
  id,
  agentId: identity,
  displayName: name,
  status: identity === null ? ('PENDING' as const) : ('LAUNCHED' as const),
  common: ownerId === null,
  details,
  createdAt: at.toISOString(),
});
