import { Badge, Group, Text, VisuallyHidden } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useCredit } from '../../api/credit.ts';
import { useSession } from '../../api/session.ts';
import { Hint } from '../../ui/hint.tsx';
import { ButtonLink } from '../../ui/link.tsx';
import { Money } from '../../ui/values/money.tsx';

/** The current account with its plan and, unless that has no limit, its credit. */
export function AccountBar() {
  const { t } = useTranslation('app');
  const { account } = useSession();
  const { data: credit } = useCredit();
  return (
    <Group gap="xs" wrap="nowrap">
      <Text size="sm" fw={600} maw={200} truncate visibleFrom="sm" dir="auto">
        {account.name}
      </Text>
      <Badge color="gray" visibleFrom="sm">
        {t(`plan.${account.plan}`)}
      </Badge>
      {credit && account.plan !== 'unlimited' && (
        <Hint label={t('creditHint')}>
          <ButtonLink to="/account" variant="default" size="xs">
            <VisuallyHidden>{t('credit')}</VisuallyHidden>
            <Money amount={credit.availableCredit} currency={credit.currency} />
          </ButtonLink>
        </Hint>
      )}
    </Group>
  );
}
