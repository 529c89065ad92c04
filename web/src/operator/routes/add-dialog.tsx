import { Button, Group, NativeSelect, NumberInput, Radio, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { connectionsQuery } from '../connections/connection.ts';
import { type Route, ROUTE_KEYS, ROUTES } from './route.ts';

type AddProps = { readonly onClose: () => void; readonly connection: string };

/** Sends the numbers with a prefix over a connection. */
export function AddDialog({ onClose, connection }: AddProps) {
  const { t } = useTranslation('operator');
  return (
    <Dialog opened onClose={onClose} title={t('route.add.title')} size="md">
      <Add onClose={onClose} connection={connection} />
    </Dialog>
  );
}

type NewRoute = {
  readonly prefix: string;
  readonly connection: string;
  readonly priority: number | string;
  readonly onUnknown: Route['onUnknown'];
};

function Add({ onClose, connection }: AddProps) {
  const { t } = useTranslation('operator');
  const { data } = useQuery(connectionsQuery);
  const names = (data?.data ?? []).filter(({ kind }) => kind === 'smpp').map(({ name }) => name);
  const form = useForm<NewRoute>({
    initialValues: { prefix: '', connection, priority: 100, onUnknown: 'hold' },
    validate: { connection: (name) => (name === '' ? t('route.add.connectionMissing') : null) },
  });
  const adding = useAction({
    run: ({ prefix, priority, ...rest }: NewRoute) =>
      ok(
        api.POST(ROUTES, {
          body: {
            channel: 'SMS',
            prefix: prefix.replaceAll(/[\s+]/g, ''),
            ...rest,
            ...(priority !== '' && { priority: Number(priority) }),
          },
        }),
      ),
    refresh: ROUTE_KEYS,
    done: t('route.add.done'),
    form,
    onDone: onClose,
  });
  return (
    <form onSubmit={form.onSubmit((values) => adding.run(values))}>
      <Stack>
        <NativeSelect
          label={t('connection.one')}
          data={[{ value: '', label: t('route.add.choose') }, ...names]}
          {...form.getInputProps('connection')}
        />
        <TextInput
          label={t('prefix.label')}
          description={t('prefix.hint')}
          inputMode="tel"
          dir="ltr"
          maxLength={16}
          data-autofocus
          {...form.getInputProps('prefix')}
        />
        <NumberInput
          label={t('route.priority')}
          description={t('route.add.priorityHint')}
          allowDecimal={false}
          hideControls
          {...form.getInputProps('priority')}
        />
        <Radio.Group
          label={t('route.onUnknown')}
          description={t('route.add.unknownHint')}
          {...form.getInputProps('onUnknown')}
        >
          <Stack gap="xs" mt="xs">
            <Radio value="hold" label={t('route.unknown.hold')} description={t('route.add.holdHint')} />
            <Radio value="resubmit" label={t('route.unknown.resubmit')} description={t('route.add.resubmitHint')} />
          </Stack>
        </Radio.Group>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('ui:cancel')}
          </Button>
          <Button type="submit" loading={adding.busy}>
            {t('route.add.submit')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
