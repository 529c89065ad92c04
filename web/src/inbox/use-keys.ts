import { useLocalStorage } from '@mantine/hooks';
import { useEffect, useEffectEvent, useRef } from 'react';

/**
 * Attributes that mark the rows of the list (with the id of the conversation), the open conversation, the field for
 * a reply or the reason why there is none, and the action of a key.
 */
export const ROW = 'data-row';
export const CONVERSATION = 'data-conversation';
export const ANSWER = 'data-answer';
const KEY = 'data-key';

/** The props that let a key press a button, or focus a field, from anywhere on the page. */
export const onKey = (key: string) => ({ [KEY]: key, 'aria-keyshortcuts': key });

const STEPS: Readonly<Record<string, number>> = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 };

/** The shortcuts, in the order of the sheet. */
export const KEY_SHEET = [
  { keys: ['j', 'k'], name: 'move' },
  { keys: ['Enter'], name: 'open' },
  { keys: ['r'], name: 'reply' },
  { keys: ['n'], name: 'note' },
  { keys: ['e'], name: 'archive' },
  { keys: ['s'], name: 'snooze' },
  { keys: ['z'], name: 'undo' },
  { keys: ['u'], name: 'unread' },
  { keys: ['l'], name: 'labels' },
  { keys: ['a'], name: 'assign' },
  { keys: ['/'], name: 'search' },
  { keys: ['c'], name: 'create' },
  { keys: ['Esc'], name: 'leave' },
  { keys: ['?'], name: 'sheet' },
] as const;

/** True if single letters are shortcuts, in this browser. */
export const useKeysOn = () => useLocalStorage({ key: 'heliograph-keys', defaultValue: true });

/**
 * The keyboard shortcuts of the inbox, wherever the focus is except in a field or a dialog: j and k (in the list also the
 * arrow keys) move through the conversations, and a key with a marked button presses it. Escape leaves a field. The letters
 * can be switched off (WCAG 2.1.4); then they work while the focus is in the panes.
 */
export function useKeys(onSheet: () => void) {
  const ref = useRef<HTMLDivElement>(null);
  const [isOn] = useKeysOn();
  const press = useEffectEvent((event: KeyboardEvent) => {
    const panes = ref.current;
    const { key, target } = event;
    if (!panes || !(target instanceof HTMLElement) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isDialogOpen(target)) return;
    if (key === 'Escape' && isField(target) && panes.contains(target) && !event.defaultPrevented) return target.blur();
    if (isField(target) || (!isOn && !panes.contains(target))) return;
    if (key === '?') onSheet();
    else if (!act(panes, target, key)) return;
    event.preventDefault();
  });
  useEffect(() => {
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, []);
  return ref;
}

/** Runs the action of a key; false if it has none here. */
function act(panes: HTMLElement, target: HTMLElement, key: string): boolean {
  const step = STEPS[key];
  if (step !== undefined && (key.length === 1 || target.hasAttribute(ROW))) {
    moveFocus(panes, step);
    return true;
  }
  if (key === 'r') {
    panes.querySelector<HTMLElement>(`[${KEY}="r"]`)?.click();
    // React shows the reply instead of a note in a microtask.
    queueMicrotask(() => panes.querySelector<HTMLElement>(`[${ANSWER}]`)?.focus());
    return true;
  }
  // In a conversation, a slash begins a canned answer.
  if (key === '/' && target.closest(`[${CONVERSATION}]`)) return true;
  if (key.length !== 1) return false;
  const marked = document.querySelector<HTMLElement>(`[${KEY}="${CSS.escape(key)}"]`);
  if (!marked) return false;
  if (isField(marked)) marked.focus();
  else marked.click();
  return true;
}

/** The reason why there is no reply counts as a field, so that a reply typed into it does not act as shortcuts. */
const isField = (element: HTMLElement): boolean => element.matches(`input, textarea, select, [${ANSWER}]`);

const isDialogOpen = (target: HTMLElement): boolean =>
  target.closest('[role="dialog"], [role="menu"]') !== null || document.querySelector('[role="dialog"]') !== null;

/** Moves the focus from the focused row, else from the open one. */
function moveFocus(panes: HTMLElement, step: number): void {
  const rows = [...panes.querySelectorAll<HTMLElement>(`[${ROW}]`)];
  const focused = rows.findIndex((row) => row === document.activeElement);
  const from = focused >= 0 ? focused : rows.findIndex((row) => row.getAttribute('aria-current') === 'true');
  rows[Math.max(0, Math.min(rows.length - 1, from + step))]?.focus();
}
