import { Anchor, Checkbox, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { AddButton } from '../ui/actions.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { ErrorState, Section } from '../ui/parts.tsx';
import { type SmallColumn, SmallTable } from '../ui/small-table.tsx';
import { AccountChoice } from './account.tsx';
import { ConnectionChoice } from './connection-choice.tsx';
import {
  DeleteRule,
  obligationsQuery,
  type SenderObligation,
  POLICIES,
  REGISTERED,
  REGISTRATION_STATUSES,
  type RegisteredSender,
  RULES,
  registeredQuery,
  rulesQuery,
  SENDER_RULE_KEYS,
  type SenderRule,
} from './sender-rules.tsx';
import { digitsOf, OPERATOR, Prefix, PrefixInput } from './shared.tsx';

/** SMS senders allowed in a country: the rules, and the senders that were registered there. */
export function SenderRules() {
  return (
    <Stack gap="lg">
      <Rules />
      <Registered />
      <Obligations />
    </Stack>
  );
}

function Rules() {
  const { t } = useTranslation('operator');
  const { data, error } = useQuery(rulesQuery);
  const columns: readonly SmallColumn<SenderRule>[] = [
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
      phone: 'none',
      cell: ({ registeredOnly }) => t(registeredOnly ? 'senderRule.onlyRegistered' : 'senderRule.policy.allowed'),
    },
    {
      id: 'delete',
      header: '',
      align: 'right',
      cell: ({ id, prefix }) => <DeleteRule path={RULES} id={id} of={prefix === '' ? t('prefix.all') : `+${prefix}`} />,
    },
  ];
  return (
    <Section
      title={t('senderRule.title')}
      description={t('senderRule.description')}
      actions={
        <AddButton need={OPERATOR} onClick={() => openDialog(<RuleDialog />)}>
          {t('senderRule.add.open')}
        </AddButton>
      }
    >
      {error && <ErrorState error={error} />}
      {data && (
        <SmallTable label={t('senderRule.title')} columns={columns} rows={data.data} rowId={({ id }) => String(id)} />
      )}
    </Section>
  );
}

/** Countries where senders must be registered or have a certain form, with the date and the source. */
function Obligations() {
  const { t, i18n } = useTranslation('operator');
  const format = useFormat();
  const names = new Intl.DisplayNames(i18n.language, { type: 'region' });
  const { data, error } = useQuery(obligationsQuery);
  const columns: readonly SmallColumn<SenderObligation>[] = [
    { id: 'country', header: t('obligation.country'), cell: ({ country }) => names.of(country) ?? country },
    {
      id: 'from',
      header: t('obligation.from'),
      cell: ({ from }) => (from === null ? '–' : format.dayUtc(new Date(from))),
    },
    { id: 'kind', header: t('obligation.what'), cell: ({ kind }) => t(`obligation.kind.${kind}`) },
    { id: 'effect', header: t('obligation.otherwise'), cell: ({ effect }) => t(`obligation.effect.${effect}`) },
    {
      id: 'rule',
      header: t('obligation.rule'),
      cell: ({ hasRule }) => t(hasRule ? 'obligation.hasRule' : 'obligation.noRule'),
    },
    {
      id: 'source',
      header: t('obligation.source'),
      phone: 'none',
      cell: ({ source }) => (
        <Anchor href={source} target="_blank" rel="noreferrer" size="sm">
          {new URL(source).hostname}
        </Anchor>
      ),
    },
  ];
  return (
    <Section title={t('obligation.title')} description={t('obligation.text')}>
      {error && <ErrorState error={error} />}
      {data && (
        <SmallTable label={t('obligation.title')} columns={columns} rows={data.data} rowId={({ country }) => country} />
      )}
    </Section>
  );
}

