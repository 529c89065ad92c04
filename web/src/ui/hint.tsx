import { Portal } from '@mantine/core';
import {
  cloneElement,
  type KeyboardEvent,
  type ReactElement,
  type SyntheticEvent,
  useEffect,
  useId,
  useState,
} from 'react';
import classes from './hint.module.css';

/** What the element with the hint must take; those of DOM and of Mantine do. */
type Hinted = {
  'aria-describedby'?: string | undefined;
  onPointerEnter?: (event: SyntheticEvent<HTMLElement>) => void;
  onPointerLeave?: () => void;
  onFocus?: (event: SyntheticEvent<HTMLElement>) => void;
  onBlur?: () => void;
  onKeyDown?: (event: KeyboardEvent<HTMLElement>) => void;
};

type HintProps = {
  /** undefined: there is nothing to say. */
  readonly label: string | undefined;
  readonly children: ReactElement<Hinted>;
};

type Place = { readonly top: number; readonly left: number; readonly above: boolean };

const OPEN_MS = 250;
/** Long enough to get from the element into the hint with the pointer (WCAG 1.4.13). */
const CLOSE_MS = 120;
const GAP = 6;
/** Of the window's edges, for the middle of a hint of the greatest width. */
const HALF = 168;

/**
 * A few words on hover and on focus; Escape takes them away. In place of Mantine's tooltip, whose placing of floating
 * things is 20 kB of script on every page.
 */
export function Hint({ label, children }: HintProps) {
  const id = useId();
  const [place, setPlace] = useState<Place | null>(null);
  const [timer] = useState(createTimer);
  useEffect(() => timer.clear, [timer]);
  const soon = (next: Place | null, delayMs: number): void => timer.set(() => setPlace(next), delayMs);
  const { props } = children;
  const open = (event: SyntheticEvent<HTMLElement>, delayMs: number): void =>
    soon(placeBy(event.currentTarget.getBoundingClientRect()), delayMs);
  const close = (): void => soon(null, CLOSE_MS);
  const element = cloneElement(children, {
    'aria-describedby': place === null ? props['aria-describedby'] : id,
    onPointerEnter: (event) => (props.onPointerEnter?.(event), open(event, OPEN_MS)),
    onPointerLeave: () => (props.onPointerLeave?.(), close()),
    onFocus: (event) => (props.onFocus?.(event), open(event, 0)),
    onBlur: () => (props.onBlur?.(), close()),
    onKeyDown: (event) => (props.onKeyDown?.(event), event.key === 'Escape' && soon(null, 0)),
  });
  return (
    <>
      {element}
      {place !== null && label !== undefined && (
        <Portal>
          <div
            role="tooltip"
            id={id}
            className={classes.hint}
            data-above={place.above || undefined}
            style={{ top: place.top, left: place.left }}
            onPointerEnter={() => soon(place, 0)}
            onPointerLeave={close}
          >
            {label}
          </div>
        </Portal>
      )}
    </>
  );
}

/** Below the element, or above it where the window ends. */
function placeBy({ top, bottom, left, width }: DOMRect): Place {
  const above = bottom > innerHeight - 80;
  const middle = left + width / 2;
  return {
    above,
    top: above ? top - GAP : bottom + GAP,
    left: Math.min(Math.max(middle, Math.min(HALF, innerWidth / 2)), Math.max(innerWidth - HALF, innerWidth / 2)),
  };
}

/** One thing to do later; the next takes its place. */
function createTimer() {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const clear = (): void => clearTimeout(timer);
  return {
    clear,
    set(act: () => void, delayMs: number): void {
      clear();
      timer = setTimeout(act, delayMs);
    },
  };
}
