import { Checkbox, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { AddButton } from '../ui/actions.tsx';
import { Dialog, DialogForm } from '../ui/dialog.tsx';
import { ErrorState, Section } from '../ui/parts.tsx';
import { AccountChoice } from './account.tsx';
import {
  DeleteIcon,
  POLICIES,
  REGISTERED,
  type RegisteredSender,
  RULES,
  registeredQuery,
  rulesQuery,
  SENDER_RULE_KEYS,
  type SenderRule,
} from './sender-rules-delete-icon.tsx';
import { digitsOf, OPERATOR, type PlainColumn, PlainTable, Prefix, PrefixInput } from './shared.tsx';

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

type DialogProps = { readonly onClose: () => void };

/** Dialog that sets the rule for the numbers with a prefix. */
function RuleDialog({ onClose }: DialogProps) {
  const { t } = useTranslation('operator');
  return (
    <Dialog opened onClose={onClose} title={t('senderRule.add.title')} size="md">
      <Fields onClose={onClose} />
    </Dialog>
  );
}

type Values = {
  readonly prefix: string;
  readonly alphanumeric: SenderRule['alphanumeric'];
  readonly replacement: string;
  readonly registeredOnly: boolean;
};

function Fields({ onClose }: DialogProps) {
  const { t } = useTranslation('operator');
  const form = useForm<Values>({
    initialValues: { prefix: '', alphanumeric: 'refused', replacement: '', registeredOnly: false },
  });
  const saving = useAction({
    run: ({ prefix, replacement, ...rest }: Values) =>
      ok(
        api.PUT(RULES, {
          body: { ...rest, prefix: digitsOf(prefix), replacement: replacement === '' ? null : replacement },
        }),
      ),
    refresh: SENDER_RULE_KEYS,
    done: t('senderRule.add.done'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => saving.run(values))}
      action={t('senderRule.add.submit')}
      busy={saving.busy}
      onClose={onClose}
    >
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
    </DialogForm>
  );
}

const EVERY = 'every';

/** Dialog that notes that a sender is registered for the numbers with a prefix. */
function RegisteredDialog({ onClose }: DialogProps) {
  const { t } = useTranslation('operator');
  return (
    <Dialog opened onClose={onClose} title={t('senderRule.addRegistered.title')} size="md">
      <RegisteredFields onClose={onClose} />
    </Dialog>
  );
}

type RegisteredValues = { readonly prefix: string; readonly sender: string; readonly accountId: string };

function RegisteredFields({ onClose }: DialogProps) {
  const { t } = useTranslation('operator');
  const form = useForm<RegisteredValues>({
    initialValues: { prefix: '', sender: '', accountId: EVERY },
    validate: { sender: (sender) => (sender === '' ? t('wizard.missing') : null) },
  });
  const adding = useAction({
    run: ({ prefix, sender, accountId }: RegisteredValues) =>
      ok(
        api.POST(REGISTERED, {
          body: { prefix: digitsOf(prefix), sender, accountId: accountId === EVERY ? null : Number(accountId) },
        }),
      ),
    refresh: SENDER_RULE_KEYS,
    done: t('senderRule.addRegistered.done'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => adding.run(values))}
      action={t('senderRule.addRegistered.submit')}
      busy={adding.busy}
      onClose={onClose}
    >
      <TextInput label={t('senderRule.sender')} data-autofocus maxLength={17} {...form.getInputProps('sender')} />
      <PrefixInput {...form.getInputProps('prefix')} />
      <AccountChoice
        label={t('account.word')}
        also={{ value: EVERY, label: t('sender.everyAccount') }}
        {...form.getInputProps('accountId')}
      />
    </DialogForm>
  );
}
