import { LRUCache } from 'lru-cache';
import { createSlots } from '../../platform/lib/limits/slots.ts';
import type { Submission } from '../carrier.ts';
import type { Outcome } from '../outcome.ts';
import type { OwnFile } from '../own-file.ts';
import type { GraphClient } from './client.ts';
import { uploadMedia } from './media.ts';

/** The copies of our files at the network; see `createCopies`. */
export type Copies = {
  /**
   * Returns the network's id of a file for messages of this number, which is uploaded if necessary; null without one.
   * Never rejects.
   */
  idOf(phoneNumberId: string, file: OwnFile): Promise<string | null>;
  /** Forgets a copy that the network did not accept in a message. */
  forget(phoneNumberId: string, file: OwnFile, networkId: string): Promise<void>;
};

type Log = (level: 'warn', message: string, fields: Record<string, unknown>) => void;

/** The network keeps uploads for 30 days (Cloud API, media); a message may wait for some days. */
const KEEP_DAYS = 25;
/** Maximum concurrent uploads: each has its file in memory twice. */
const UPLOADS_AT_ONCE = 3;
const MAX_REMEMBERED = 10_000;
/** Time for which an id is used without asking the database. */
const REMEMBER_MS = 3_600_000;
/** Time for which a file is sent by its link after a failed upload; `REMEMBER_MS` if the network rejects the file. */
const RETRY_MS = 60_000;

/**
 * Creates the store of copies. A file is uploaded once for each number and sent by its id from then on, so that the
 * network does not have to reach us, and does not fetch the file for every message.
 */
export function createCopies(client: GraphClient, log: Log): Copies {
  const known = new LRUCache<string, { readonly id: Promise<string | null> }>({
    max: MAX_REMEMBERED,
    ttl: REMEMBER_MS,
  });
  const slots = createSlots(UPLOADS_AT_ONCE);
  const keyOf = (phoneNumberId: string, { key }: OwnFile): string => `${phoneNumberId} ${key}`;

  async function upload(phoneNumberId: string, file: OwnFile): Promise<string | null> {
    const found = await file.findCopy(phoneNumberId);
    if (found !== null) return found;
    const { mimeType, name: fileName } = file;
    const answer = await slots.run(async () =>
      uploadMedia(client, phoneNumberId, { bytes: await file.read(), mimeType, fileName }),
    );
    if (!answer.ok) return giveUp(phoneNumberId, file, answer.fault.text, answer.fault.retry ? RETRY_MS : REMEMBER_MS);
    await file.saveCopy({ sender: phoneNumberId, networkId: answer.value, days: KEEP_DAYS });
    return answer.value;
  }

  /** Caches the failure, so that messages contain the link to the file instead. */
  function giveUp(phoneNumberId: string, file: OwnFile, reason: string, ttl: number): null {
    known.set(keyOf(phoneNumberId, file), { id: Promise.resolve(null) }, { ttl });
    log('warn', 'A file could not be uploaded: messages contain the link to it', {
      phoneNumberId,
      name: file.name,
      reason,
    });
    return null;
  }

  return {
    idOf(phoneNumberId, file) {
      const key = keyOf(phoneNumberId, file);
      const earlier = known.get(key);
      if (earlier) return earlier.id;
      const id = upload(phoneNumberId, file).catch((err: unknown) =>
        giveUp(phoneNumberId, file, String(err), RETRY_MS),
      );
      known.set(key, { id });
      return id;
    },
    async forget(phoneNumberId, file, networkId) {
      known.delete(keyOf(phoneNumberId, file));
      await file
        .forgetCopy({ sender: phoneNumberId, networkId })
        .catch((err: unknown) => log('warn', 'A copy of a file could not be forgotten', { reason: String(err) }));
    },
  };
}

/** Returns a message with the network's id of its file instead of the link; null if it has no link to a file. */
function withCopy(submission: Submission, networkId: string): Submission | null {
  const { content } = submission;
  if (content?.channel !== 'WHATSAPP') return null;
  const { type } = content.message;
  const media = content.message[type];
  if (typeof media !== 'object' || media === null || !('link' in media)) return null;
  const { link: _, ...rest } = media;
  return {
    ...submission,
    content: { ...content, message: { ...content.message, [type]: { id: networkId, ...rest } } },
  };
}

/** The codes with which the network rejects a message because of its file, among others. */
const FILE_CODES: readonly string[] = ['100', '131009', '131052', '131053'];

/**
 * Sends a message with a copy of its file, if it has one: uploads the file first if necessary. If the network does not
 * accept the message with the copy, it is sent once more with the link, and the next message gets a new copy.
 */
export function sendWithCopy(
  copies: Copies,
  phoneNumberId: string,
  submission: Submission,
  send: Send,
): Promise<Outcome> {
  const { file } = submission;
  // Most messages have none, and need no separate promise.
  return file ? sendCopyOf(file, copies, phoneNumberId, submission, send) : send(submission);
}

type Send = (submission: Submission) => Promise<Outcome>;

async function sendCopyOf(
  file: OwnFile,
  copies: Copies,
  phoneNumberId: string,
  submission: Submission,
  send: Send,
): Promise<Outcome> {
  const id = await copies.idOf(phoneNumberId, file);
  const copied = id === null ? null : withCopy(submission, id);
  if (id === null || copied === null) return send(submission);
  const outcome = await send(copied);
  if (outcome.kind !== 'refused' || !FILE_CODES.includes(outcome.code)) return outcome;
  await copies.forget(phoneNumberId, file, id);
  return send(submission);
}
