import { Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { CopyButton } from '../ui/actions/copy-button.tsx';
import { GuardedButton } from '../ui/actions/guarded-button.tsx';
import { HelpLink } from '../ui/help-link.tsx';
import { Section } from '../ui/section.tsx';
import { Facts } from '../ui/values/facts.tsx';
import { StatusBadge } from '../ui/values/status-badge.tsx';
import { type Domain, NEED, PATH, settingsQuery, type Stored } from './settings.ts';

/** The mail domains of the stored settings, with the state of their proof and the records for the others. */
export function DomainsSection({ settings }: { readonly settings: NonNullable<Stored> }) {
  const { t } = useTranslation('single-sign-on');
  return (
    <Section
      title={t('domains.title')}
      description={t('domains.text')}
      actions={<HelpLink help="single-sign-on#mail-domains" />}
    >
      <Stack gap="lg">
        {settings.domains.map((each) => (
          <Proof key={each.domain} of={each} />
        ))}
      </Stack>
    </Section>
  );
}

function Proof({ of: { domain, isProven, record } }: { readonly of: Domain }) {
  const { t } = useTranslation('single-sign-on');
  const verify = useAction({
    run: () => ok(api.POST(`${PATH}/domains/{domain}/verify`, { params: { path: { domain } } })),
    refresh: [settingsQuery.queryKey, ['audit']],
    done: t('domains.done', { domain }),
  });
  return (
    <Stack gap="xs" role="group" aria-label={domain}>
      <Group>
        <Text fw={600}>
          <bdi dir="ltr">{domain}</bdi>
        </Text>
        <StatusBadge tone={isProven ? 'good' : 'warning'}>
          {t(isProven ? 'domains.proven' : 'domains.unproven')}
        </StatusBadge>
        {!isProven && (
          <GuardedButton
            need={NEED}
            variant="default"
            size="xs"
            type="button"
            loading={verify.busy}
            aria-label={t('domains.verifyOne', { domain })}
            onClick={() => verify.run()}
          >
            {t('domains.verify')}
          </GuardedButton>
        )}
      </Group>
      <Facts
        facts={[
          { label: t('domains.type'), value: record.type },
          {
            label: t('domains.name'),
            value: <Copied text={record.name} label={t('domains.copyName', { domain })} />,
          },
          {
            label: t('domains.value'),
            value: <Copied text={record.value} label={t('domains.copyValue', { domain })} />,
          },
        ]}
      />
    </Stack>
  );
}

/** A technical text to copy. */
export function Copied({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <>
      <bdi dir="ltr" style={{ overflowWrap: 'anywhere' }}>
        {text}
      </bdi>
      <CopyButton text={text} label={label} />
    </>
  );
}
