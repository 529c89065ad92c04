import { type Static, Type } from 'typebox';
import { ROLES } from '../../platform/lib/scope.ts';
import { id, instant, orNull } from '../../platform/lib/schema.ts';
import { recordOf } from './domains.ts';
import { PROBLEMS } from './settings.ts';
import type { SettingsRow } from './sql.ts';

const Role = () => Type.Enum([...ROLES], { type: 'string' });

const fields = {
  shortName: Type.String({
    pattern: '^[a-z0-9][a-z0-9-]{1,39}$',
    description: 'Short name that people enter on the sign-in page; unique on this gateway.',
    'x-message': 'must have 2 to 40 lower-case letters, digits and hyphens',
  }),
  enabled: Type.Boolean({ description: 'True if people may sign in with the provider. Trials work without it.' }),
  issuer: Type.String({
    minLength: 1,
    maxLength: 500,
    description: 'The issuer identifier of the OpenID Connect provider, below which its discovery document is.',
  }),
  clientId: Type.String({ minLength: 1, maxLength: 500 }),
  scopes: Type.Array(Type.String({ pattern: '^[!#-[\\]-~]{1,100}$' }), {
    minItems: 1,
    maxItems: 20,
    description: 'Mostly openid, email and profile; must contain openid.',
  }),
  groupsClaim: orNull(
    Type.String({ minLength: 1, maxLength: 100, description: 'The claim of the ID token with the groups.' }),
  ),
  groupRoles: Type.Array(Type.Object({ group: Type.String({ minLength: 1, maxLength: 200 }), role: Role() }), {
    maxItems: 100,
    description: 'The first group that a person is in decides the role, at each sign-in.',
  }),
  defaultRole: Type.Union([Role(), Type.Null()], {
    description:
      'The role of people in none of the groups whose mail domain is proven; null: they are denied. Needs ' +
      '`emailDomains`.',
  }),
  emailDomains: Type.Array(
    Type.String({
      pattern: '^[A-Za-z0-9-]{1,63}(\\.[A-Za-z0-9-]{1,63}){1,8}$',
      maxLength: 253,
      'x-message': 'must be a domain such as example.com',
    }),
    {
      maxItems: 50,
      description:
        'Only people with a verified email address in one of these domains may sign in. Once a domain is proven ' +
        '(`domains`), they may also begin with that address, and get `defaultRole`.',
    },
  ),
  required: Type.Boolean({
    description:
      'True if passwords of the account no longer sign in, except those of `emergencyUserId` and of operators of the ' +
      'gateway. Needs a successful trial of these settings.',
  }),
  emergencyUserId: Type.Union([id(), Type.Null()], {
    description: 'The admin whose password signs in when the provider fails, and who always stays an admin.',
  }),
};

export const SettingsIn = Type.Object({
  ...fields,
  clientSecret: Type.Optional(
    Type.Union([Type.String({ minLength: 1, maxLength: 1000 }), Type.Null()], {
      description: 'Null: the provider knows us as a public client. If omitted, the stored secret is unchanged.',
    }),
  ),
});

export const SETTINGS_EXAMPLE: Static<typeof SettingsIn> = {
  shortName: 'acme',
  enabled: false,
  issuer: 'https://login.example.com',
  clientId: 'heliograph',
  clientSecret: 'the secret that the provider issued',
  scopes: ['openid', 'email', 'profile'],
  groupsClaim: 'groups',
  groupRoles: [{ group: 'messaging-admins', role: 'admin' }],
  defaultRole: null,
  emailDomains: ['example.com'],
  required: false,
  emergencyUserId: null,
};

const TrialOut = Type.Object({
  at: instant('UTC'),
  isCurrent: Type.Boolean({ description: 'True if the settings are still those that were tried.' }),
  problem: orNull(Type.Enum([...PROBLEMS], { type: 'string' })),
  detail: orNull(Type.String()),
  email: orNull(Type.String({ description: 'The verified email address.' })),
  groups: Type.Array(Type.String()),
  role: Type.Union([Role(), Type.Null()], { description: 'The role that the person would get.' }),
});

const DOMAIN_EXAMPLE = {
  domain: 'example.com',
  isProven: true,
  record: {
    type: 'TXT',
    name: '_heliograph-challenge.example.com',
    value: 'heliograph-domain-verification=0c1f6f9a4f5b4c55a1d2b0f3c9e8d7a6',
  },
};

export const DomainOut = Type.Object(
  {
    domain: Type.String(),
    isProven: Type.Boolean({ description: 'True if the account has shown that the domain is its own.' }),
    record: Type.Object(
      { type: Type.Literal('TXT'), name: Type.String(), value: Type.String() },
      { description: 'The DNS record to create and to keep.' },
    ),
  },
  { examples: [DOMAIN_EXAMPLE] },
);

export const SettingsOut = Type.Object({
  redirectUri: Type.String({
    description: 'The redirect URI to register at the provider. Each account has its own, which does not change.',
  }),
  settings: orNull(
    Type.Object({
      ...fields,
      domains: Type.Array(DomainOut, { description: 'The state of each of `emailDomains`.' }),
      hasClientSecret: Type.Boolean({ description: 'The secret itself is never shown.' }),
      lastTrial: orNull(TrialOut),
    }),
  ),
});

export const AuthorizeOut = Type.Object(
  {
    authorizeUrl: Type.String({
      description: 'URL at which the person signs in, within ten minutes, in the same browser.',
    }),
  },
  { examples: [{ authorizeUrl: 'https://login.example.com/authorize?client_id=heliograph&response_type=code' }] },
);

export const BeginIn = Type.Object({
  company: Type.String({
    minLength: 1,
    maxLength: 254,
    description: 'The short name of the account, or an email address of one of its domains.',
  }),
  next: Type.Optional(
    Type.String({ maxLength: 2000, description: 'The page of the console to continue with; anything else is /.' }),
  ),
});

export const OptionsOut = Type.Object({
  singleSignOn: Type.Boolean({ description: 'True if people of any account sign in with a provider.' }),
  passwordReset: Type.Boolean({ description: 'True if the gateway has a mail server for forgotten passwords.' }),
});

type DomainsOf = Pick<SettingsRow, 'provenDomains' | 'token'>;

/** Formats one domain of an account for responses. */
export const toDomainOut = (domain: string, { provenDomains, token }: DomainsOf): Static<typeof DomainOut> => ({
  domain,
  isProven: provenDomains.includes(domain),
  record: recordOf(domain, token),
});

/** Formats the settings for responses, without the secret. */
export function toSettingsOut(row: SettingsRow | undefined, redirectUri: string): Static<typeof SettingsOut> {
  if (!row) return { redirectUri, settings: null };
  const { accountId: _, token: __, provenDomains: ___, clientSecret, version, lastTrial, ...settings } = row;
  const domains = row.emailDomains.map((domain) => toDomainOut(domain, row));
  const trial = lastTrial && {
    at: lastTrial.at,
    isCurrent: lastTrial.version === version,
    problem: lastTrial.problem,
    detail: lastTrial.detail,
    email: lastTrial.email,
    groups: [...lastTrial.groups],
    role: lastTrial.role,
  };
  return { redirectUri, settings: { ...settings, domains, hasClientSecret: clientSecret !== null, lastTrial: trial } };
}
