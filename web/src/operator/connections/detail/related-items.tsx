import { useTranslation } from 'react-i18next';
import { Facts } from '../../../ui/values/facts.tsx';
import { TextLink } from '../../../ui/link.tsx';
import { useFormat } from '../../../ui/values/format.ts';
import { Section } from '../../../ui/section.tsx';
import type { Connection } from '../connection.ts';

/** Items related to the connection, each with a link to its page. */
export function RelatedItems({ connection }: { readonly connection: Connection }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const { name, routedBy, routes, senders, numbers, unknowns, unmatchedReceipts } = connection;
  const link = (count: number, to: string, search: Record<string, string>) => (
    <TextLink to={to} search={search}>
      {format.number(count)}
    </TextLink>
  );
  return (
    <Section title={t('leads.title')}>
      <Facts
        facts={[
          routedBy === 'prefix'
            ? { label: t('leads.routes'), value: link(routes, '/operator/routes', { connection: name }) }
            : { label: t('leads.senders'), value: link(senders, '/operator/senders', {}) },
          {
            label: t('leads.numbers'),
            value: link(numbers, '/operator/senders', { tab: 'numbers', connection: name }),
          },
          { label: t('leads.unknowns'), value: link(unknowns, '/operator/unknowns', { connection: name }) },
          {
            label: t('leads.unmatched'),
            value: link(unmatchedReceipts, '/operator/health', { tab: 'receipts', connection: name }),
          },
        ]}
      />
    </Section>
  );
}
