import { newId } from '../../platform/lib/ids.ts';
import type { SandboxAnswer } from '../http/server.ts';
import { createRecentMap } from '../smsc/recent-map.ts';
import type { Callbacks } from './callbacks.ts';

/** What a person does on the handset: exactly one of the optional members beside `agentId`. */
export type UserAction = {
  /** E.164 with the plus. */
  readonly from: string;
  /** The first agent when left out. */
  readonly agentId?: string;
  readonly text?: string;
  /** A tap on a suggestion: what stands on it, and its data. */
  readonly tap?: { readonly text: string; readonly postbackData: string };
  readonly location?: { readonly latitude: number; readonly longitude: number };
  /** A file that is somewhere already, or one that the sandbox serves. */
  readonly file?: { readonly mimeType: string; readonly fileName: string } & (
    | { readonly url: string }
    | { readonly bytes: Uint8Array }
  );
  readonly event?: 'IS_TYPING' | 'SUBSCRIBE' | 'UNSUBSCRIBE';
  /** The id of the message; a repeated one is a repetition of the network. */
  readonly messageId?: string;
};

export type People = {
  /** Tells what a person did; resolves with whether the client has answered 200. */
  act(act: UserAction): Promise<boolean>;
  /** A file that a person sent. */
  serve(id: string): SandboxAnswer | null;
};

/** Files of persons that are kept, the newest. */
const MAX_FILES = 500;

export function createPeople(options: {
  readonly tell: Callbacks['tell'];
  readonly firstAgent: string;
  readonly filesUrl: () => string;
}): People {
  const files = createRecentMap<{ bytes: Uint8Array; mimeType: string }>(() => MAX_FILES);

  function addressOf(file: NonNullable<UserAction['file']>): { fileUri: string; fileSizeBytes?: number } {
    if ('url' in file) return { fileUri: file.url };
    const id = newId();
    files.set(id, { bytes: file.bytes, mimeType: file.mimeType });
    return { fileUri: `${options.filesUrl()}/${id}`, fileSizeBytes: file.bytes.length };
  }

  function substanceOf({ text, tap, location, file }: UserAction): object {
    if (text !== undefined) return { text };
    if (tap) return { suggestionResponse: { ...tap, type: 'REPLY' } };
    if (location) return { location };
    if (!file) throw new Error('say what the person does');
    const { mimeType, fileName } = file;
    return { userFile: { payload: { mimeType, fileName, ...addressOf(file) } } };
  }

  return {
    act(act) {
      const { from: senderPhoneNumber, agentId = options.firstAgent, event: eventType, messageId = newId() } = act;
      const common = { senderPhoneNumber, agentId, sendTime: new Date().toISOString() };
      const told = eventType
        ? ({ kind: 'event', what: eventType, event: { ...common, eventType, eventId: newId() } } as const)
        : ({ kind: 'inbound', what: 'message', event: { ...common, messageId, ...substanceOf(act) } } as const);
      return options.tell({ ...told, id: messageId, agentId });
    },
    serve(id) {
      const file = files.get(id);
      return file ? { status: 200, headers: { 'content-type': file.mimeType }, body: Buffer.from(file.bytes) } : null;
    },
  };
}
