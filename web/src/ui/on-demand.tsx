import { cloneElement, type ReactElement, type ReactNode, type Ref, Suspense, useCallback, useState } from 'react';

/** A button, as what opens from it needs it. */
export type OpenerButton = ReactElement<{
  ref?: Ref<HTMLButtonElement>;
  onClick?: () => void;
  'aria-haspopup'?: 'menu' | 'dialog';
  'aria-expanded'?: boolean;
}>;

type OnDemandProps = {
  readonly button: OpenerButton;
  readonly kind: 'menu' | 'dialog';
  /** What opens, made by `lazy`; it draws the button itself, with `useArrival`. */
  readonly children: ReactNode;
};

/** A button whose menu or pane comes with the first click: floating things are 35 kB that no page needs to begin with. */
export function OnDemand({ button, kind, children }: OnDemandProps) {
  const [isWanted, setIsWanted] = useState(false);
  const asking = cloneElement(button, {
    onClick: () => setIsWanted(true),
    'aria-haspopup': kind,
    'aria-expanded': false,
  });
  return isWanted ? <Suspense fallback={asking}>{children}</Suspense> : asking;
}

/** For what opens from the button: the focus goes back to the button, which was drawn anew, and then it opens. */
export function useArrival(button: OpenerButton) {
  const [opened, onChange] = useState(false);
  const arrive = useCallback((drawn: HTMLButtonElement | null): void => {
    if (drawn === null) return;
    drawn.focus({ preventScroll: true });
    onChange(true);
  }, []);
  return { opened, onChange, target: cloneElement(button, { ref: arrive }) };
}
