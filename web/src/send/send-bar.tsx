import { Alert, Group, List, Paper, Stack, Switch } from '@mantine/core';
import { Send } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { GuardedButton } from '../ui/actions/guarded-button.tsx';
import type { Channel } from './draft.ts';
import type { SendState } from './use-send.ts';

type SendBarProps = { readonly channel: Channel; readonly state: SendState };

/** The simulation switch, the send button, and the reasons for a rejection. */
export function SendBar({ channel, state: { form, busy, refusals } }: SendBarProps) {
  const { t } = useTranslation('send');
  return (
    <Paper p="lg">
      <Stack gap="md">
        {refusals.length > 0 && (
          <Alert color="red" title={t('refused')} role="alert">
            <List size="sm">
              {refusals.map((reason) => (
                <List.Item key={reason}>{reason}</List.Item>
              ))}
            </List>
          </Alert>
        )}
        <Group justify="space-between" gap="lg">
          <Switch
            label={t('simulation')}
            description={t(form.values.simulation ? 'simulationEnds' : 'simulationHint')}
            style={{ flex: '1 1 280px' }}
            {...form.getInputProps('simulation', { type: 'checkbox' })}
          />
          <GuardedButton type="submit" need={{ scope: channel }} leftSection={<Send size={16} />} loading={busy}>
            {t(form.values.simulation ? 'simulate' : 'send')}
          </GuardedButton>
        </Group>
      </Stack>
    </Paper>
  );
}
