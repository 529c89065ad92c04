import { Group, Text, TextInput } from '@mantine/core';
import { Plus, X } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { OPERATOR } from '../shared/need.ts';
import { type NumberPool, POOLS, SENDER_RULE_KEYS } from './sender-rule.ts';

/** The numbers of a pool, to be removed one by one, and a field for another one. */
export function PoolNumbers({ pool }: { readonly pool: NumberPool }) {
  return (
    <Group gap="xs">
      {pool.numbers.map((number) => (
        <Number key={number} pool={pool} number={number} />
      ))}
      <NewNumber pool={pool} />
    </Group>
  );
}

function Number({ pool: { id }, number }: { readonly pool: NumberPool; readonly number: string }) {
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
