import { ROW } from '../use-keys.ts';

/**
 * The conversation to open when this one leaves the list: the one below it, else the one above; '' if there is none. Of one
 * that is not in the list, as just after an undo, it is the first one.
 */
export function nextChatAfter(chatId: string): string {
  const rows = [...document.querySelectorAll<HTMLElement>(`[${ROW}]`)].map((row) => row.getAttribute(ROW) ?? '');
  const at = rows.indexOf(chatId);
  return rows[at + 1] ?? rows[at - 1] ?? '';
}
