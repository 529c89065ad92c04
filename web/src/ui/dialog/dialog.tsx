import { Suspense, useEffect, useState } from 'react';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import type { DialogProps } from './dialog-props.ts';

/** Dialogs are 20 kB that no page needs at first, so they are loaded with the first one that opens. */
const LazyModal = lazyPart(() => import('./dialog-parts.tsx').then(({ CenterDialog }) => ({ default: CenterDialog })));
const LazyDrawer = lazyPart(() => import('./dialog-parts.tsx').then(({ SideDialog }) => ({ default: SideDialog })));

/** A centered dialog, full-screen on a phone. Closing it returns the focus to where it was. */
export const Dialog = (props: DialogProps) => <Opened {...props} with={LazyModal} />;

/** A panel on the right with the details of one item; the list behind it keeps its scroll position. */
export const SidePanel = (props: DialogProps) => <Opened {...props} with={LazyDrawer} />;

/**
 * Stays mounted after the first opening, so that closing is animated. Mantine remembers the focused element when a
 * mounted dialog opens, so the first time the dialog is mounted shortly before it opens.
 */
function Opened({ with: Parts, opened, ...props }: DialogProps & { readonly with: typeof LazyModal }) {
  const [wasOpened, setWasOpened] = useState(opened);
  const [isThere, setIsThere] = useState(false);
  if (opened && !wasOpened) setWasOpened(true);
  return wasOpened ? (
    <Suspense>
      <Parts {...props} opened={opened && isThere} />
      <MountSignal onArrive={setIsThere} />
    </Suspense>
  ) : null;
}

/** Reports when it is mounted, together with its siblings. */
function MountSignal({ onArrive }: { readonly onArrive: (isThere: true) => void }) {
  useEffect(() => onArrive(true), [onArrive]);
  return null;
}