function Registered() {
  const { t } = useTranslation('operator');
  const { data, error } = useQuery(registeredQuery);
  const columns: readonly SmallColumn<RegisteredSender>[] = [
    { id: 'sender', header: t('senderRule.sender'), cell: ({ sender }) => sender },
    { id: 'prefix', header: t('prefix.label'), cell: ({ prefix }) => <Prefix prefix={prefix} /> },
    { id: 'account', header: t('account.word'), cell: ({ account }) => account ?? t('sender.everyAccount') },
    { id: 'connection', header: t('connection.one'), cell: ({ connection }) => connection ?? t('anyConnection') },
    {
      id: 'status',
      header: t('senderRule.registration'),
      cell: ({ status }) => t(`senderRule.registrationStatus.${status}`),
    },
    {
      id: 'delete',
      header: '',
      align: 'right',
      cell: ({ id, sender }) => <DeleteRule path={REGISTERED} id={id} of={sender} />,
    },
  ];
  return (
    <Section
      title={t('senderRule.registered')}
      description={t('senderRule.registeredText')}
      actions={
        <AddButton need={OPERATOR} onClick={() => openDialog(<RegisteredDialog />)}>
          {t('senderRule.addRegistered.open')}
        </AddButton>
      }
    >
      {error && <ErrorState error={error} />}
      {data && (
        <SmallTable
          label={t('senderRule.registered')}
          columns={columns}
          rows={data.data}
          rowId={({ id }) => String(id)}
        />
      )}
    </Section>
  );
}

type Values = {
  readonly prefix: string;
  readonly alphanumeric: SenderRule['alphanumeric'];
  readonly replacement: string;
  readonly registeredOnly: boolean;
};

/** Dialog that sets the rule for the numbers with a prefix. */
function RuleDialog() {
  const { t } = useTranslation('operator');
  return (
    <FormDialog<Values, unknown>
      title={t('senderRule.add.title')}
      size="md"
      values={{ prefix: '', alphanumeric: 'refused', replacement: '', registeredOnly: false }}
      run={({ prefix, replacement, ...rest }) =>
        ok(
          api.PUT(RULES, {
            body: { ...rest, prefix: digitsOf(prefix), replacement: replacement === '' ? null : replacement },
          }),
        )
      }
      refresh={SENDER_RULE_KEYS}
      done={t('senderRule.add.done')}
      action={t('senderRule.add.submit')}
    >
      {(form) => (
        <>
          <PrefixInput data-autofocus {...form.getInputProps('prefix')} />
          <NativeSelect
            label={t('senderRule.alphanumeric')}
            description={t('senderRule.alphanumericHint')}
            data={POLICIES.map((value) => ({ value, label: t(`senderRule.policy.${value}`) }))}
            {...form.getInputProps('alphanumeric')}
          />
          <TextInput
            label={t('senderRule.replacement')}
            description={t('senderRule.replacementHint')}
            maxLength={25}
            {...form.getInputProps('replacement')}
          />
          <Checkbox
            label={t('senderRule.onlyRegistered')}
            description={t('senderRule.onlyRegisteredHint')}
            {...form.getInputProps('registeredOnly', { type: 'checkbox' })}
          />
        </>
      )}
    </FormDialog>
  );
}

const EVERY = 'every';

/** Dialog that notes that a sender is registered for the numbers with a prefix. */
function RegisteredDialog() {
  const { t } = useTranslation('operator');
  return (
    <FormDialog
      title={t('senderRule.addRegistered.title')}
      size="md"
      values={{ prefix: '', sender: '', accountId: EVERY, connection: '', status: 'ACTIVE' as const }}
      validate={{ sender: (sender) => (sender === '' ? t('wizard.missing') : null) }}
      run={({ prefix, accountId, connection, ...rest }) =>
        ok(
          api.POST(REGISTERED, {
            body: {
              ...rest,
              prefix: digitsOf(prefix),
              accountId: accountId === EVERY ? null : Number(accountId),
              ...(connection !== '' && { connection }),
            },
          }),
        )
      }
      refresh={SENDER_RULE_KEYS}
      done={t('senderRule.addRegistered.done')}
      action={t('senderRule.addRegistered.submit')}
    >
      {(form) => (
        <>
          <TextInput label={t('senderRule.sender')} data-autofocus maxLength={17} {...form.getInputProps('sender')} />
          <PrefixInput {...form.getInputProps('prefix')} />
          <AccountChoice
            label={t('account.word')}
            also={{ value: EVERY, label: t('sender.everyAccount') }}
            {...form.getInputProps('accountId')}
          />
          <ConnectionChoice routedBy="prefix" none={t('anyConnection')} {...form.getInputProps('connection')} />
          <NativeSelect
            label={t('senderRule.registration')}
            data={REGISTRATION_STATUSES.map((value) => ({ value, label: t(`senderRule.registrationStatus.${value}`) }))}
            {...form.getInputProps('status')}
          />
        </>
      )}
    </FormDialog>
  );
}
