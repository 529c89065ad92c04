import { Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { Section, useLast } from '../ui/parts.tsx';
import { StatusBadge } from '../ui/values.tsx';
import { factorsQuery, OwnFactors } from './factor-list.tsx';
import { NEED, settingsQuery } from './security-settings.ts';

/** Policy of the account on second factors; for users who may change it. */
function Policy() {
  const { t } = useTranslation('security');
  const [isAsking, setAsking] = useState(false);
  const { data } = useQuery(settingsQuery);
  const isRequired = data?.secondFactor === 'required';
  const put = useAction({
    // The list of addresses belongs to the same settings and stays as it is.
    run: async () => {
      const { ipAllowList, enforced } = await ok(api.GET('/api/partner-gateway/v1/account/security'));
      const body = { ipAllowList, enforced, secondFactor: isRequired ? 'optional' : 'required' } as const;
      return ok(api.PUT('/api/partner-gateway/v1/account/security', { body }));
    },
    refresh: [['account-security'], ['audit'], ['second-factors']],
    done: t('factors.policySaved'),
    onDone: () => setAsking(false),
  });
  const way = useLast(isAsking ? (isRequired ? 'optional' : 'required') : null) ?? 'required';
  const lacksOwn = useLacksOwn();
  if (data === undefined) return null;
  const action = (
    <GuardedButton
      need={NEED}
      reason={!isRequired && lacksOwn && t('factors.requireOwnFirst')}
      variant="default"
      onClick={() => setAsking(true)}
    >
      {t(isRequired ? 'factors.makeOptional' : 'factors.makeRequired')}
    </GuardedButton>
  );
  return (
    <Section title={t('factors.policy')} description={t('factors.policyText')} actions={action}>
      <StatusBadge tone={isRequired ? 'good' : 'neutral'}>
        {t(isRequired ? 'factors.isRequired' : 'factors.isOptional')}
      </StatusBadge>
      <ConfirmDialog
        opened={isAsking}
        onClose={() => setAsking(false)}
        title={t(`factors.${way}Title`)}
        action={t(way === 'required' ? 'factors.makeRequired' : 'factors.makeOptional')}
        onConfirm={() => put.run()}
        busy={put.busy}
        kind={way === 'optional' ? 'danger' : 'normal'}
      >
        {t(`factors.${way}Text`)}
      </ConfirmDialog>
    </Section>
  );
}

/**
 * Returns true if the user has no second factor and would be the first to lose access; false for an operator elsewhere.
 */
function useLacksOwn(): boolean {
  const { isElsewhere } = useSession();
  const { data } = useQuery({ ...factorsQuery, enabled: !isElsewhere });
  return !isElsewhere && data !== undefined && data.totp === null && data.passkeys.length === 0;
}

/** The user's own second factors and, for those who may change it, the policy of the account. */
export function FactorsTab() {
  const { t } = useTranslation('security');
  const { may, isElsewhere } = useSession();
  return (
    <Stack gap="lg">
      {isElsewhere ? <Text size="sm">{t('factors.elsewhere')}</Text> : <OwnFactors />}
      {may({ scope: 'keys' }) && <Policy />}
    </Stack>
  );
}
