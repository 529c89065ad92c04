import type { Receipt, ReceiptState } from '../events.ts';
import { getList, getText } from '../json.ts';
import { statusOfFailure, readGraphError } from './errors.ts';

/** States by status. `sent` only means that the network has the message; an unknown status leads to UNKNOWN. */
const STATES: ReadonlyMap<string, ReceiptState> = new Map([
  ['sent', 'ACCEPTED'],
  ['delivered', 'DELIVERED'],
  ['read', 'READ'],
  ['played', 'READ'],
]);

const MAX_RAW_LENGTH = 4000;

/**
 * Reads one status of a message (Cloud API, webhooks); null without an id.
 *
 * Its ids are the network's, followed by our own where present, which we sent as `biz_opaque_callback_data`: a message
 * whose submit got no response is known only by that one. If the status shows no number, the destination is the
 * business-scoped user id.
 */
export function readStatus(item: unknown, phoneNumberId: string): Receipt | null {
  const id = getText(item, 'id');
  const status = getText(item, 'status');
  if (id === '') return null;
  const ours = getText(item, 'biz_opaque_callback_data');
  const errors = getList(item, 'errors').flatMap((error) => readGraphError(error) ?? []);
  const code = errors[0]?.code ?? null;
  return {
    carrierIds: ours === '' ? [id] : [id, ours],
    state: status === 'failed' ? statusOfFailure(code) : (STATES.get(status) ?? 'UNKNOWN'),
    doneAt: readEpochSeconds(item, 'timestamp'),
    errorCode: code === null ? null : String(code),
    destination: getText(item, 'recipient_id') || getText(item, 'recipient_user_id'),
    sender: phoneNumberId,
    raw: errors.length > 0 ? errorsText(errors) : JSON.stringify(item).slice(0, MAX_RAW_LENGTH).toWellFormed(),
  };
}

/** Failures are shown to people, so they get the network's text instead of its JSON. */
const errorsText = (errors: readonly { readonly code: number; readonly text: string }[]): string =>
  errors
    .map(({ code, text }) => `${code} ${text}`)
    .join('; ')
    .slice(0, MAX_RAW_LENGTH)
    .toWellFormed();

/** The year 2200, far below the latest instant that PostgreSQL and JavaScript both support. */
const LATEST_SECONDS = 7_258_118_400;

/** Reads a member with seconds since the epoch, as a string of digits; null for anything else. */
export function readEpochSeconds(item: unknown, name: string): Date | null {
  const written = getText(item, name);
  const seconds = /^\d{1,10}$/.test(written) ? Number(written) : Number.NaN;
  return seconds <= LATEST_SECONDS ? new Date(seconds * 1000) : null;
}
