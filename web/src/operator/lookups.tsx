import { Alert, Group, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { FlaskConical, Trash2 } from 'lucide-react';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { lazyPart } from '../api/load.ts';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { AddButton, GuardedIcon } from '../ui/actions.tsx';
import { ConfirmDialog, Dialog, DialogForm } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { ErrorState, Section } from '../ui/parts.tsx';
import { LOOKUP_KEYS, LOOKUPS, type Lookup, lookupsQuery } from './lookup.ts';
import { OPERATOR, PlainTable } from './shared.tsx';

const AddDialog = lazyPart(() => import('./lookups-add-dialog.tsx').then((file) => ({ default: file.AddDialog })));

/** The number-lookup services, with their work of the last 30 days. */
export function Lookups() {
  const { t } = useTranslation('operator');
  const [isAdding, setIsAdding] = useState(false);
  const { data, error } = useQuery(lookupsQuery);
  return (
    <Section
      title={t('lookup.title')}
      description={t('lookup.hint')}
      actions={
        <AddButton need={OPERATOR} onClick={() => setIsAdding(true)}>
          {t('lookup.add.open')}
        </AddButton>
      }
    >
      {error && <ErrorState error={error} />}
      {data && <LookupTable lookups={data.data} />}
      <Suspense>{isAdding && <AddDialog presets={data?.presets ?? []} onClose={() => setIsAdding(false)} />}</Suspense>
    </Section>
  );
}

function LookupTable({ lookups }: { readonly lookups: readonly Lookup[] }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const { currency } = useSession().account;
  if (lookups.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {t('lookup.none')}
      </Text>
    );
  return (
    <PlainTable
      label={t('lookup.title')}
      rows={lookups}
      rowId={({ name }) => name}
      columns={[
        { id: 'name', header: t('lookup.name'), cell: ({ name }) => name },
        { id: 'answered', header: t('lookup.answered'), align: 'right', cell: (row) => format.number(row.answered) },
        { id: 'failed', header: t('lookup.failed'), align: 'right', cell: (row) => format.number(row.failed) },
        {
          id: 'cost',
          header: t('lookup.cost'),
          align: 'right',
          cell: ({ cost }) => format.number(cost, { style: 'currency', currency }),
        },
        {
          id: 'actions',
          header: '',
          align: 'right',
          cell: ({ name }) => (
            <Group gap={4} justify="flex-end" wrap="nowrap">
              <TestIcon name={name} />
              <DeleteIcon name={name} />
            </Group>
          ),
        },
      ]}
    />
  );
}

type Named = { readonly name: string };

/** Asks a service for the network of a number, in a dialog. */
function TestIcon({ name }: Named) {
  const { t } = useTranslation('operator');
  const [isOpen, dialog] = useDisclosure();
  return (
    <>
      <GuardedIcon need={OPERATOR} label={t('lookup.test.label', { name })} onClick={dialog.open}>
        <FlaskConical size={16} />
      </GuardedIcon>
      <Dialog opened={isOpen} onClose={dialog.close} title={t('lookup.test.label', { name })} size="md">
        <Test name={name} onClose={dialog.close} />
      </Dialog>
    </>
  );
}

const ask = (name: string, phoneNumber: string) =>
  ok(api.POST(`${LOOKUPS}/{name}/test`, { params: { path: { name } }, body: { phoneNumber } }));
type Answer = Awaited<ReturnType<typeof ask>>;

function Test({ name, onClose }: Named & { readonly onClose: () => void }) {
  const { t } = useTranslation('operator');
  const [answer, setAnswer] = useState<Answer | null>(null);
  const form = useForm({ initialValues: { phoneNumber: '' } });
  const testing = useAction({
    run: async ({ phoneNumber }: { phoneNumber: string }) => setAnswer(await ask(name, phoneNumber)),
    form,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => testing.run(values))}
      action={t('lookup.test.submit')}
      busy={testing.busy}
      onClose={onClose}
    >
      <TextInput
        data-autofocus
        type="tel"
        label={t('lookup.test.number')}
        description={t('lookup.test.numberHint')}
        {...form.getInputProps('phoneNumber')}
      />
      {answer && <Result answer={answer} />}
    </DialogForm>
  );
}

function Result({ answer: { ok: isGood, network, reason } }: { readonly answer: Answer }) {
  const { t } = useTranslation('operator');
  const known = network === null ? t('lookup.test.unknown') : t('lookup.test.network', { network });
  return (
    <Alert role="status" color={isGood ? 'green' : 'red'} title={isGood ? known : t('lookup.test.failed')}>
      {reason}
    </Alert>
  );
}

function DeleteIcon({ name }: { readonly name: string }) {
  const { t } = useTranslation('operator');
  const [isAsking, asking] = useDisclosure();
  const remove = useAction({
    run: () => ok(api.DELETE(`${LOOKUPS}/{name}`, { params: { path: { name } } })),
    refresh: LOOKUP_KEYS,
    done: t('lookup.delete.done', { name }),
    onDone: asking.close,
  });
  return (
    <>
      <GuardedIcon need={OPERATOR} label={t('lookup.delete.label', { name })} onClick={asking.open}>
        <Trash2 size={16} />
      </GuardedIcon>
      <ConfirmDialog
        opened={isAsking}
        onClose={asking.close}
        title={t('lookup.delete.title', { name })}
        action={t('lookup.delete.submit')}
        onConfirm={() => remove.run()}
        busy={remove.busy}
      >
        {t('lookup.delete.text')}
      </ConfirmDialog>
    </>
  );
}
