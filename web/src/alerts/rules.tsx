import { Group, Stack, Switch, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Pencil } from 'lucide-react';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/connection/lazy-part.ts';
import { useAction } from '../api/action.ts';
import { GuardedIcon, useDisabledReason } from '../ui/actions/guarded-button.tsx';
import { ErrorState } from '../ui/error-state.tsx';
import { Section } from '../ui/section.tsx';
import { TableSkeleton } from '../ui/table/table-skeleton.tsx';
import { useFormat } from '../ui/values/format.ts';
import { KEYS, OPERATOR, type Rule, rulesQuery } from './alert.ts';
import classes from './lines.module.css';
import { setRule } from './rule.ts';

const RuleDialog = lazyPart(() => import('./rule-dialog.tsx').then((file) => ({ default: file.RuleDialog })));

/** Rules by which each kind of condition is an alert. */
export function Rules() {
  const { t } = useTranslation('alerts');
  const [edited, setEdited] = useState<Rule | null>(null);
  const { data, error } = useQuery(rulesQuery);
  return (
    <Section title={t('rule.title')} description={t('rule.hint')}>
      {error && !data && <ErrorState error={error} />}
      {!data && !error && <TableSkeleton rows={6} />}
      {data && (
        <ul className={classes.list} aria-label={t('rule.title')}>
          {data.data.map((rule) => (
            <li key={rule.kind}>
              <RuleLine rule={rule} onEdit={() => setEdited(rule)} />
            </li>
          ))}
        </ul>
      )}
      <Suspense>{edited !== null && <RuleDialog rule={edited} onClose={() => setEdited(null)} />}</Suspense>
    </Section>
  );
}

function RuleLine({ rule, onEdit }: { readonly rule: Rule; readonly onEdit: () => void }) {
  const { t } = useTranslation('alerts');
  const format = useFormat();
  const reason = useDisabledReason(OPERATOR);
  const { kind, enabled, forSeconds, threshold } = rule;
  const name = t(`rule.kind.${kind}`);
  const change = useAction({
    run: () => setRule({ ...rule, enabled: !enabled }),
    refresh: KEYS,
    done: t(enabled ? 'rule.off' : 'rule.on', { name }),
  });
  const when = [
    ...(threshold === null ? [] : [t(`rule.from.${kind}`, { value: threshold })]),
    ...(forSeconds === 0 ? [] : [t('rule.held', { time: format.duration(forSeconds) })]),
  ];
  return (
    <Group justify="space-between" gap="sm" wrap="nowrap">
      <Stack gap={2} style={{ minWidth: 0 }}>
        <Text size="sm" fw={600}>
          {name}
        </Text>
        <Text size="xs" c="dimmed">
          {when.length === 0 ? t('rule.atOnce') : when.join(' · ')}
        </Text>
      </Stack>
      <Group gap="xs" wrap="nowrap">
        <Switch
          checked={enabled}
          disabled={reason !== undefined || change.busy}
          onChange={() => change.run()}
          aria-label={t('rule.switch', { name })}
        />
        <GuardedIcon need={OPERATOR} label={t('rule.edit.label', { name })} onClick={onEdit}>
          <Pencil size={16} />
        </GuardedIcon>
      </Group>
    </Group>
  );
}
