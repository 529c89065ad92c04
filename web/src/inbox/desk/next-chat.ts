import { ROW } from '../use-keys.ts';

/** The conversation to open when this one leaves the list: the one below it, else the one above; '' if there is none. */
export function nextChatAfter(chatId: string): string {
  const rows = [...document.querySelectorAll<HTMLElement>(`[${ROW}]`)].map((row) => row.getAttribute(ROW) ?? '');
  const at = rows.indexOf(chatId);
  return at < 0 ? '' : (rows[at + 1] ?? rows[at - 1] ?? '');
}
