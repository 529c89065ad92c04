import { Stack, Switch, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type AlertChoice, mayNotify, readAlertChoice, writeAlertChoice } from '../api/data.ts';
import { Dialog } from '../ui/dialog.tsx';

/** Dialog that chooses how this browser tells of new messages. */
export function AlertsDialog() {
  const { t } = useTranslation('inbox');
  return (
    <Dialog title={t('alerts.title')} size="sm">
      <Choice />
    </Dialog>
  );
}

function Choice() {
  const { t } = useTranslation('inbox');
  const [choice, setChoice] = useState(readAlertChoice);
  const [isRefused, setRefused] = useState(false);
  const change = (patch: Partial<AlertChoice>): void => {
    const next = { ...choice, ...patch };
    writeAlertChoice(next);
    setChoice(next);
  };
  const setDesktop = async (wanted: boolean): Promise<void> => {
    const allowed = wanted && (await mayNotify());
    setRefused(wanted && !allowed);
    change({ desktop: allowed });
  };
  return (
    <Stack>
      <Switch
        label={t('alerts.desktop')}
        description={t('alerts.desktopHint')}
        error={isRefused && t('alerts.refused')}
        checked={choice.desktop}
        data-autofocus
        onChange={(event) => void setDesktop(event.currentTarget.checked)}
      />
      <Switch
        label={t('alerts.sound')}
        checked={choice.sound}
        onChange={(event) => change({ sound: event.currentTarget.checked })}
      />
      <Text size="xs" c="dimmed">
        {t('alerts.here')}
      </Text>
    </Stack>
  );
}
