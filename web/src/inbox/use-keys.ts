import { type KeyboardEvent, useRef } from 'react';

/** Attributes that mark the rows of the list and the reply field. */
export const ROW = 'data-row';
export const ANSWER = 'data-answer';

const STEPS: Readonly<Record<string, number>> = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 };

/**
 * The keyboard shortcuts of the inbox, while the focus is in it and not in a field: j and k (in the list also the
 * arrow keys) move through the conversations, Enter opens one, r replies. Letters work only while the focus is in the
 * panes (WCAG 2.1.4).
 */
export function useKeys() {
  const ref = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const { key, target } = event;
    if (!ref.current || event.ctrlKey || event.metaKey || event.altKey || isField(target)) return;
    const step = STEPS[key];
    if (step !== undefined && (key.length === 1 || isRow(target))) moveFocus(ref.current, step);
    else if (key === 'r') ref.current.querySelector<HTMLElement>(`[${ANSWER}]`)?.focus();
    else return;
    event.preventDefault();
  };
  return { ref, onKeyDown };
}

const isField = (target: EventTarget): boolean =>
  target instanceof HTMLElement && target.matches('input, textarea, select, [role="dialog"] *');

const isRow = (target: EventTarget): boolean => target instanceof HTMLElement && target.hasAttribute(ROW);

/** Moves the focus from the focused row, else from the open one. */
function moveFocus(panes: HTMLElement, step: number): void {
  const rows = [...panes.querySelectorAll<HTMLElement>(`[${ROW}]`)];
  const focused = rows.findIndex((row) => row === document.activeElement);
  const from = focused >= 0 ? focused : rows.findIndex((row) => row.getAttribute('aria-current') === 'true');
  rows[Math.max(0, Math.min(rows.length - 1, from + step))]?.focus();
}
