import { NumberInput, Radio, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { Dialog, DialogForm } from '../ui/dialog.tsx';
import { POLICIES, POLICY_KEYS, type Policy } from './route-policies-policy.ts';
import { digitsOf, PrefixInput } from './shared.tsx';

type AddProps = { readonly onClose: () => void };

/** Dialog that sets how the routes of a prefix are ordered; an existing policy is replaced. */
export function AddDialog({ onClose }: AddProps) {
  const { t } = useTranslation('operator');
  return (
    <Dialog opened onClose={onClose} title={t('routePolicy.add.title')} size="md">
      <Add onClose={onClose} />
    </Dialog>
  );
}

/** The shares are in percent. */
type NewPolicy = {
  readonly prefix: string;
  readonly policy: Policy['policy'];
  readonly floor: number | string;
  readonly explore: number | string;
};

function Add({ onClose }: AddProps) {
  const { t } = useTranslation('operator');
  const form = useForm<NewPolicy>({
    initialValues: { prefix: '', policy: 'least-cost', floor: 80, explore: 5 },
  });
  const adding = useAction({
    run: ({ prefix, policy, floor, explore }: NewPolicy) =>
      ok(
        api.POST(POLICIES, {
          body: {
            channel: 'SMS',
            prefix: digitsOf(prefix),
            policy,
            ...(floor !== '' && { floor: Number(floor) / 100 }),
            ...(explore !== '' && { explore: Number(explore) / 100 }),
          },
        }),
      ),
    refresh: POLICY_KEYS,
    done: t('routePolicy.add.done'),
    form,
    onDone: onClose,
  });
  const percent = { min: 0, decimalScale: 1, suffix: ' %', hideControls: true };
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => adding.run(values))}
      action={t('routePolicy.add.submit')}
      busy={adding.busy}
      onClose={onClose}
    >
      <PrefixInput data-autofocus {...form.getInputProps('prefix')} />
      <Radio.Group label={t('routePolicy.policy')} {...form.getInputProps('policy')}>
        <Stack gap="xs" mt="xs">
          <Radio value="least-cost" label={t('routePolicy.name.leastCost')} />
          <Radio value="priority" label={t('routePolicy.name.priority')} />
        </Stack>
      </Radio.Group>
      {form.values.policy === 'least-cost' && (
        <>
          <NumberInput
            label={t('routePolicy.floor')}
            description={t('routePolicy.add.floorHint')}
            max={100}
            {...percent}
            {...form.getInputProps('floor')}
          />
          <NumberInput
            label={t('routePolicy.explore')}
            description={t('routePolicy.add.exploreHint')}
            max={50}
            {...percent}
            {...form.getInputProps('explore')}
          />
        </>
      )}
    </DialogForm>
  );
}
