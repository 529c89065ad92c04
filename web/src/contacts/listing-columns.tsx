import { Badge, Group, NativeSelect, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { Pencil } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, Suspense, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { lazyPart } from '../api/load.ts';
import { useProblemText } from '../api/passkey.ts';
import { ApiError } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import type { Column } from '../ui/data-table.tsx';
import { TextLink } from '../ui/parts.tsx';
import { customFieldName, DateTime, MsisdnText, StatusBadge } from '../ui/values.tsx';
import { CHANNELS, type Contact, type CustomField, NEED, useSaveContact } from './contact.ts';
import { CustomText, toCustomValue } from './contact-form.tsx';
import classes from './edit-cell.module.css';

/** The number of custom fields shown by default. */
const SHOWN_FIELDS = 2;

type Columns = readonly Column<Contact>[];

/** The columns of the table: the standard ones, then one per custom field. */
export function useContactColumns(fields: readonly CustomField[]): Columns {
  const { t } = useTranslation('contacts');
  // Checked once here rather than in hundreds of cells.
  const canEdit = useSession().may(NEED);
  return useMemo(
    () => [
      {
        id: 'fullName',
        header: t('column.name'),
        sortable: true,
        width: 320,
        cell: (contact) => <Name contact={contact} canEdit={canEdit} />,
      },
      {
        id: 'phoneNumber',
        header: t('column.phoneNumber'),
        sortable: true,
        // A number of 15 digits with its plus, whole also in a narrow window.
        minWidth: 150,
        width: 160,
        cell: (contact) => <Phone contact={contact} />,
      },
      {
        id: 'email',
        header: t('column.email'),
        sortable: true,
        width: 200,
        cell: (contact) => <Email contact={contact} canEdit={canEdit} />,
      },
      {
        id: 'reach',
        header: t('column.reach'),
        width: 120,
        hidden: true,
        cell: ({ communicationSupported }) => <Reach channels={communicationSupported} />,
      },
      {
        id: 'optedOut',
        header: t('column.optedOut'),
        width: 130,
        cell: ({ optedOut }) => <OptedOut channels={optedOut} />,
      },
      ...fields.map((field, at) => customColumn(field, { hidden: at >= SHOWN_FIELDS, canEdit })),
      {
        id: 'lastContactDate',
        header: t('column.lastContactDate'),
        width: 130,
        hidden: true,
        cell: ({ lastContactDate }) => <DateTime value={lastContactDate} show="day" />,
      },
      {
        id: 'createdAt',
        header: t('column.createdAt'),
        sortable: true,
        width: 115,
        cell: ({ createdAt }) => <DateTime value={createdAt} show="day" />,
      },
      {
        id: 'updatedAt',
        header: t('column.updatedAt'),
        sortable: true,
        width: 120,
        hidden: true,
        cell: ({ updatedAt }) => <DateTime value={updatedAt} show="day" />,
      },
    ],
    [t, fields, canEdit],
  );
}

type CustomColumn = { readonly hidden: boolean; readonly canEdit: boolean };

const customColumn = (field: CustomField, { hidden, canEdit }: CustomColumn): Column<Contact> => ({
  id: `field-${field.id}`,
  header: customFieldName(field.name),
  width: 115,
  hidden,
  ...(field.type === 'number' && { align: 'right' }),
  cell: (contact) => <Custom field={field} contact={contact} canEdit={canEdit} />,
});

type ContactCellProps = { readonly contact: Contact };
type Editable = ContactCellProps & { readonly canEdit: boolean };

function Name({ contact, canEdit }: Editable) {
  const { t } = useTranslation('contacts');
  const save = useSaveContact();
  const { id, name, fullName, isTest } = contact;
  return (
    <EditCell
      canEdit={canEdit}
      isLink
      label={t('edit.name', { name })}
      value={fullName ?? ''}
      save={(next) => save(id, { fullName: next || null })}
    >
      <Group gap={6} wrap="nowrap">
        <TextLink to={`/contacts/${id}`} fw={500} truncate dir="auto">
          {name}
        </TextLink>
        {isTest && (
          <Badge size="xs" color="gray" style={{ flexShrink: 0 }}>
            {t('test')}
          </Badge>
        )}
      </Group>
    </EditCell>
  );
}

function Phone({ contact: { phoneNumber, isValid } }: ContactCellProps) {
  const { t } = useTranslation('contacts');
  return (
    <Group gap={6} wrap="nowrap">
      <MsisdnText number={phoneNumber} />
      {phoneNumber !== null && !isValid && <StatusBadge tone="warning">{t('invalid')}</StatusBadge>}
    </Group>
  );
}

function Email({ contact: { id, name, email }, canEdit }: Editable) {
  const { t } = useTranslation('contacts');
  const save = useSaveContact();
  return (
    <EditCell
      canEdit={canEdit}
      label={t('edit.email', { name, value: email ?? t('ui:none') })}
      type="email"
      value={email ?? ''}
      save={(next) => save(id, { email: next || null })}
    >
      {email ?? <Dash />}
    </EditCell>
  );
}

function Custom({ field, contact: { id, name, customFields }, canEdit }: Editable & { readonly field: CustomField }) {
  const { t } = useTranslation('contacts');
  const save = useSaveContact();
  const value = customFields[field.name];
  const yesNo = ['', 'true', 'false'].map((each) => ({ value: each, label: t(`yesNo.${each || 'none'}`) }));
  return (
    <EditCell
      canEdit={canEdit}
      label={t('edit.field', { name, field: customFieldName(field.name), value: value ?? t('ui:none') })}
      value={value === undefined ? '' : String(value)}
      {...(field.type === 'boolean' ? { options: yesNo } : { type: field.type })}
      save={(next) => save(id, { customFields: { [field.name]: toCustomValue(field, next) } })}
    >
      {value === undefined ? <Dash /> : <CustomText value={value} field={field} />}
    </EditCell>
  );
}

const Dash = () => (
  <Text span size="sm" c="dimmed">
    –
  </Text>
);

function Reach({ channels }: { readonly channels: Contact['communicationSupported'] }) {
  const { t } = useTranslation('ui');
  if (channels.length === 0) return <Dash />;
  return channels.map((channel) => t(`channel.${channel}`)).join(', ');
}

function OptedOut({ channels }: { readonly channels: Contact['optedOut'] }) {
  const { t } = useTranslation('contacts');
  if (channels.length === 0) return <Dash />;
  const isAll = channels.length === CHANNELS.length;
  const names = channels.map((channel) => t(`ui:channel.${channel}`)).join(', ');
  return <StatusBadge tone="warning">{isAll ? t('allChannels') : names}</StatusBadge>;
}

/** On a phone there is one column; contacts are edited on their own page. */
export function usePhoneColumns(): Columns {
  const { t } = useTranslation('contacts');
  return useMemo(
    () => [
      {
        id: 'fullName',
        header: t('column.name'),
        sortable: true,
        width: 200,
        cell: (contact) => <Person contact={contact} />,
      },
    ],
    [t],
  );
}

function Person({ contact }: ContactCellProps) {
  const { id, name, phoneNumber, email, optedOut } = contact;
  return (
    <Group justify="space-between" wrap="nowrap" gap="xs">
      <Stack gap={0} style={{ minWidth: 0 }}>
        <TextLink to={`/contacts/${id}`} fw={500} truncate dir="auto">
          {name}
        </TextLink>
        <Text size="xs" c="dimmed" truncate>
          {phoneNumber === null || phoneNumber === name ? email : <MsisdnText number={phoneNumber} />}
        </Text>
      </Stack>
      {optedOut.length > 0 && <OptedOut channels={optedOut} />}
    </Group>
  );
}

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
function EditCell(props: EditCellProps) {
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
