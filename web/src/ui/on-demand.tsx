import { cloneElement, type ReactElement, type ReactNode, type Ref, Suspense, useCallback, useState } from 'react';

/** A button that opens a menu or dialog. */
export type OpenerButton = ReactElement<{
  ref?: Ref<HTMLButtonElement>;
  onClick?: () => void;
  'aria-haspopup'?: 'menu' | 'dialog';
  'aria-expanded'?: boolean;
}>;

type OnDemandProps = {
  readonly button: OpenerButton;
  readonly kind: 'menu' | 'dialog';
  /** The lazily loaded menu or dialog, which renders the button itself with `useOpenWhenDrawn`. */
  readonly children: ReactNode;
};

/**
 * A button whose menu or pane is loaded with the first click: floating elements are 35 kB that no page needs at
 * first.
 */
export function OnDemand({ button, kind, children }: OnDemandProps) {
  const [isWanted, setIsWanted] = useState(false);
  const asking = cloneElement(button, {
    onClick: () => setIsWanted(true),
    'aria-haspopup': kind,
    'aria-expanded': false,
  });
  return isWanted ? <Suspense fallback={asking}>{children}</Suspense> : asking;
}

/** For the loaded menu or pane: focuses the button, which has been rendered again, and then opens. */
export function useOpenWhenDrawn(button: OpenerButton) {
  const [opened, onChange] = useState(false);
  const arrive = useCallback((drawn: HTMLButtonElement | null): void => {
    if (drawn === null) return;
    drawn.focus({ preventScroll: true });
    onChange(true);
  }, []);
  return { opened, onChange, target: cloneElement(button, { ref: arrive }) };
}
