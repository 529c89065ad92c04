import { lazy, Suspense, useEffect, useState } from 'react';
import type { DialogProps } from './dialog-props.ts';

/** Dialogs come with the first one that is opened: they are 20 kB that no page needs to begin with. */
const LazyModal = lazy(() => import('./dialog-parts.tsx').then(({ CenterDialog }) => ({ default: CenterDialog })));
const LazyDrawer = lazy(() => import('./dialog-parts.tsx').then(({ SideDialog }) => ({ default: SideDialog })));

/** A dialog in the middle; the whole screen on a phone. The focus comes back to where it was. */
export const Dialog = (props: DialogProps) => <Opened {...props} with={LazyModal} />;

/** A pane from the right with the details of one thing; the list behind keeps its place. */
export const SidePanel = (props: DialogProps) => <Opened {...props} with={LazyDrawer} />;

/**
 * Stays mounted after the first opening, so that it can close softly. Mantine remembers where the focus was when a dialog
 * that is there opens, so the first time it is there for a moment before it does.
 */
function Opened({ with: Parts, opened, ...props }: DialogProps & { readonly with: typeof LazyModal }) {
  const [wasOpened, setWasOpened] = useState(opened);
  const [isThere, setIsThere] = useState(false);
  if (opened && !wasOpened) setWasOpened(true);
  return wasOpened ? (
    <Suspense>
      <Parts {...props} opened={opened && isThere} />
      <Arrival onArrive={setIsThere} />
    </Suspense>
  ) : null;
}

/** Tells when what stands beside it is there. */
function Arrival({ onArrive }: { readonly onArrive: (isThere: true) => void }) {
  useEffect(() => onArrive(true), [onArrive]);
  return null;
}
