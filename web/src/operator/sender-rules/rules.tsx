import { Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { AddButton } from '../../ui/actions/add-button.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Section } from '../../ui/section.tsx';
import { OPERATOR } from '../shared/need.ts';
import { type PlainColumn, PlainTable } from '../shared/plain-table.tsx';
import { Prefix } from '../shared/prefix.tsx';
import { DeleteIcon } from './delete-icon.tsx';
import { RegisteredDialog } from './registered-dialog.tsx';
import { RuleDialog } from './rule-dialog.tsx';
import {
  REGISTERED,
  type RegisteredSender,
  registeredQuery,
  RULES,
  rulesQuery,
  type SenderRule,
} from './sender-rule.ts';

/** SMS senders allowed in a country: the rules, and the senders that were registered there. */
export function SenderRules() {
  return (
    <Stack gap="lg">
      <Rules />
      <Registered />
    </Stack>
  );
}

function Rules() {
  const { t } = useTranslation('operator');
  const { data, error } = useQuery(rulesQuery);
  const [isAdding, setIsAdding] = useState(false);
  const columns: readonly PlainColumn<SenderRule>[] = [
    { id: 'prefix', header: t('prefix.label'), cell: ({ prefix }) => <Prefix prefix={prefix} /> },
    {
      id: 'alphanumeric',
      header: t('senderRule.alphanumeric'),
      cell: ({ alphanumeric }) => t(`senderRule.policy.${alphanumeric}`),
    },
    { id: 'replacement', header: t('senderRule.replacement'), cell: ({ replacement }) => replacement ?? '–' },
    {
      id: 'numbers',
      header: t('senderRule.numbers'),
      wideOnly: true,
      cell: ({ registeredOnly }) => t(registeredOnly ? 'senderRule.onlyRegistered' : 'senderRule.policy.allowed'),
    },
    {
      id: 'delete',
      header: '',
      align: 'right',
      cell: ({ id, prefix }) => <DeleteIcon path={RULES} id={id} of={prefix === '' ? t('prefix.all') : `+${prefix}`} />,
    },
  ];
  return (
    <Section
      title={t('senderRule.title')}
      description={t('senderRule.description')}
      actions={
        <AddButton need={OPERATOR} onClick={() => setIsAdding(true)}>
          {t('senderRule.add.open')}
        </AddButton>
      }
    >
      {error && <ErrorState error={error} />}
      {data && (
        <PlainTable label={t('senderRule.title')} columns={columns} rows={data.data} rowId={({ id }) => String(id)} />
      )}
      {isAdding && <RuleDialog onClose={() => setIsAdding(false)} />}
    </Section>
  );
}

function Registered() {
  const { t } = useTranslation('operator');
  const { data, error } = useQuery(registeredQuery);
  const [isAdding, setIsAdding] = useState(false);
  const columns: readonly PlainColumn<RegisteredSender>[] = [
    { id: 'sender', header: t('senderRule.sender'), cell: ({ sender }) => sender },
    { id: 'prefix', header: t('prefix.label'), cell: ({ prefix }) => <Prefix prefix={prefix} /> },
    { id: 'account', header: t('account.word'), cell: ({ account }) => account ?? t('sender.everyAccount') },
    {
      id: 'delete',
      header: '',
      align: 'right',
      cell: ({ id, sender }) => <DeleteIcon path={REGISTERED} id={id} of={sender} />,
    },
  ];
  return (
    <Section
      title={t('senderRule.registered')}
      description={t('senderRule.registeredText')}
      actions={
        <AddButton need={OPERATOR} onClick={() => setIsAdding(true)}>
          {t('senderRule.addRegistered.open')}
        </AddButton>
      }
    >
      {error && <ErrorState error={error} />}
      {data && (
        <PlainTable
          label={t('senderRule.registered')}
          columns={columns}
          rows={data.data}
          rowId={({ id }) => String(id)}
        />
      )}
      {isAdding && <RegisteredDialog onClose={() => setIsAdding(false)} />}
    </Section>
  );
}
