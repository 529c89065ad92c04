import { Anchor, Button, Stack, Text } from '@mantine/core';
import { Building2 } from 'lucide-react';
import { useEffect, useEffectEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { useProblemText } from '../api/problem-text.ts';
import { beginCompanyStepUp, onStepUp, type StepUpProblem } from './company-step-up.ts';

/** Opens an empty window immediately: later, browsers would block it as an unsolicited pop-up. */
const openWindow = (): Window | null => window.open('', '_blank', 'popup,width=520,height=700');

/**
 * Confirms with the user's company that it is still the same user, in a separate window, so that input on the page
 * stays. If the browser blocks the window, there is a link to a new tab.
 */
export function ConfirmWithCompany({ onConfirmed }: { readonly onConfirmed: () => void }) {
  const { t } = useTranslation('sign-in');
  const [problem, setProblem] = useState<StepUpProblem | null>(null);
  const begin = useAction({ run: begun, quiet: true });
  const ended = useEffectEvent((found: StepUpProblem | null) => {
    begin.reset();
    setProblem(found);
    if (found === null) onConfirmed();
  });
  useEffect(() => onStepUp((found) => ended(found)), []);
  return (
    <Stack gap="xs">
      <Fault error={begin.error} problem={problem} />
      <Button
        leftSection={<Building2 size={16} />}
        loading={begin.busy}
        onClick={() => {
          setProblem(null);
          begin.run(openWindow());
        }}
        data-autofocus
        fullWidth
      >
        {t('stepUp.company.open')}
      </Button>
      {begin.result && <Waiting {...begin.result} />}
    </Stack>
  );
}

type Begun = { readonly url: string; readonly isBlocked: boolean };

async function begun(opened: Window | null): Promise<Begun> {
  try {
    const url = await beginCompanyStepUp();
    opened?.location.replace(url);
    return { url, isBlocked: opened === null };
  } catch (error) {
    opened?.close();
    throw error;
  }
}

function Fault({ error, problem }: { readonly error: unknown; readonly problem: StepUpProblem | null }) {
  const { t } = useTranslation('sign-in');
  const problemText = useProblemText();
  if (error === null && problem === null) return null;
  return (
    <Text size="sm" c="red" role="alert">
      {problem === null ? problemText(error) : t(`stepUp.problem.${problem}`)}
    </Text>
  );
}

function Waiting({ url, isBlocked }: Begun) {
  const { t } = useTranslation('sign-in');
  return (
    <Text size="sm" role="status">
      {t(isBlocked ? 'stepUp.company.blocked' : 'stepUp.company.waiting')}{' '}
      {isBlocked && (
        <Anchor size="sm" href={url} target="_blank" rel="noreferrer">
          {t('stepUp.company.link')}
        </Anchor>
      )}
    </Text>
  );
}
