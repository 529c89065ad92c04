import type { TFunction } from 'i18next';
import { type ReactElement, type ReactNode, Suspense, useEffect, useState } from 'react';
import { lazyPart } from '../api/load.ts';
import { type ConfirmDialogProps, type DialogProps, HostedDialog, type Question } from './lazy-props.ts';

/** Dialogs are 20 kB that no page needs at first, so they are loaded with the first one that opens. */
const parts = () => import('./dialog-parts.tsx');
const LazyModal = lazyPart(() => parts().then(({ CenterDialog }) => ({ default: CenterDialog })));
const LazyDrawer = lazyPart(() => parts().then(({ SideDialog }) => ({ default: SideDialog })));
const LazyConfirm = lazyPart(() => parts().then((file) => ({ default: file.ConfirmDialog })));
const LazyQuestion = lazyPart(() => parts().then((file) => ({ default: file.QuestionDialog })));

let show: (dialog: ReactElement) => void = () => undefined;

/**
 * Opens a dialog over the page: a `Dialog` or `FormDialog`, or a component that renders one. It keeps the props it was
 * opened with, and closes when the user leaves the page.
 */
export const openDialog = (dialog: ReactElement): void => show(dialog);

/** Asks for confirmation before something is deleted or sent, and then does it. The cancel button has the initial focus. */
export const confirm = <O,>(question: Question<O>): void => openDialog(<QuestionDialog {...question} />);

/** The dialog of `confirm`, for a component whose text changes while it is open. */
export const QuestionDialog = LazyQuestion as <O>(question: Question<O>) => ReactElement;

/** A centered dialog, full-screen on a phone, in `openDialog` or `DialogWhile`. Closing it returns the focus to where it was. */
export const Dialog = (props: DialogProps) => <LazyModal {...props} />;

type DialogWhileProps = { readonly opened: boolean; readonly onClose: () => void; readonly children: ReactNode };

/** The place of a dialog that is open as long as its page says so, for example because the URL does. */
export function DialogWhile({ opened, onClose, children }: DialogWhileProps) {
  // It stays mounted after the first opening, so that closing is animated.
  const [wasOpened, setWasOpened] = useState(opened);
  if (opened && !wasOpened) setWasOpened(true);
  return wasOpened ? (
    <Place opened={opened} onClose={onClose}>
      {children}
    </Place>
  ) : null;
}

/** A panel on the right with the details of one item; the list behind it keeps its scroll position. */
export const SidePanel = ({ opened, onClose, ...props }: DialogWhileProps & DialogProps) => (
  <DialogWhile opened={opened} onClose={onClose}>
    <LazyDrawer {...props} />
  </DialogWhile>
);

/** Like `confirm`, for a page that knows whether the question is open. */
export const ConfirmDialog = ({ opened, onClose, ...props }: DialogWhileProps & ConfirmDialogProps) => (
  <DialogWhile opened={opened} onClose={onClose}>
    <LazyConfirm {...props} />
  </DialogWhile>
);

type Entry = { readonly id: number; readonly dialog: ReactElement; readonly opened: boolean };

let count = 0;

/** The place of the dialogs that `openDialog` opens. With another key, they are gone. */
export function DialogHost() {
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  useEffect(() => {
    const mine = (dialog: ReactElement): void => {
      count += 1;
      const entry = { id: count, dialog, opened: true };
      // A closed one stays until now: its animation ends, and the focus returns.
      setEntries((before) => [...before.filter(({ opened }) => opened), entry]);
    };
    show = mine;
    return () => {
      if (show === mine) show = () => undefined;
    };
  }, []);
  const close = (id: number): void =>
    setEntries((before) => before.map((entry) => (entry.id === id ? { ...entry, opened: false } : entry)));
  return entries.map(({ id, dialog, opened }) => (
    <Place key={id} opened={opened} onClose={() => close(id)}>
      {dialog}
    </Place>
  ));
}

/**
 * Renders a dialog, closed at first: Mantine remembers the focused element when a mounted dialog opens, so a dialog is
 * mounted shortly before it opens.
 */
function Place({ opened, onClose, children }: DialogWhileProps) {
  const [isThere, setIsThere] = useState(false);
  return (
    <Suspense>
      <HostedDialog value={{ opened: opened && isThere, close: onClose }}>{children}</HostedDialog>
      <MountSignal onArrive={setIsThere} />
    </Suspense>
  );
}

/** Reports when it is mounted, together with its siblings. */
function MountSignal({ onArrive }: { readonly onArrive: (isThere: true) => void }) {
  useEffect(() => onArrive(true), [onArrive]);
  return null;
}

/** The texts of a question, which have the keys `title`, `text`, `submit` and `done` below `key`. */
export const questionTexts = (t: TFunction, key: string, values: Readonly<Record<string, unknown>> = {}) => ({
  title: t(`${key}.title`, values),
  text: t(`${key}.text`, values),
  action: t(`${key}.submit`, values),
  done: t(`${key}.done`, values),
});
