import { NativeSelect, TextInput, UnstyledButton } from '@mantine/core';
import { Pencil } from 'lucide-react';
import { type KeyboardEvent, lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { useAction } from '../../api/action.ts';
import { ApiError } from '../../api/errors.ts';
import { useProblemText } from '../../api/problem-text.ts';
import classes from './edit-cell.module.css';

const FaultNote = lazy(() => import('./fault-note.tsx').then((file) => ({ default: file.FaultNote })));

type Option = { readonly value: string; readonly label: string };
type EditCellProps = {
  /** What is edited, and whose it is. */
  readonly label: string;
  readonly value: string;
  readonly type?: 'text' | 'email' | 'number' | 'date';
  /** In place of a text: one of these. */
  readonly options?: readonly Option[];
  readonly save: (next: string) => Promise<unknown>;
  /** Who may not, sees the value alone. */
  readonly canEdit: boolean;
  /** How the value shows. */
  readonly children: ReactNode;
  /** The value is a link, so a sign beside it begins the edit in place of the value itself. */
  readonly isLink?: boolean;
};

/** A value that is changed where it stands: Enter saves, Esc leaves it as it was, a fault stays at the cell. */
export function EditCell(props: EditCellProps) {
  const [isOpen, setOpen] = useState(false);
  const trigger = useRef<HTMLButtonElement>(null);
  const comesBack = useRef(false);
  useEffect(() => {
    if (!isOpen && comesBack.current) trigger.current?.focus();
    comesBack.current = false;
  }, [isOpen]);
  if (!props.canEdit) return props.children;
  const close = (byKeyboard: boolean): void => {
    comesBack.current = byKeyboard;
    setOpen(false);
  };
  if (isOpen) return <Editor {...props} onClose={close} />;
  const button = { ref: trigger, 'aria-label': props.label, onClick: () => setOpen(true) };
  if (!props.isLink)
    return (
      <UnstyledButton className={classes.value} {...button}>
        {props.children}
      </UnstyledButton>
    );
  return (
    <div className={classes.link}>
      <div className={classes.text}>{props.children}</div>
      <UnstyledButton className={classes.pencil} {...button}>
        <Pencil size={14} aria-hidden="true" />
      </UnstyledButton>
    </div>
  );
}

type EditorProps = EditCellProps & { readonly onClose: (byKeyboard: boolean) => void };

function Editor({ label, value, type = 'text', options, save, onClose }: EditorProps) {
  const [text, setText] = useState(value);
  const cell = useRef<HTMLDivElement>(null);
  const byKeyboard = useRef(false);
  const action = useAction({ run: save, quiet: true, onDone: () => onClose(byKeyboard.current) });
  const fault = useFault(action.error);
  const finish = (how: 'keyboard' | 'left'): void => {
    if (action.busy) return;
    byKeyboard.current = how === 'keyboard';
    if (text.trim() === value) onClose(byKeyboard.current);
    else action.run(text.trim());
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') finish('keyboard');
    if (event.key === 'Escape') onClose(true);
    if (event.key === 'Enter' || event.key === 'Escape') event.preventDefault();
    // The pane scrolls by these.
    event.stopPropagation();
  };
  const shared = {
    'aria-label': label,
    'aria-invalid': fault !== null,
    error: fault !== null,
    value: text,
    size: 'xs',
    autoFocus: true,
    readOnly: action.busy,
    onKeyDown: press,
    onBlur: () => fault === null && finish('left'),
  } as const;
  return (
    <div ref={cell}>
      {options ? (
        <NativeSelect {...shared} data={[...options]} onChange={(event) => setText(event.currentTarget.value)} />
      ) : (
        <TextInput {...shared} type={type} onChange={(event) => setText(event.currentTarget.value)} />
      )}
      <span role="alert" className={classes.spoken}>
        {fault}
      </span>
      <Suspense>{fault !== null && <FaultNote label={fault} target={cell} />}</Suspense>
    </div>
  );
}

/** What the server says of the value, without the name of the field that it is at anyway. */
function useFault(error: unknown): string | null {
  const problemText = useProblemText();
  if (error === null) return null;
  if (error instanceof ApiError && error.status === 400 && error.details.length > 0)
    return error.details.map(({ message }) => message).join('; ');
  return problemText(error);
}
