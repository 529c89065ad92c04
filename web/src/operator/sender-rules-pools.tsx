import { Group, Text, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Plus, X } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { AddButton, GuardedIcon } from '../ui/actions.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { ErrorState, Section } from '../ui/parts.tsx';
import { type SmallColumn, SmallTable } from '../ui/small-table.tsx';
import { AccountChoice } from './account.tsx';
import { DeleteRule, type NumberPool, POOLS, poolsQuery, SENDER_RULE_KEYS } from './sender-rules.tsx';
import { OPERATOR } from './shared.tsx';

const EVERY = 'every';

/** One number a line; blanks within a number do not matter. */
const numbersIn = (text: string): string[] =>
  text
    .split(/[\n,;]/)
    .map((line) => line.replaceAll(/\s/g, ''))
    .filter((line) => line !== '');

/** Dialog that makes a pool of numbers. */
function PoolDialog() {
  const { t } = useTranslation('operator');
  return (
    <FormDialog
      title={t('pool.add.title')}
      size="md"
      values={{ name: '', numbers: '', accountId: EVERY }}
      validate={{
        name: (name) => (name === '' ? t('wizard.missing') : null),
        numbers: (numbers) => (numbersIn(numbers).length === 0 ? t('wizard.missing') : null),
      }}
      run={({ name, numbers, accountId }) =>
        ok(
          api.POST(POOLS, {
            body: { name, numbers: numbersIn(numbers), accountId: accountId === EVERY ? null : Number(accountId) },
          }),
        )
      }
      refresh={SENDER_RULE_KEYS}
      done={t('pool.add.done')}
      action={t('pool.add.submit')}
    >
      {(form) => (
        <>
          <TextInput
            label={t('pool.name')}
            description={t('pool.nameHint')}
            data-autofocus
            maxLength={20}
            {...form.getInputProps('name')}
          />
          <Textarea
            label={t('pool.numbers')}
            description={t('pool.numbersHint')}
            dir="ltr"
            autosize
            minRows={3}
            {...form.getInputProps('numbers')}
          />
          <AccountChoice
            label={t('account.word')}
            also={{ value: EVERY, label: t('sender.everyAccount') }}
            {...form.getInputProps('accountId')}
          />
        </>
      )}
    </FormDialog>
  );
}

/** The numbers of a pool, to be removed one by one, and a field for another one. */
function PoolNumbers({ pool }: { readonly pool: NumberPool }) {
  return (
    <Group gap="xs">
      {pool.numbers.map((number) => (
        <PoolNumber key={number} pool={pool} number={number} />
      ))}
      <NewNumber pool={pool} />
    </Group>
  );
}

function PoolNumber({ pool: { id }, number }: { readonly pool: NumberPool; readonly number: string }) {
  const { t } = useTranslation('operator');
  const remove = useAction({
    run: () => ok(api.DELETE(`${POOLS}/{id}/numbers`, { params: { path: { id }, query: { number } } })),
    refresh: SENDER_RULE_KEYS,
    done: t('pool.removed', { number }),
  });
  return (
    <Group gap={4} wrap="nowrap">
      <Text size="sm" className="tabular" dir="ltr">
        {number}
      </Text>
      <GuardedIcon need={OPERATOR} label={t('pool.remove', { number })} onClick={() => remove.run()}>
        <X size={14} />
      </GuardedIcon>
    </Group>
  );
}

function NewNumber({ pool: { id, name } }: { readonly pool: NumberPool }) {
  const { t } = useTranslation('operator');
  const [number, setNumber] = useState('');
  const add = useAction({
    run: () =>
      ok(
        api.POST(`${POOLS}/{id}/numbers`, {
          params: { path: { id } },
          body: { number: number.replaceAll(' ', '') },
        }),
      ),
    refresh: SENDER_RULE_KEYS,
    done: t('pool.added', { number }),
    onDone: () => setNumber(''),
  });
  return (
    <Group gap={4} wrap="nowrap">
      <TextInput
        aria-label={t('pool.newNumber', { name })}
        placeholder="+12025550143"
        size="xs"
        w={150}
        dir="ltr"
        inputMode="tel"
        value={number}
        onChange={(event) => setNumber(event.currentTarget.value)}
      />
      <GuardedIcon
        need={OPERATOR}
        label={t('pool.addNumber', { name })}
        reason={number.trim() === '' && t('pool.numberMissing')}
        onClick={() => add.run()}
      >
        <Plus size={16} />
      </GuardedIcon>
    </Group>
  );
}

/** The pools of numbers, of which each recipient gets messages from one. */
export function Pools() {
  const { t } = useTranslation('operator');
  const { data, error } = useQuery(poolsQuery);
  const columns: readonly SmallColumn<NumberPool>[] = [
    { id: 'name', header: t('pool.sender'), cell: ({ name }) => `pool:${name}` },
    { id: 'account', header: t('account.word'), cell: ({ account }) => account ?? t('sender.everyAccount') },
    { id: 'numbers', header: t('pool.numbers'), cell: (pool) => <PoolNumbers pool={pool} /> },
    {
      id: 'delete',
      header: '',
      align: 'right',
      cell: ({ id, name }) => <DeleteRule path={POOLS} id={id} of={`pool:${name}`} />,
    },
  ];
  return (
    <Section
      title={t('pool.title')}
      description={t('pool.description')}
      actions={
        <AddButton need={OPERATOR} onClick={() => openDialog(<PoolDialog />)}>
          {t('pool.add.open')}
        </AddButton>
      }
    >
      {error && <ErrorState error={error} />}
      {data && <SmallTable label={t('pool.title')} columns={columns} rows={data.data} rowId={({ id }) => String(id)} />}
    </Section>
  );
}
