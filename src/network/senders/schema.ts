import { type Static, Type } from 'typebox';
import type { Sender } from './sql.ts';
import { orNull } from '../../platform/lib/schema.ts';

const Text = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description });
const Url = (description: string) =>
  Type.String({ pattern: '^https://[^\\s]{1,2040}$', description, 'x-message': 'must be an https URL' });

const common = Type.Boolean({ description: 'Shared by all accounts.' });
const createdAt = Type.String({ format: 'date-time' });

export const PhoneNumberOut = Type.Object({
  phoneNumberId: Type.String({ description: "The network's id, for `phoneNumberId` of sends and campaigns." }),
  displayPhoneNumber: orNull(Type.String({ description: 'The number that people see.' })),
  verifiedName: Type.String(),
  qualityRating: Type.String({ description: 'GREEN, YELLOW, RED or UNKNOWN, as last reported by the network.' }),
  common,
  createdAt,
});

/** Data of an agent that an account requests (RBM API, agents). */
export const AgentIn = Type.Object({
  displayName: Text(100, 'The name that people see above its messages.'),
  description: Type.Optional(Text(100, 'Shown below the name.')),
  color: Type.Optional(Type.String({ pattern: '^#[0-9A-Fa-f]{6}$', 'x-message': 'must be a colour such as #0057B8' })),
  logoUrl: Type.Optional(Url('A square image of at most 50 kB.')),
  heroUrl: Type.Optional(Url('The image at the top, at most 200 kB.')),
  phoneNumbers: Type.Optional(Type.Array(Text(20, 'E.164.'), { maxItems: 3 })),
  emails: Type.Optional(Type.Array(Text(320, 'An email address.'), { maxItems: 3 })),
  websites: Type.Optional(Type.Array(Url('A website.'), { maxItems: 3 })),
  privacyUrl: Type.Optional(Url('The privacy policy.')),
  termsUrl: Type.Optional(Url('The terms of use.')),
  useCase: Type.Optional(
    Type.Enum(['OTP', 'TRANSACTIONAL', 'PROMOTIONAL', 'MULTI_USE'], {
      type: 'string',
      description: 'The purpose of the agent.',
    }),
  ),
});
export type AgentIn = Static<typeof AgentIn>;

export const AgentOut = Type.Object({
  id: Type.Integer(),
  agentId: orNull(Type.String({ description: 'For `agentId` of sends and campaigns; null while PENDING.' })),
  displayName: Type.String(),
  status: Type.Enum(['PENDING', 'LAUNCHED'], {
    type: 'string',
    description: 'PENDING until the operator has registered it with the network.',
  }),
  common,
  details: Type.Object({}, { additionalProperties: true, description: 'The other fields of the request.' }),
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
