import { listFields } from '../../contacts/fields/sql.ts';
import type { Step } from '../run/step.ts';
import { listTemplateVariables } from '../../../network/templates/find.ts';
import { chainOf } from '../mode.ts';
import { parseText } from '../text/parse.ts';
import type { Texts } from './sql.ts';

/** Loads the content that a campaign sends on each channel of its mode. */
export async function loadTexts({ tx, campaign }: Pick<Step, 'tx' | 'campaign'>): Promise<Texts> {
  const { accountId, sendingMode, hasOptOuts } = campaign;
  const chain = chainOf(sendingMode);
  const customFields = await listFields(tx, { accountId });
  // A template that was deleted needs no variables: its messages are rejected when they are sent.
  const variables = async (channel: 'RCS' | 'WHATSAPP', templateId: string | null): Promise<string[] | null> =>
    chain.includes(channel)
      ? ((await listTemplateVariables(tx, { accountId, channel, templateId: templateId ?? '' })) ?? [])
      : null;
  return {
    hasOptOuts,
    sms: chain.includes('SMS') ? parseText(campaign.smsBody ?? '', customFields).pieces : null,
    rcs: await variables('RCS', campaign.rcsTemplateId),
    whatsapp: await variables('WHATSAPP', campaign.whatsappTemplateId),
    customFields,
  };
}
