import type { Receipt, ReceiptState } from '../events.ts';
import { listIn, wordsIn } from '../json.ts';
import { failureOf, readGraphError } from './errors.ts';

/** `sent` says that the network has it, so nothing new; words that nobody knows say nothing. */
const STATES: ReadonlyMap<string, ReceiptState> = new Map([
  ['sent', 'ACCEPTED'],
  ['delivered', 'DELIVERED'],
  ['read', 'READ'],
  ['played', 'READ'],
]);

const LONGEST_RAW = 4000;

/**
 * One status of a message (protocol sheet whatsapp, sections 8 and 11); null without an id.
 *
 * Its ids are the network's and then, where it is there, ours, which we gave as `biz_opaque_callback_data`: a message
 * whose submit was not answered is known by that one only. A person may have no number there (section 8): then the
 * destination is the business-scoped user id.
 */
export function readStatus(item: unknown, phoneNumberId: string): Receipt | null {
  const id = wordsIn(item, 'id');
  const status = wordsIn(item, 'status');
  if (id === '') return null;
  const ours = wordsIn(item, 'biz_opaque_callback_data');
  const errors = listIn(item, 'errors').flatMap((error) => readGraphError(error) ?? []);
  const code = errors[0]?.code ?? null;
  return {
    carrierIds: ours === '' ? [id] : [id, ours],
    state: status === 'failed' ? failureOf(code) : (STATES.get(status) ?? 'UNKNOWN'),
    doneAt: secondsIn(item, 'timestamp'),
    errorCode: code === null ? null : String(code),
    destination: wordsIn(item, 'recipient_id') || wordsIn(item, 'recipient_user_id'),
    sender: phoneNumberId,
    raw: errors.length > 0 ? wordsOfErrors(errors) : JSON.stringify(item).slice(0, LONGEST_RAW).toWellFormed(),
  };
}

/** A failure is read by people: they get the network's words, not its JSON. */
const wordsOfErrors = (errors: readonly { readonly code: number; readonly text: string }[]): string =>
  errors
    .map(({ code, text }) => `${code} ${text}`)
    .join('; ')
    .slice(0, LONGEST_RAW)
    .toWellFormed();

/** The latest instant that PostgreSQL and JavaScript both know is far beyond; this is the year 2200. */
const LATEST_SECONDS = 7_258_118_400;

/** An instant written as seconds of the epoch, in digits; null for anything else. */
export function secondsIn(item: unknown, name: string): Date | null {
  const written = wordsIn(item, name);
  const seconds = /^\d{1,10}$/.test(written) ? Number(written) : Number.NaN;
  return seconds <= LATEST_SECONDS ? new Date(seconds * 1000) : null;
}
