import { Text } from '@mantine/core';
import { Check, CircleDot, CirclePause, CircleX } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { DateTime } from '../../ui/values/date-time.tsx';
import { type Campaign, isDeletable, isEditable, isFinished, isSending, stateOf } from '../campaign.ts';
import { toIso } from '../../api/scheduled-date.ts';
import classes from './life-steps.module.css';

type StepState = 'done' | 'current' | 'paused' | 'bad' | 'todo';
type LifeStep = { readonly id: string; readonly state: StepState; readonly at: string | null };

/** The steps of a campaign's life cycle (specification), and the progress of this one. */
export function LifeSteps({ campaign }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  return (
    <ol className={classes.life} aria-label={t('life.label')}>
      {stepsOf(campaign).map(({ id, state, at }) => (
        <li
          key={id}
          className={classes.step}
          data-state={state}
          {...(isCurrent(state) && { 'aria-current': 'step' as const })}
        >
          <Sign state={state} />
          <div>
            <Text size="sm" fw={isCurrent(state) ? 650 : 500}>
              {t(`life.${id}`)}
            </Text>
            <Text size="xs" c="dimmed">
              {at === null ? t(`life.state.${state}`) : <DateTime value={at} />}
            </Text>
          </div>
        </li>
      ))}
    </ol>
  );
}

const isCurrent = (state: StepState): boolean => state === 'current' || state === 'paused' || state === 'bad';

const SIGNS = { done: Check, current: CircleDot, paused: CirclePause, bad: CircleX, todo: null } as const;

function Sign({ state }: { readonly state: StepState }) {
  const Icon = SIGNS[state];
  return (
    <span className={classes.sign} aria-hidden="true">
      {Icon && <Icon size={18} />}
    </span>
  );
}

function stepsOf(campaign: Campaign): readonly LifeStep[] {
  const { readyToSend, scheduledDate, createdAt, confirmedAt, startedAt } = campaign;
  const state = stateOf(campaign);
  const isReady = readyToSend || confirmedAt !== null;
  return [
    { id: 'draft', state: isReady ? 'done' : 'current', at: createdAt },
    { id: 'ready', state: confirmedAt ? 'done' : isReady ? 'current' : 'todo', at: confirmedAt },
    ...(scheduledDate === null
      ? []
      : [{ id: 'scheduled', state: scheduledState(campaign), at: confirmedAt && toIso(scheduledDate) }]),
    // The time of the pause is not recorded.
    state === 'PAUSED'
      ? { id: 'paused', state: 'paused', at: null }
      : { id: 'sending', state: sendingState(campaign), at: startedAt },
    lastOf(campaign),
  ];
}

const scheduledState = (campaign: Campaign): StepState =>
  isEditable(campaign) ? 'todo' : isDeletable(campaign) && !campaign.paused ? 'current' : 'done';

function sendingState(campaign: Campaign): StepState {
  if (isFinished(campaign)) return 'done';
  return isSending(campaign) && !campaign.cancelled ? 'current' : isSending(campaign) ? 'done' : 'todo';
}

function lastOf(campaign: Campaign): LifeStep {
  const state = stateOf(campaign);
  const at = campaign.completedAt;
  if (state === 'FAILED') return { id: 'failed', state: 'bad', at };
  if (state === 'CANCELLED') return { id: 'cancelled', state: 'bad', at };
  return { id: 'completed', state: state === 'COMPLETED' ? 'done' : 'todo', at };
}
