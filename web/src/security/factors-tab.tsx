import { Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { confirm } from '../ui/dialog.tsx';
import { Section } from '../ui/parts.tsx';
import { StatusBadge } from '../ui/values.tsx';
import { factorsQuery, OwnFactors } from './factor-list.tsx';
import { NEED, settingsQuery } from './security-settings.ts';

/** Policy of the account on second factors; for users who may change it. */
function Policy() {
  const { t } = useTranslation('security');
  const { data } = useQuery(settingsQuery);
  const isRequired = data?.secondFactor === 'required';
  const way = isRequired ? 'optional' : 'required';
  const submit = t(isRequired ? 'factors.makeOptional' : 'factors.makeRequired');
  const ask = (): void =>
    confirm({
      title: t(`factors.${way}Title`),
      text: t(`factors.${way}Text`),
      action: submit,
      kind: isRequired ? 'danger' : 'normal',
      // The list of addresses belongs to the same settings and stays as it is.
      run: async () => {
        const { ipAllowList, enforced } = await ok(api.GET('/api/partner-gateway/v1/account/security'));
        const body = { ipAllowList, enforced, secondFactor: way } as const;
        return ok(api.PUT('/api/partner-gateway/v1/account/security', { body }));
      },
      refresh: [['account-security'], ['audit'], ['second-factors']],
      done: t('factors.policySaved'),
    });
  const lacksOwn = useLacksOwn();
  if (data === undefined) return null;
  const action = (
    <GuardedButton
      need={NEED}
      reason={!isRequired && lacksOwn && t('factors.requireOwnFirst')}
      variant="default"
      onClick={ask}
    >
      {submit}
    </GuardedButton>
  );
  return (
    <Section title={t('factors.policy')} description={t('factors.policyText')} actions={action}>
      <StatusBadge tone={isRequired ? 'good' : 'neutral'}>
        {t(isRequired ? 'factors.isRequired' : 'factors.isOptional')}
      </StatusBadge>
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
