import { Group, Stack, Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from '../ui/data-table.tsx';
import { DateTime } from '../ui/date-time.tsx';
import { TextLink } from '../ui/link.tsx';
import { MsisdnText } from '../ui/msisdn-text.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { CHANNELS, type Contact, type CustomField, useSaveContact } from './contact.ts';
import { CustomText, toCustomValue } from './custom-value.tsx';
import { EditCell } from './edit-cell.tsx';

/** Custom fields that are shown until somebody chooses others. */
const SHOWN_FIELDS = 2;

type Columns = readonly Column<Contact>[];

/** The columns of the table: those that every contact has, then one for each custom field. */
export function useContactColumns(fields: readonly CustomField[]): Columns {
  const { t } = useTranslation('contacts');
  return useMemo(
    () => [
      {
        id: 'fullName',
        header: t('column.name'),
        sortable: true,
        width: 220,
        cell: (contact) => <Name contact={contact} />,
      },
      {
        id: 'phoneNumber',
        header: t('column.phoneNumber'),
        sortable: true,
        width: 170,
        cell: (contact) => <Phone contact={contact} />,
      },
      {
        id: 'email',
        header: t('column.email'),
        sortable: true,
        width: 200,
        cell: (contact) => <Email contact={contact} />,
      },
      {
        id: 'reach',
        header: t('column.reach'),
        width: 150,
        hidden: true,
        cell: ({ communicationSupported }) => <Reach channels={communicationSupported} />,
      },
      {
        id: 'optedOut',
        header: t('column.optedOut'),
        width: 140,
        cell: ({ optedOut }) => <OptedOut channels={optedOut} />,
      },
      ...fields.map((field, at) => customColumn(field, at >= SHOWN_FIELDS)),
      {
        id: 'lastContactDate',
        header: t('column.lastContactDate'),
        width: 130,
        hidden: true,
        cell: ({ lastContactDate }) => <DateTime value={lastContactDate} />,
      },
      {
        id: 'createdAt',
        header: t('column.createdAt'),
        sortable: true,
        width: 120,
        cell: ({ createdAt }) => <DateTime value={createdAt} />,
      },
      {
        id: 'updatedAt',
        header: t('column.updatedAt'),
        sortable: true,
        width: 120,
        hidden: true,
        cell: ({ updatedAt }) => <DateTime value={updatedAt} />,
      },
    ],
    [t, fields],
  );
}

const customColumn = (field: CustomField, hidden: boolean): Column<Contact> => ({
  id: `field-${field.id}`,
  header: field.name,
  width: 130,
  hidden,
  ...(field.type === 'number' && { align: 'right' }),
  cell: (contact) => <Custom field={field} contact={contact} />,
});

type OfContact = { readonly contact: Contact };

function Name({ contact }: OfContact) {
  const { t } = useTranslation('contacts');
  const save = useSaveContact();
  const { id, name, fullName, isTest } = contact;
  return (
    <EditCell
      isLink
      label={t('edit.name', { name })}
      value={fullName ?? ''}
      save={(next) => save(id, { fullName: next || null })}
    >
      <Group gap={6} wrap="nowrap">
        <TextLink to={`/contacts/${id}`} fw={600} truncate dir="auto">
          {name}
        </TextLink>
        {isTest && <StatusBadge tone="neutral">{t('test')}</StatusBadge>}
      </Group>
    </EditCell>
  );
}

function Phone({ contact: { phoneNumber, isValid } }: OfContact) {
  const { t } = useTranslation('contacts');
  return (
    <Group gap={6} wrap="nowrap">
      <MsisdnText number={phoneNumber} />
      {phoneNumber !== null && !isValid && <StatusBadge tone="warning">{t('invalid')}</StatusBadge>}
    </Group>
  );
}

function Email({ contact: { id, name, email } }: OfContact) {
  const { t } = useTranslation('contacts');
  const save = useSaveContact();
  return (
    <EditCell
      label={t('edit.email', { name, value: email ?? t('ui:none') })}
      type="email"
      value={email ?? ''}
      save={(next) => save(id, { email: next || null })}
    >
      {email ?? <Nothing />}
    </EditCell>
  );
}

function Custom({ field, contact: { id, name, customFields } }: OfContact & { readonly field: CustomField }) {
  const { t } = useTranslation('contacts');
  const save = useSaveContact();
  const value = customFields[field.name];
  const yesNo = ['', 'true', 'false'].map((each) => ({ value: each, label: t(`yesNo.${each || 'none'}`) }));
  return (
    <EditCell
      label={t('edit.field', { name, field: field.name, value: value ?? t('ui:none') })}
      value={value === undefined ? '' : String(value)}
      {...(field.type === 'boolean' ? { options: yesNo } : { type: field.type })}
      save={(next) => save(id, { customFields: { [field.name]: toCustomValue(field, next) } })}
    >
      {value === undefined ? <Nothing /> : <CustomText value={value} field={field} />}
    </EditCell>
  );
}

const Nothing = () => (
  <Text span size="sm" c="dimmed">
    –
  </Text>
);

function Reach({ channels }: { readonly channels: Contact['communicationSupported'] }) {
  const { t } = useTranslation('ui');
  if (channels.length === 0) return <Nothing />;
  return channels.map((channel) => t(`channel.${channel}`)).join(', ');
}

function OptedOut({ channels }: { readonly channels: Contact['optedOut'] }) {
  const { t } = useTranslation('contacts');
  if (channels.length === 0) return <Nothing />;
  const isAll = channels.length === CHANNELS.length;
  const names = channels.map((channel) => t(`ui:channel.${channel}`)).join(', ');
  return <StatusBadge tone="warning">{isAll ? t('allChannels') : names}</StatusBadge>;
}

/** On a phone there is one column; what can be changed is changed on the contact's page. */
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

function Person({ contact }: OfContact) {
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
