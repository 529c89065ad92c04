import { newId } from '../../platform/lib/ids.ts';
import type { SandboxAnswer } from '../http/server.ts';
import { createRecentMap } from '../smsc/recent-map.ts';
import type { Callbacks } from './callbacks.ts';

/** An action of a person on the handset: exactly one of `text`, `tap`, `location`, `file` and `event`. */
export type UserAction = {
  /** E.164 with the plus sign. */
  readonly from: string;
  /** Defaults to the first agent. */
  readonly agentId?: string;
  readonly text?: string;
  /** A tap on a suggestion: its label and its data. */
  readonly tap?: { readonly text: string; readonly postbackData: string };
  readonly location?: { readonly latitude: number; readonly longitude: number };
  /** A file at a given URL, or one that the simulator serves. */
  readonly file?: { readonly mimeType: string; readonly fileName: string } & (
    | { readonly url: string }
    | { readonly bytes: Uint8Array }
  );
  readonly event?: 'IS_TYPING' | 'SUBSCRIBE' | 'UNSUBSCRIBE';
  /** The id of the message; a repeated id simulates a repetition by the network. */
  readonly messageId?: string;
};

/** The people who use the simulated network. */
export type People = {
  /** Sends the callback for an action; resolves with true if the client returned 200. */
  act(action: UserAction): Promise<boolean>;
  /** Returns a file that a person sent; null when it is unknown. */
  serve(id: string): SandboxAnswer | null;
};

/** The newest files of people that are kept. */
const MAX_FILES = 500;

/** Creates the people who use the simulated network. */
export function createPeople(options: {
  readonly send: Callbacks['send'];
  readonly firstAgent: string;
  readonly filesUrl: () => string;
}): People {
  const files = createRecentMap<{ bytes: Uint8Array; mimeType: string }>(() => MAX_FILES);

  function locationOf(file: NonNullable<UserAction['file']>): { fileUri: string; fileSizeBytes?: number } {
    if ('url' in file) return { fileUri: file.url };
    const id = newId();
    files.set(id, { bytes: file.bytes, mimeType: file.mimeType });
    return { fileUri: `${options.filesUrl()}/${id}`, fileSizeBytes: file.bytes.length };
  }

  function contentOf({ text, tap, location, file }: UserAction): object {
    if (text !== undefined) return { text };
    if (tap) return { suggestionResponse: { ...tap, type: 'REPLY' } };
    if (location) return { location };
    if (!file) throw new Error('the action has no content');
    const { mimeType, fileName } = file;
    return { userFile: { payload: { mimeType, fileName, ...locationOf(file) } } };
  }

  return {
    act(action) {
      const { from: senderPhoneNumber, agentId = options.firstAgent, event: eventType, messageId = newId() } = action;
      const common = { senderPhoneNumber, agentId, sendTime: new Date().toISOString() };
      const outgoing = eventType
        ? ({ kind: 'event', what: eventType, event: { ...common, eventType, eventId: newId() } } as const)
        : ({ kind: 'inbound', what: 'message', event: { ...common, messageId, ...contentOf(action) } } as const);
      return options.send({ ...outgoing, id: messageId, agentId });
    },
    serve(id) {
      const file = files.get(id);
      return file ? { status: 200, headers: { 'content-type': file.mimeType }, body: Buffer.from(file.bytes) } : null;
    },
  };
}
