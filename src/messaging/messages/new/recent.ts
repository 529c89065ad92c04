import type { NewMessage } from './sql.ts';

/** Messages that this process has committed to the queue and that its own pumps will claim soon, by chunk. */
export type RecentMessages = {
  /**
   * Keeps the messages of one chunk, in the order of its ids. The transaction that stores them must be committed. Does
   * nothing when there is no room, or when a message needs more than it holds: its template or file.
   */
  put(messages: readonly NewMessage[]): void;
  /**
   * Removes and returns the messages with these ids; null if they are not all here. The ids are those of a claimed
   * chunk: of a chunk that was put, or its first ones, which leaves the others here.
   */
  take(ids: readonly string[]): readonly NewMessage[] | null;
};

/** Maximum messages held; above it the oldest stay, which are claimed next, and others are read from the database. */
const MAX_MESSAGES = 50_000;
/** Messages not claimed by then are likely with another process, or wait for a carrier. */
const MAX_AGE_MS = 30_000;

/**
 * Creates a cache of committed messages, so that this process need not read back what it has just written: that costs a
 * tenth of the CPU time per message. Nothing depends on it: whatever is missing is read from the database.
 */
export function createRecentMessages(maxMessages = MAX_MESSAGES, now = () => performance.now()): RecentMessages {
  const chunks = new Map<string, { readonly messages: readonly NewMessage[]; readonly at: number }>();
  let kept = 0;

  function keep(messages: readonly NewMessage[], at: number): void {
    const [first] = messages;
    if (!first) return;
    chunks.set(first.id, { messages, at });
    kept += messages.length;
  }

  function forget(firstId: string): { readonly messages: readonly NewMessage[]; readonly at: number } | undefined {
    const chunk = chunks.get(firstId);
    chunks.delete(firstId);
    kept -= chunk?.messages.length ?? 0;
    return chunk;
  }

  return {
    put(messages) {
      for (const [firstId, { at }] of chunks) {
        if (at > now() - MAX_AGE_MS) break;
        forget(firstId);
      }
      if (kept + messages.length <= maxMessages && messages.every(isWhole)) keep(messages, now());
    },
    take(ids) {
      const chunk = forget(ids[0] ?? '');
      if (!chunk || ids.some((id, i) => chunk.messages[i]?.id !== id)) return null;
      keep(chunk.messages.slice(ids.length), chunk.at);
      return chunk.messages.slice(0, ids.length);
    },
  };
}

const isWhole = ({ content, body, sender }: NewMessage): boolean =>
  content === null && isStoredAsIs(body) && isStoredAsIs(sender);

/** True if the database stores a text unchanged: it replaces a NUL and a lone surrogate by another character. */
const isStoredAsIs = (text: string): boolean => text.isWellFormed() && !text.includes('\0');
