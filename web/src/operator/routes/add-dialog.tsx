import { NumberInput, Radio, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { DialogForm } from '../../ui/dialog/dialog-form.tsx';
import { ConnectionChoice } from '../connections/connection-choice.tsx';
import { PrefixInput } from '../shared/prefix-input.tsx';
import { ConditionFields } from './condition-fields.tsx';
import { emptyRoute, type NewRoute, toBody } from './new-route.ts';
import { ROUTE_KEYS, ROUTES } from './route.ts';

type AddProps = { readonly onClose: () => void; readonly connection: string };

/** Dialog that adds a route: numbers with a prefix go over a connection. */
export function AddDialog({ onClose, connection }: AddProps) {
  const { t } = useTranslation('operator');
  return (
    <Dialog opened onClose={onClose} title={t('route.add.title')} size="md">
      <Add onClose={onClose} connection={connection} />
    </Dialog>
  );
}

function Add({ onClose, connection }: AddProps) {
  const { t } = useTranslation('operator');
  const form = useForm<NewRoute>({
    initialValues: emptyRoute(connection),
    validate: { connection: (name) => (name === '' ? t('route.add.connectionMissing') : null) },
  });
  const adding = useAction({
    run: (route: NewRoute) => ok(api.POST(ROUTES, { body: toBody(route) })),
    refresh: ROUTE_KEYS,
    done: t('route.add.done'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => adding.run(values))}
      action={t('route.add.submit')}
      busy={adding.busy}
      onClose={onClose}
    >
      <ConnectionChoice routedBy="prefix" {...form.getInputProps('connection')} />
      <PrefixInput data-autofocus {...form.getInputProps('prefix')} />
      <NumberInput
        label={t('route.priority')}
        description={t('route.add.priorityHint')}
        allowDecimal={false}
        hideControls
        {...form.getInputProps('priority')}
      />
      <ConditionFields form={form} />
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
    </DialogForm>
  );
}
