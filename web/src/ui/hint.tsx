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

/** The props that the element with the hint must accept; DOM and Mantine elements do. */
type Hinted = {
  'aria-describedby'?: string | undefined;
  onPointerEnter?: (event: SyntheticEvent<HTMLElement>) => void;
  onPointerLeave?: () => void;
  onFocus?: (event: SyntheticEvent<HTMLElement>) => void;
  onBlur?: () => void;
  onKeyDown?: (event: KeyboardEvent<HTMLElement>) => void;
};

type HintProps = {
  /** The text of the hint, or how to write it once it opens; no hint is shown if it is undefined. */
  readonly label: string | (() => string) | undefined;
  readonly children: ReactElement<Hinted>;
};

type Place = { readonly top: number; readonly left: number; readonly above: boolean };

const OPEN_MS = 250;
/** Long enough to move the pointer from the element into the hint (WCAG 1.4.13). */
const CLOSE_MS = 120;
const GAP_PX = 6;
/** Minimum distance between the middle of a hint and the window's edges: half of its maximum width. */
const HALF_MAX_WIDTH_PX = 168;

/**
 * A short text shown on hover and focus; Escape hides it. Used instead of Mantine's tooltip, whose positioning adds
 * 20 kB of script to every page.
 */
export function Hint({ label, children }: HintProps) {
  const id = useId();
  const [place, setPlace] = useState<Place | null>(null);
  const [timer] = useState(createTimer);
  useEffect(() => timer.clear, [timer]);
  const soon = (next: Place | null, delayMs: number): void => timer.set(() => setPlace(next), delayMs);
  const { props } = children;
  const open = (event: SyntheticEvent<HTMLElement>, delayMs: number): void =>
    soon(placeFor(event.currentTarget.getBoundingClientRect()), delayMs);
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
            {typeof label === 'function' ? label() : label}
          </div>
        </Portal>
      )}
    </>
  );
}

/** The position below the element, or above it near the window's lower edge. */
function placeFor({ top, bottom, left, width }: DOMRect): Place {
  const above = bottom > innerHeight - 80;
  const middle = left + width / 2;
  return {
    above,
    top: above ? top - GAP_PX : bottom + GAP_PX,
    left: Math.min(
      Math.max(middle, Math.min(HALF_MAX_WIDTH_PX, innerWidth / 2)),
      Math.max(innerWidth - HALF_MAX_WIDTH_PX, innerWidth / 2),
    ),
  };
}

/** A timer for one delayed action; setting it again replaces the action. */
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
