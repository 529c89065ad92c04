import { Group, Stepper as MantineStepper, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';
import { useIsPhone } from './use-is-phone.ts';

export type Step = {
  readonly id: string;
  readonly label: string;
  /** Below the label: what was chosen, or what is missing. */
  readonly note?: string;
  /** Marks a step that has something to mend. */
  readonly hasFault?: boolean;
  readonly content: ReactNode;
};

type StepsProps = {
  readonly steps: readonly Step[];
  readonly active: string;
  readonly onChange: (id: string) => void;
  /** Below each step: back, next. */
  readonly footer?: ReactNode;
};

/** Five steps and the name of one of them fit beside one another on a phone. */
const NARROW = { separator: { marginInline: 4 }, stepBody: { marginInlineStart: 6 } };

/** Something long in steps that can be gone to in any order. On a phone the labels of the others are left out. */
export function Steps({ steps, active, onChange, footer }: StepsProps) {
  const isPhone = useIsPhone();
  const at = Math.max(
    0,
    steps.findIndex(({ id }) => id === active),
  );
  return (
    <MantineStepper
      active={at}
      onStepClick={(index) => onChange(steps[index]?.id ?? active)}
      size="sm"
      iconSize={isPhone ? 28 : 32}
      wrap={false}
      {...(isPhone && { styles: NARROW })}
    >
      {steps.map((step, index) => (
        <MantineStepper.Step
          key={step.id}
          label={isPhone && index !== at ? <VisuallyHidden>{step.label}</VisuallyHidden> : step.label}
          description={isPhone ? undefined : step.note}
          {...(step.hasFault && { color: 'red' })}
        >
          {step.content}
          {footer && (
            <Group justify="space-between" mt="xl">
              {footer}
            </Group>
          )}
        </MantineStepper.Step>
      ))}
    </MantineStepper>
  );
}
