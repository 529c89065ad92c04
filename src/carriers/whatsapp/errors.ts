import { getMember, getText } from '../json.ts';
import {
  type ErrorClass,
  HOLD,
  KNOWN_ERRORS,
  type KnownError,
  LATER,
  MESSAGE,
  NUMBER_LIMIT,
  PERMISSION_ERRORS,
  PROOF_ERROR,
  type Refusal,
  TOKEN,
  UNKNOWN_OBJECT,
} from './error-table.ts';

const BY_CODE: ReadonlyMap<number, KnownError> = new Map(
  KNOWN_ERRORS.flatMap((known) => known.codes.map((code): [number, KnownError] => [code, known])),
);

/** Finds the error in the table, by its code and, if Meta has only the general code 100, by its text. */
function findKnown({ code, text }: GraphError): KnownError | undefined {
  if (code >= 200 && code <= 299) return PERMISSION_ERRORS;
  if (code === 100 && text.includes('appsecret_proof')) return PROOF_ERROR;
  if (code === 100 && text.startsWith('Unsupported ') && text.includes('Object with ID')) return UNKNOWN_OBJECT;
  return BY_CODE.get(code);
}

/** Returns the class of a Graph API error. Codes that are not listed are classified by the HTTP status. */
export const classOf = (error: GraphError, httpStatus: number): ErrorClass =>
  findKnown(error)?.errorClass ?? classOfHttp(httpStatus);

/** Returns the text of an error, followed by its meaning and the action required of the operator, if known. */
export function explain(error: GraphError): string {
  const known = findKnown(error);
  return known ? `${error.text}. ${known.meaning} ${known.advice}` : error.text;
}

/** Returns the class by the HTTP status alone, which is only a hint: nothing is rejected that may be accepted later. */
export function classOfHttp(httpStatus: number): ErrorClass {
  if (httpStatus === 401) return TOKEN;
  if (httpStatus === 429) return NUMBER_LIMIT;
  if (httpStatus === 403 || (httpStatus >= 300 && httpStatus <= 399)) return HOLD;
  return httpStatus >= 500 || httpStatus === 408 ? LATER : MESSAGE;
}

/**
 * Returns the state of a message that was accepted and then reported as failed with this code. An error that would have
 * allowed a retry before acceptance is an ordinary ERROR now, since the network has given up the message.
 */
export function statusOfFailure(code: number | null): Refusal {
  const known = code === null ? undefined : BY_CODE.get(code)?.errorClass;
  return known?.act === 'refuse' ? known.status : 'ERROR';
}

/** The error object of a response or a status (Cloud API, webhooks and error codes). */
export type GraphError = { readonly code: number; readonly text: string };

/** Reads an error object, `{ code, message, title, error_data: { details } }`; null if it has no code. */
export function readGraphError(json: unknown): GraphError | null {
  const written = getMember(json, 'code');
  const code = typeof written === 'string' && /^\d{1,9}$/.test(written) ? Number(written) : written;
  if (typeof code !== 'number' || !Number.isInteger(code)) return null;
  const title = getText(json, 'title') || getText(json, 'message');
  const details = getText(getMember(json, 'error_data'), 'details');
  const text = details === '' || details === title ? title : `${title}: ${details}`;
  return { code, text: text.slice(0, MAX_TEXT_LENGTH) || `error ${code}` };
}

const MAX_TEXT_LENGTH = 1000;
