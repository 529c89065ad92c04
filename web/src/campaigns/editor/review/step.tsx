import { Button, Group, Stack } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { RotateCw } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../../api/action.ts';
import { api, ok } from '../../../api/client.ts';
import { ErrorState } from '../../../ui/error-state.tsx';
import { JobProgress } from '../../../ui/values/progress.tsx';
import { Section } from '../../../ui/section.tsx';
import { CAMPAIGN } from '../../campaign.ts';
import { BackButton } from '../back-button.tsx';
import { Confirm } from './confirm.tsx';
import { type PricedCampaign, findPrice } from '../../price/price.ts';
import { Goal } from '../../price/goal.tsx';
import { TestSend } from './test-send.tsx';
import { Unmet, useUnmet } from './unmet.tsx';
import type { EditorState } from '../use-editor.ts';

/**
 * Saves the campaign and calculates its price; null if it could not be saved, in which case its fields show the
 * errors.
 */
function useCount({ save }: EditorState) {
  const queries = useQueryClient();
  return useAction<void, PricedCampaign | null>({
    quiet: true,
    async run() {
      const saved = await save();
      if (saved === null) return null;
      const { id } = saved;
      const campaign = await ok(api.POST(`${CAMPAIGN}/calculateGoal`, { params: { path: { id } } }));
      const price = await findPrice(id);
      queries.setQueryData(['campaign', id], campaign);
      return { campaign, price };
    },
    refresh: [['campaigns'], ['credit']],
  });
}

/** The review step: recipients, price, open issues, test and confirmation. */
export function ReviewStep({ editor }: { readonly editor: EditorState }) {
  const { t } = useTranslation('campaigns');
  const count = useCount(editor);
  const isBegun = useRef(false);
  useEffect(() => {
    if (!isBegun.current) count.run();
    isBegun.current = true;
  });
  const again = (
    <Button
      variant="default"
      size="xs"
      leftSection={<RotateCw size={14} />}
      loading={count.busy}
      onClick={() => count.run()}
    >
      {t('review.again')}
    </Button>
  );
  return (
    <Stack mt="md">
      <Section title={t('review.title')} description={t('review.hint')} actions={again}>
        {count.busy && !count.result && <JobProgress label={t('review.counting')} done={0} total={null} />}
        {count.error !== null && <ErrorState error={count.error} onRetry={() => count.run()} />}
        {count.result && <Goal counted={count.result} />}
      </Section>
      {count.result ? <Rest editor={editor} counted={count.result} /> : <Group>{backOf(editor)}</Group>}
    </Stack>
  );
}

const backOf = ({ goTo }: EditorState) => <BackButton onClick={() => goTo('time')} />;

function Rest({ editor, counted }: { readonly editor: EditorState; readonly counted: PricedCampaign }) {
  const unmet = useUnmet(editor.form.getValues(), counted);
  return (
    <>
      <TestSend id={counted.campaign.id} />
      <Unmet faults={unmet} goTo={editor.goTo} />
      <Confirm editor={editor} counted={counted} isReady={unmet.length === 0} back={backOf(editor)} />
    </>
  );
}
