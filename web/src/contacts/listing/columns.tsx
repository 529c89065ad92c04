import { Badge, Group, Stack, Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../api/session.ts';
import type { Column } from '../../ui/table/data-table.tsx';
import { DateTime } from '../../ui/values/date-time.tsx';
import { TextLink } from '../../ui/link.tsx';
import { MsisdnText } from '../../ui/values/msisdn-text.tsx';
import { StatusBadge } from '../../ui/values/status-badge.tsx';
import { CHANNELS, type Contact, type CustomField, NEED, useSaveContact } from '../contact.ts';
import { CustomText, toCustomValue } from '../custom-value.tsx';
import { EditCell } from './edit-cell.tsx';

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
  header: field.name,
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
        <TextLink to={`/contacts/${id}`} fw={600} truncate dir="auto">
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
      label={t('edit.field', { name, field: field.name, value: value ?? t('ui:none') })}
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
        <TextLink to={`/contacts/${id}`} fw={600} truncate dir="auto">
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
