import type { SandboxAnswer } from '../http/server.ts';

const STATUSES = {
  INVALID_ARGUMENT: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  RESOURCE_EXHAUSTED: 429,
  INTERNAL: 500,
  UNAVAILABLE: 503,
} as const;

export type ErrorName = keyof typeof STATUSES;

/** Why a request is refused, as Google's APIs say it (protocol sheet rcs, section 5). */
export type Fault = { readonly name: ErrorName; readonly text: string };

const TEXTS: Readonly<Record<ErrorName, string>> = {
  INVALID_ARGUMENT: 'Request contains an invalid argument.',
  UNAUTHENTICATED:
    'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
  PERMISSION_DENIED: 'The caller does not have permission',
  NOT_FOUND: 'Requested entity was not found.',
  RESOURCE_EXHAUSTED: 'Resource has been exhausted (e.g. check quota).',
  INTERNAL: 'Internal error encountered.',
  UNAVAILABLE: 'The service is currently unavailable.',
};

export const faultOf = (name: ErrorName, text: string = TEXTS[name]): Fault => ({ name, text });

export const invalid = (text: string): Fault => faultOf('INVALID_ARGUMENT', text);

export const refuse = ({ name, text }: Fault): SandboxAnswer => ({
  status: STATUSES[name],
  body: { error: { code: STATUSES[name], message: text, status: name } },
});

export const ok = (body: object): SandboxAnswer => ({ status: 200, body });
