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

/** The name of an error status of Google's APIs. */
export type ErrorName = keyof typeof STATUSES;

/** Reason for rejecting a request, in the terms of Google's APIs (RBM API, errors). */
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

/** Creates a fault, by default with Google's standard text. */
export const faultOf = (name: ErrorName, text: string = TEXTS[name]): Fault => ({ name, text });

/** Creates a fault for an invalid argument. */
export const invalid = (text: string): Fault => faultOf('INVALID_ARGUMENT', text);

/** Creates the response to a rejected request, in the format of Google's APIs. */
export const refuse = ({ name, text }: Fault): SandboxAnswer => ({
  status: STATUSES[name],
  body: { error: { code: STATUSES[name], message: text, status: name } },
});

/** Creates a response with status 200. */
export const ok = (body: object): SandboxAnswer => ({ status: 200, body });
