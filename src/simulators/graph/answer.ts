import { randomBytes } from 'node:crypto';
import type { SandboxAnswer } from '../http/server.ts';

/** A regular response, of any status. */
export type Answer = Extract<SandboxAnswer, object>;

/** The HTTP status of error codes for which it is not 400 (Cloud API, error codes). */
const HTTP_STATUS: ReadonlyMap<number, number> = new Map([
  ...[0, 190].map((code): [number, number] => [code, 401]),
  ...[10, 200, 368, 130497, 131005, 131031].map((code): [number, number] => [code, 403]),
  ...[3, 131000, 131045, 131057].map((code): [number, number] => [code, 500]),
  ...[2, 131016, 133004].map((code): [number, number] => [code, 503]),
  [132001, 404],
]);

/** The titles of the codes that the simulator itself uses; a script may name any other code. */
const TITLES: ReadonlyMap<number, string> = new Map([
  [0, 'Authentication is not possible'],
  [2, 'Service is temporarily unavailable'],
  [100, 'Invalid parameter'],
  [190, 'The access token is not valid'],
  [130429, 'Rate limit hit'],
  [131000, 'Something went wrong'],
  [131008, 'Required parameter is missing'],
  [131009, 'Parameter value is not valid'],
  [131016, 'Service is unavailable'],
  [131021, 'Recipient cannot be the sender'],
  [131026, 'Message is undeliverable'],
  [131031, 'Account is locked'],
  [131047, 'Re-engagement message'],
  [131048, 'Spam rate limit hit'],
  [131049, 'Not delivered to keep a healthy ecosystem'],
  [131050, 'The person stopped marketing messages'],
  [131051, 'Message type is not supported'],
  [131053, 'Media upload error'],
  [131056, 'Pair rate limit hit'],
  [133005, 'Two step verification PIN mismatch'],
  [133010, 'Phone number not registered'],
  [131062, 'Recipient is not supported for this message'],
  [132000, 'Number of parameters does not match the template'],
  [132001, 'Template does not exist in that language'],
  [132005, 'Template text is too long with its values'],
  [132012, 'Parameter format does not match the template'],
  [132015, 'Template is paused'],
  [132016, 'Template is disabled'],
  [135000, 'Generic user error'],
  [2388019, 'Template limit reached'],
  [2388040, 'Character limit exceeded'],
  [2388299, 'Variables cannot be at the start or the end'],
]);

/** Returns the title of an error code. */
export const titleOf = (code: number): string => TITLES.get(code) ?? 'Error';

/** Reason for rejecting a request. */
export type Fault = { readonly code: number; readonly details: string };

/** Creates an error response in the documented format (Cloud API, error codes). */
export function faultAnswer({ code, details }: Fault): Answer {
  const error = {
    message: `(#${code}) ${titleOf(code)}`,
    type: 'OAuthException',
    code,
    error_data: { messaging_product: 'whatsapp', details },
    fbtrace_id: traceId(),
  };
  return { status: HTTP_STATUS.get(code) ?? 400, body: { error } };
}

/**
 * Creates the response to a call whose `appsecret_proof` is missing or wrong (texts as quoted in Yoctol/bottender#271
 * and facebook/facebook-python-business-sdk#528).
 */
export const proofFault = (given: boolean): Answer => ({
  status: 400,
  body: {
    error: {
      message: given
        ? 'Invalid appsecret_proof provided in the API argument'
        : 'API calls from the server require an appsecret_proof argument',
      type: 'GraphMethodException',
      code: 100,
      fbtrace_id: traceId(),
    },
  },
});

/** Creates the response for an object that does not exist or does not belong to this token. */
export const unknownObject = (id: string): Answer => ({
  status: 400,
  body: {
    error: {
      message:
        `Unsupported post request. Object with ID '${id}' does not exist, cannot be loaded due to missing permissions, ` +
        'or does not support this operation. Please read the Graph API documentation at https://developers.facebook.com/docs/graph-api',
      type: 'GraphMethodException',
      code: 100,
      error_subcode: 33,
      fbtrace_id: traceId(),
    },
  },
});

/** Creates a response with status 200. */
export const ok = (body: object): Answer => ({ status: 200, body });

const traceId = (): string => `A${randomBytes(17).toString('base64url')}`;
