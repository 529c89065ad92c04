import { Tabs as MantineTabs } from '@mantine/core';
import type { ReactNode } from 'react';

type TabsProps<T extends string> = {
  readonly tabs: readonly T[];
  readonly nameOf: (tab: T) => string;
  readonly active: T;
  readonly onChange: (tab: T) => void;
  /** The content of the active tab. */
  readonly children: ReactNode;
};

/** Tabs, of which one is shown at a time. */
export function Tabs<T extends string>({ tabs, nameOf, active, onChange, children }: TabsProps<T>) {
  const choose = (next: string | null): void => {
    const tab = tabs.find((each) => each === next);
    if (tab !== undefined) onChange(tab);
  };
  return (
    <MantineTabs value={active} onChange={choose} keepMounted={false}>
      <MantineTabs.List mb="lg">
        {tabs.map((tab) => (
          <MantineTabs.Tab key={tab} value={tab}>
            {nameOf(tab)}
          </MantineTabs.Tab>
        ))}
      </MantineTabs.List>
      {tabs.map((tab) => (
        <MantineTabs.Panel key={tab} value={tab}>
          {tab === active && children}
        </MantineTabs.Panel>
      ))}
    </MantineTabs>
  );
}
