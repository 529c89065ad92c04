import { useMediaQuery } from '@mantine/hooks';
import { lazy, type ReactNode, Suspense, useRef } from 'react';

/** Below it lists are cards, dialogs are full screens and panes come one at a time. */
const PHONE = '(max-width: 48em)';

export const useIsPhone = (): boolean => useMediaQuery(PHONE, undefined, { getInitialValueInEffect: false }) ?? false;

export type DialogProps = {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** `sm` to `xl`, or a width. */
  readonly size?: string;
  readonly children: ReactNode;
};

/** Dialogs come with the first one that is opened: they are 20 kB that no page needs to begin with. */
const LazyModal = lazy(() => import('./dialog-parts.tsx').then(({ CenterDialog }) => ({ default: CenterDialog })));
const LazyDrawer = lazy(() => import('./dialog-parts.tsx').then(({ SideDialog }) => ({ default: SideDialog })));

/** A dialog in the middle; the whole screen on a phone. The focus comes back to where it was. */
export const Dialog = (props: DialogProps) => <Opened {...props} with={LazyModal} />;

/** A pane from the right with the details of one thing; the list behind keeps its place. */
export const SidePanel = (props: DialogProps) => <Opened {...props} with={LazyDrawer} />;

/** Stays mounted after the first opening, so that it can close softly and give the focus back. */
function Opened({ with: Parts, ...props }: DialogProps & { readonly with: typeof LazyModal }) {
  const wasOpened = useRef(false);
  wasOpened.current ||= props.opened;
  return wasOpened.current ? (
    <Suspense>
      <Parts {...props} />
    </Suspense>
  ) : null;
}
