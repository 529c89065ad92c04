import { Group, Stack, TextInput } from '@mantine/core';
import { CircleAlert, CircleCheck } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { Section } from '../../ui/section.tsx';
import { OPERATOR } from '../shared/need.ts';
import { CONNECTIONS } from './connection.ts';
import { Line } from './step-line.tsx';

/** Sets up the connection at the carrier: subscribes the app, and registers the numbers with a PIN. */
export function CarrierSetup({ name }: { readonly name: string }) {
  const { t } = useTranslation('operator');
  const [pin, setPin] = useState('');
  const setup = useAction({
    run: () =>
      ok(api.POST(`${CONNECTIONS}/{name}/setup`, { params: { path: { name } }, body: pin === '' ? {} : { pin } })),
  });
  return (
    <Section title={t('setup.title')} description={t('setup.hint')}>
      <Stack gap="md">
        <Group align="flex-end">
          <TextInput
            label={t('setup.pin')}
            description={t('setup.pinHint')}
            value={pin}
            onChange={(event) => setPin(event.currentTarget.value.trim())}
            inputMode="numeric"
            maxLength={6}
            autoComplete="off"
          />
          <GuardedButton need={OPERATOR} variant="default" loading={setup.busy} onClick={() => setup.run()}>
            {t('setup.open')}
          </GuardedButton>
        </Group>
        {setup.result && (
          <Stack gap="sm" role="status" aria-label={t('setup.result')}>
            {setup.result.steps.map(({ name: step, ok: isGood, detail }) => (
              <Line
                key={step}
                icon={isGood ? CircleCheck : CircleAlert}
                color={isGood ? 'var(--mantine-color-green-text)' : 'var(--mantine-color-red-text)'}
                name={step}
                detail={detail}
              />
            ))}
          </Stack>
        )}
      </Stack>
    </Section>
  );
}
