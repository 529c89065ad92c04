import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { duplicateCampaign } from './campaign.ts';

/** Duplicates a campaign as a draft and opens it in the editor. */
export function useDuplicate() {
  const { t } = useTranslation('campaigns');
  const navigate = useNavigate();
  return useAction({
    run: ({ id, name }: { id: number; name: string }) => duplicateCampaign({ id, name: t('duplicate.name', { name }) }),
    refresh: [['campaigns']],
    done: t('duplicate.done'),
    onDone: ({ id }) => void navigate({ to: '/campaigns/editor', search: { id } }),
  });
}
