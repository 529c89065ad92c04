import type { Events } from './events.ts';
import type { LedgerWriter } from './ledger.ts';
import type { Windows } from './limits.ts';
import type { MediaFile, MediaStore } from './media.ts';
import { newWamid } from './messages.ts';
import type { GraphScript } from './script.ts';
import { userIdOf } from './statuses.ts';

/** A message from a person to one of our numbers. */
export type InboundDraft = {
  /** The person's number; a plus sign is removed. */
  readonly from: string;
  /** Our number that receives the message; defaults to the first one. */
  readonly phoneNumberId?: string;
  readonly profileName?: string;
  /** The id; the same id twice simulates a duplicate notification. */
  readonly id?: string;
  /** The text of a text message. */
  readonly text?: string;
  /** The type of any other message. */
  readonly type?: string;
  /** The object that is named after the type. */
  readonly content?: object | readonly object[];
  /** The file of a media message, which is put in the store. */
  readonly file?: MediaFile & { readonly fileName?: string; readonly caption?: string };
  /** Further members of the item, such as context, referral or errors. */
  readonly more?: object;
};

/** Dependencies of inbound messages. */
export type InboundDeps = {
  readonly script: GraphScript;
  readonly ledger: LedgerWriter;
  readonly events: Events;
  readonly media: MediaStore;
  readonly windows: Windows;
  readonly firstNumber: string;
};

/** Opens the person's window and sends the message; resolves with its id once it was acknowledged or given up. */
export function injectInbound(deps: InboundDeps, draft: InboundDraft): Promise<{ id: string; acked: boolean }> {
  const { script, ledger, events, windows, firstNumber } = deps;
  const { id = newWamid(), phoneNumberId = firstNumber, profileName = 'Sandbox' } = draft;
  const from = draft.from.replace('+', '');
  const shown = script.payload === 'bsuid' ? { user_id: userIdOf(from) } : { wa_id: from };
  const [type, content] = contentOf(draft, deps.media);
  windows.open(phoneNumberId, from);
  const sender = script.payload === 'bsuid' ? { from_user_id: userIdOf(from) } : { from };
  const timestamp = String(Math.floor(Date.now() / 1000));
  return new Promise((resolve) => {
    events.publish({
      entry: ledger.recordEvent({ kind: 'inbound', id, what: type }),
      done: (acked) => resolve({ id, acked }),
      list: 'messages',
      phoneNumberId,
      item: { ...sender, id, timestamp, type, ...(content ? { [type]: content } : {}), ...draft.more },
      contact: { profile: { name: profileName }, ...shown },
    });
  });
}

function contentOf({ text, type, content, file }: InboundDraft, media: MediaStore): [type: string, content?: object] {
  if (file) return [type ?? 'document', mediaContent(file, media)];
  if (text !== undefined) return ['text', { body: text }];
  return content === undefined ? [type ?? 'unsupported'] : [type ?? 'unsupported', content];
}

function mediaContent(file: NonNullable<InboundDraft['file']>, media: MediaStore): object {
  const { bytes, mimeType, fileName, caption } = file;
  return {
    id: media.put({ bytes, mimeType }),
    mime_type: mimeType,
    ...(fileName === undefined ? {} : { filename: fileName }),
    ...(caption === undefined ? {} : { caption }),
  };
}
