import { NativeSelect, TextInput, UnstyledButton } from '@mantine/core';
import { Pencil } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { useAction } from '../../api/action.ts';
import { ApiError } from '../../api/errors.ts';
import { useProblemText } from '../../api/problem-text.ts';
import classes from './edit-cell.module.css';

const FaultNote = lazyPart(() => import('./fault-note.tsx').then((file) => ({ default: file.FaultNote })));

type Option = { readonly value: string; readonly label: string };
type EditCellProps = {
  /** The accessible name: which value of which contact. */
  readonly label: string;
  readonly value: string;
  readonly type?: 'text' | 'email' | 'number' | 'date';
  /** Options to choose from, instead of free text. */
  readonly options?: readonly Option[];
  readonly save: (next: string) => Promise<unknown>;
  /** True if the user may edit; otherwise only the value is shown. */
  readonly canEdit: boolean;
  /** The value as displayed. */
  readonly children: ReactNode;
  /** True if the value is a link; then a pencil next to it starts editing. */
  readonly isLink?: boolean;
};

/** A value that is edited in place: Enter saves, Esc cancels, errors are shown at the cell. */
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
    // Otherwise the pane would scroll with these keys.
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

/** The server's message about the value, without the field name. */
function useFault(error: unknown): string | null {
  const problemText = useProblemText();
  if (error === null) return null;
  if (error instanceof ApiError && error.status === 400 && error.details.length > 0)
    return error.details.map(({ message }) => message).join('; ');
  return problemText(error);
}
