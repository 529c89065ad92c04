import { Checkbox, Kbd, Stack, Switch, Text } from '@mantine/core';
import { Fragment, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Dialog } from '../ui/dialog.tsx';
import classes from './inbox.module.css';
import { KEY_SHEET, useKeysOn } from './use-keys.ts';
import { type AlertChoice, mayNotify, readAlertChoice, writeAlertChoice } from '../api/data.ts';
import { useQuery } from '@tanstack/react-query';
import { useAction } from '../api/action.ts';
import { TextLink } from '../ui/parts.tsx';
import { type Conversation, labelsQuery, setLabels } from './conversation.ts';
import { LabelBadge } from './drafts.tsx';
import { useDialog } from '../ui/lazy-props.ts';
import { WhenChoice } from '../ui/when-choice.tsx';

/** The sheet of keyboard shortcuts, with the switch for those of a single letter (WCAG 2.1.4). */
export function KeysDialog() {
  const { t } = useTranslation('inbox');
  const [isOn, setOn] = useKeysOn();
  return (
    <Dialog title={t('keys.title')} size="md">
      <Stack>
        <Switch
          label={t('keys.on')}
          checked={isOn}
          data-autofocus
          onChange={(event) => setOn(event.currentTarget.checked)}
        />
        <dl className={classes.keys}>
          {KEY_SHEET.map(({ keys, name }) => (
            <Fragment key={name}>
              <dt>
                {keys.map((key) => (
                  <Kbd key={key} mr={4}>
                    {key}
                  </Kbd>
                ))}
              </dt>
              <dd>{t(`keys.${name}`)}</dd>
            </Fragment>
          ))}
        </dl>
      </Stack>
    </Dialog>
  );
}

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

/** Dialog that sets the labels of a conversation; each applies at once. */
export function LabelDialog({ conversation }: { readonly conversation: Conversation }) {
  const { t } = useTranslation('inbox');
  return (
    <Dialog title={t('label.title')} size="sm">
      <LabelChoice conversation={conversation} />
    </Dialog>
  );
}

function LabelChoice({ conversation: { chatId, labels } }: { readonly conversation: Conversation }) {
  const { t } = useTranslation('inbox');
  const { data = [], isPending } = useQuery(labelsQuery);
  const { close } = useDialog();
  const [chosen, setChosen] = useState(() => labels.map(({ id }) => String(id)));
  const save = useAction({
    run: setLabels,
    refresh: [
      ['inbox', 'one', chatId],
      ['inbox', 'list'],
    ],
  });
  const choose = (next: string[]): void => {
    setChosen(next);
    save.run({ chatId, labelIds: next.map(Number) });
  };
  return (
    <Stack onKeyDown={(event) => event.key === 'Enter' && event.target instanceof HTMLInputElement && close()}>
      {!isPending && data.length === 0 && <Text size="sm">{t('label.none')}</Text>}
      <Checkbox.Group aria-label={t('label.title')} value={chosen} onChange={choose}>
        <Stack gap="sm">
          {data.map((label, at) => (
            <Checkbox
              key={label.id}
              value={String(label.id)}
              label={<LabelBadge label={label} />}
              autoFocus={at === 0}
            />
          ))}
        </Stack>
      </Checkbox.Group>
      <TextLink to="/inbox/settings">{t('label.edit')}</TextLink>
    </Stack>
  );
}

type SnoozeDialogProps = { readonly onChoose: (until: Date) => void };

/** Dialog that chooses when a conversation comes back. */
export function SnoozeDialog({ onChoose }: SnoozeDialogProps) {
  const { t } = useTranslation('inbox');
  return (
    <Dialog title={t('snooze.title')} size="sm">
      <Times onChoose={onChoose} />
    </Dialog>
  );
}

function Times({ onChoose }: SnoozeDialogProps) {
  const { t } = useTranslation('inbox');
  const { close } = useDialog();
  const [now] = useState(() => new Date());
  return (
    <WhenChoice
      times={snoozeTimes(now).map(({ name, until }) => ({ label: t(`snooze.${name}`), at: until }))}
      label={t('snooze.own')}
      action={t('snooze.submit')}
      onChoose={(at) => {
        close();
        onChoose(at);
      }}
    />
  );
}

type SnoozeTime = { readonly name: 'later' | 'tomorrow' | 'week'; readonly until: Date };

const HOUR_MS = 3_600_000;
const MORNING = 9;

/** The times offered for snoozing, in the user's own time zone: in three hours, tomorrow and next Monday at nine. */
export function snoozeTimes(now: Date): readonly SnoozeTime[] {
  const daysToMonday = (8 - now.getDay()) % 7 || 7;
  return [
    { name: 'later', until: new Date(now.getTime() + 3 * HOUR_MS) },
    { name: 'tomorrow', until: morningIn(now, 1) },
    { name: 'week', until: morningIn(now, daysToMonday) },
  ];
}

function morningIn(now: Date, days: number): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, MORNING);
}
