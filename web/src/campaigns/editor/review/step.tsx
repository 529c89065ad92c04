import { Button, Group, Stack } from '@mantine/core';
import { RotateCw } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../../../ui/error-state.tsx';
import { JobProgress } from '../../../ui/values/progress.tsx';
import { Section } from '../../../ui/section.tsx';
import { BackButton } from '../back-button.tsx';
import { Breakdown } from '../../price/breakdown.tsx';
import { Confirm } from './confirm.tsx';
import { LeftOut } from './left-out.tsx';
import { People } from './people.tsx';
import { Plan } from './plan.tsx';
import { Summary } from './summary.tsx';
import { TestSend } from './test-send.tsx';
import { Unmet } from './unmet.tsx';
import { type Review, useReview, useUnmet } from './use-review.ts';
import type { EditorState } from '../use-editor.ts';

/**
 * The review step: content, recipients, time and senders, channel by channel, the cost, open points, a test, and the
 * confirmation. Opening it saves nothing.
 */
export function ReviewStep({ editor }: { readonly editor: EditorState }) {
  const { t } = useTranslation('campaigns');
  const draft = editor.form.getValues();
  const { data, error, isFetching, refetch } = useReview(draft);
  const unmet = useUnmet(draft, data, editor.scheduled?.estimatedCost ?? 0);
  const again = (
    <Button
      variant="default"
      size="xs"
      leftSection={<RotateCw size={14} />}
      loading={isFetching}
      onClick={() => void refetch()}
    >
      {t('review.again')}
    </Button>
  );
  return (
    <Stack mt="md">
      <Summary draft={draft} goTo={editor.goTo} />
      <People draft={draft} />
      <Section title={t('review.title')} description={t('review.hint')} actions={again}>
        {data === undefined && error === null && <JobProgress label={t('review.counting')} done={0} total={null} />}
        {data === undefined && error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
        {data !== undefined && <Counted review={data} editor={editor} />}
      </Section>
      <TestSend editor={editor} isComplete={unmet.every(({ field }) => field === 'credit')} />
      <Unmet faults={unmet} goTo={editor.goTo} />
      {data === undefined ? (
        <Group>{backOf(editor)}</Group>
      ) : (
        <Confirm editor={editor} review={data} isReady={unmet.length === 0 && !isFetching} back={backOf(editor)} />
      )}
    </Stack>
  );
}

const backOf = ({ goTo }: EditorState) => <BackButton onClick={() => goTo('time')} />;

function Counted({ review, editor }: { readonly review: Review; readonly editor: EditorState }) {
  const { breakdown, currency, maxPrice } = review;
  return (
    <Stack>
      <Plan review={review} draft={editor.form.getValues()} reserved={editor.scheduled?.estimatedCost ?? 0} />
      <LeftOut review={review} draft={editor.form.getValues()} />
      {breakdown.length > 0 && maxPrice !== null && <Breakdown price={{ breakdown, currency, price: maxPrice }} />}
    </Stack>
  );
}
