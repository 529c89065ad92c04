import { Alert, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { FlaskConical } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { DialogForm } from '../../ui/dialog/dialog-form.tsx';
import { OPERATOR } from '../shared/need.ts';
import { LOOKUPS } from './lookup.ts';

type Named = { readonly name: string };

/** Asks a service for the network of a number, in a dialog. */
export function TestIcon({ name }: Named) {
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
