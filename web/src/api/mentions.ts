import type { TFunction } from 'i18next';
import { alertOf } from './data.ts';
import { notify } from './notify.ts';

type Part = { readonly text: string; readonly username?: string };

const MENTION = /(?<=^|[\s(])@\S+/g;
const LETTER = /^[\p{L}\p{N}]/u;

/** The longest of the usernames with which a word begins, not followed by a letter or a digit. */
const namedBy = (word: string, usernames: readonly string[]): string | undefined =>
  usernames
    .filter((username) => word.startsWith(username) && !LETTER.test(word.slice(username.length)))
    .toSorted((a, b) => b.length - a.length)[0];

/** Splits a note at its mentions of colleagues, which are an @ and a username. */
export function splitMentions(note: string, usernames: readonly string[]): readonly Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const { 0: word, index } of note.matchAll(MENTION)) {
    const username = namedBy(word.slice(1), usernames);
    if (username === undefined) continue;
    if (index > end) parts.push({ text: note.slice(end, index) });
    end = index + 1 + username.length;
    parts.push({ text: note.slice(index, end), username });
  }
  return end < note.length ? [...parts, { text: note.slice(end) }] : parts;
}

/** The username being typed after an @ at the caret, with the positions of the @ and of the caret; null if none is. */
export function openMentionAt(text: string, caret: number) {
  const found = /(?:^|[\s(])@(\S*)$/.exec(text.slice(0, caret));
  return found?.[1] === undefined ? null : { from: caret - found[1].length - 1, to: caret, name: found[1] };
}

const isNote = (data: unknown): data is { chatId: string; text: string; author: { name: string } } =>
  typeof data === 'object' &&
  data !== null &&
  ['chatId', 'text'].every((name) => typeof Reflect.get(data, name) === 'string') &&
  typeof Reflect.get(data, 'author') === 'object';

const MAX_SHOWN = 200;

/** Notifies a user of a note of a colleague that mentions them. `data` is that of the stream's event `note`. */
export function alertOfMention(
  data: unknown,
  { username, t, onOpen }: { username: string; t: TFunction; onOpen: (chatId: string) => void },
): void {
  if (!isNote(data) || data.author.name === username) return;
  const { chatId, text } = data;
  if (!splitMentions(text, [username]).some((part) => part.username !== undefined)) return;
  const title = t('ui:mention.title');
  alertOf({ title, text: text.slice(0, MAX_SHOWN), onOpen: () => onOpen(chatId) });
  void notify({
    message: `${title}: ${text.slice(0, MAX_SHOWN)}`,
    tone: 'good',
    closeLabel: t('ui:close'),
    action: { label: t('ui:mention.open'), onClick: () => onOpen(chatId) },
  });
}
