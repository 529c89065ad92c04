import { Skeleton, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../../../ui/error-state.tsx';
import { MessageText } from '../../../ui/message/message-text.tsx';
import { Section } from '../../../ui/section.tsx';
import { useFormat } from '../../../ui/values/format.ts';
import { MsisdnText } from '../../../ui/values/msisdn-text.tsx';
import { StatusBadge } from '../../../ui/values/status-badge.tsx';
import { ChannelBadge } from '../../../ui/values/statuses.tsx';
import type { Draft } from '../draft.ts';
import { type Sample, usePreview } from '../preview.ts';
import classes from './people.module.css';

const SHOWN = 3;
/** Number of recipients requested, so that at least three of them get a message. */
const ASKED = 20;

/** Sorts people who get a message first: excluded ones are listed elsewhere with the reason. */
const choose = (samples: readonly Sample[]): readonly Sample[] =>
  [...samples.filter(({ skip }) => skip === null), ...samples.filter(({ skip }) => skip !== null)].slice(0, SHOWN);

/** Messages to three of the recipients, on each channel. */
export function People({ draft }: { readonly draft: Draft }) {
  const { t } = useTranslation('campaigns');
  const { data, error, refetch } = usePreview(draft, { limit: ASKED, offset: 0 });
  return (
    <Section title={t('people.title')} description={t('people.hint')}>
      {data !== undefined ? (
        data.data.length === 0 ? (
          <Text size="sm">{t('samples.nobody')}</Text>
        ) : (
          <ul className={classes.people}>
            {choose(data.data).map((sample, at) => (
              <Person key={`${sample.phoneNumber}-${at}`} sample={sample} />
            ))}
          </ul>
        )
      ) : error === null ? (
        <Skeleton h={140} />
      ) : (
        <ErrorState error={error} onRetry={() => void refetch()} />
      )}
    </Section>
  );
}

function Person({ sample: { name, phoneNumber, steps, missing, skip } }: { readonly sample: Sample }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  return (
    <li className={classes.person}>
      <Stack gap={0}>
        <Text size="sm" fw={600} dir="auto" className="foreign-text">
          {name || t('samples.unnamed')}
        </Text>
        {phoneNumber !== null && (
          <Text size="sm" c="dimmed" component="span">
            <MsisdnText number={phoneNumber} />
          </Text>
        )}
      </Stack>
      {skip !== null && <StatusBadge tone="warning">{t(`skip.${skip}`)}</StatusBadge>}
      {steps.map(({ channel, text, reachable }) => (
        <Stack key={channel} gap={4}>
          <div>
            <ChannelBadge channel={channel} />
          </div>
          <div className={classes.text}>
            {text === '' ? (
              <Text size="sm" c="dimmed">
                {t('people.noText')}
              </Text>
            ) : (
              <MessageText text={text} />
            )}
          </div>
          {skip === null && !reachable && (
            <Text size="xs" c="dimmed">
              {t(text === '' ? 'text.empty' : 'text.unreachable')}
            </Text>
          )}
        </Stack>
      ))}
      {missing.length > 0 && (
        <Text size="xs" c="dimmed">
          {t('text.missing', { fields: format.list(missing) })}
        </Text>
      )}
    </li>
  );
}
